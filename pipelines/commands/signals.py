"""A job ends as soon as a signal comes, whatever its threads wait for."""

import os
import signal
import socket
from threading import Event, Thread
from typing import NoReturn

from pipelines.commands.streams import STDERR
from pipelines.engine.java import stop_java
from pipelines.engine.scratch import remove_local_scratch

SIGNALLED = 128
"""What a shell adds to the number of the signal that ended a process."""
INTERRUPTED = "error: {}; run the same command again to resume"
REASONS_BY_NAME = {
    "SIGINT": "interrupted",
    "SIGTERM": "asked to end",
    "SIGHUP": "its terminal was closed",
    "SIGBREAK": "interrupted, or its terminal was closed",
}
"""Windows has no SIGHUP, and only Windows has SIGBREAK."""
REASONS = {signal.Signals[name]: why for name, why in REASONS_BY_NAME.items() if hasattr(signal, name)}
TOLD_WITHIN = 1.0
"""Seconds that the last line may take: standard error may have no reader."""
_ending = Event()
"""Whether a signal has come that ends the process."""
_finishing: list[Event] = []
"""What the first signal sets, where a command ends by itself then."""


def end_at_once_on_signals() -> None:
    """End the process on Ctrl-C, SIGTERM, SIGHUP and SIGBREAK with the exit code that a shell gives it.

    The embedded engine listens to Ctrl-C itself and ends, and threads that wait for it would try again for
    ten minutes. A process may end at any moment, and nothing is lost. `nohup` keeps its meaning: a SIGHUP
    that is ignored at the start stays so.
    """
    # Sockets: a pipe that does not block is not to be had on Windows.
    told, tells = socket.socketpair()
    tells.setblocking(False)
    signal.set_wakeup_fd(tells.detach(), warn_on_full_buffer=False)
    for number in REASONS:
        if number.name != "SIGHUP" or signal.getsignal(number) != signal.SIG_IGN:
            # The socket has the signal: a handler would wait for the main thread, which may wait for others.
            signal.signal(number, lambda *_: None)

    def wait() -> None:
        while True:
            number = told.recv(1)[0]
            if number in REASONS and _finishing:
                _finishing.pop().set()
            elif number in REASONS:
                _end(signal.Signals(number))

    Thread(target=wait, name="signals", daemon=True).start()


def finish_on_first_signal(stop: Event) -> None:
    """Let the first signal set `stop`, for a command that ends by itself then. The second ends it at once."""
    _finishing.append(stop)


def wait_if_ending() -> None:
    """Wait for the end of the process if a signal has come: what fails from then on fails because of it."""
    if _ending.is_set():
        Event().wait()


def _end(sign: signal.Signals) -> NoReturn:
    _ending.set()
    try:
        # Past the buffers of sys.stderr: another thread may hold them, and wait for a reader that has gone.
        line = f"{INTERRUPTED.format(REASONS[sign])}\n".encode()
        teller = Thread(target=_tell, args=(line,), daemon=True)
        teller.start()
        stop_java()
        remove_local_scratch()
        teller.join(TOLD_WITHIN)
    finally:
        os._exit(SIGNALLED + sign)


def _tell(line: bytes) -> None:
    try:
        os.write(STDERR, line)
    except OSError:
        return
