"""Run spark-submit so that SIGTERM and Ctrl-C reach the job first, and its exit code comes back.

A signal that ends spark-submit's JVM takes Spark away from the job, which can then no longer record how it
ended. So spark-submit gets a session of its own, where no terminal and no scheduler finds it, and a signal is
passed on to the job alone: to the process that wrote its id to the file that DRIVER_PID_FILE names. A script
that writes none, and a job that has not come so far, are ended together with their JVM.
"""

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType

PASSED_ON = {
    signal.SIGTERM: signal.SIGTERM,
    signal.SIGINT: signal.SIGINT,
    signal.SIGHUP: signal.SIGTERM,  # the terminal went away
}
SET_PARENT_DEATH_SIGNAL = 1


def supervise(command: Sequence[str]) -> int:
    """Run the command to its end; 128 and the number of the signal, if one ended it."""
    with tempfile.TemporaryDirectory(prefix="spark-submit-") as folder:
        driver = Path(folder) / "driver.pid"
        child = subprocess.Popen(
            command,
            env=os.environ | {"DRIVER_PID_FILE": str(driver)},
            start_new_session=True,
            preexec_fn=die_with_parent,
        )

        def pass_on(number: int, _: FrameType | None) -> None:
            with suppress(ProcessLookupError):  # it ends at this very moment
                if driver.exists():
                    os.kill(int(driver.read_text()), PASSED_ON[signal.Signals(number)])
                else:
                    os.killpg(child.pid, signal.SIGTERM)

        for number in PASSED_ON:
            if signal.getsignal(number) != signal.SIG_IGN:  # nohup
                signal.signal(number, pass_on)
        code = child.wait()
    return code if code >= 0 else 128 - code


def die_with_parent() -> None:
    """Let kill -9 of this process end its child as well, where the system can: two runs must not meet."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(supervise(sys.argv[1:]))
