"""What an engine's error says, in one line."""

import errno
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.errors import AnalysisException

MESSAGE = re.compile(r"^(?:\[[A-Z0-9_.]+\] )?(?P<text>.*?)(?:\s*SQLSTATE: \w+)?$")
TRACEBACK = "Traceback (most recent call last):"
RAISED = re.compile(r"^(?:RuntimeError: (?:\w+ error: )*)?(\S.*)", re.MULTILINE)
"""What a Python worker raised; an error of the embedded engine itself is a RuntimeError there."""
WRAPPING = ("Job aborted", "Task failed", "TASK_WRITE_FAILED", "Multiple failures", "Exception thrown in")
"""How errors of Java begin that only say that another one follows."""
AGAIN = "then run the same command again to resume"
MORE_MEMORY = f"give the engine more memory (ENGINE_MEMORY), {AGAIN}"
DISKS = "the disk of the warehouse or on that of working files (TMPDIR, or SPARK_LOCAL_DIRS)"
MORE_ROOM = f"make room on {DISKS}, {AGAIN}"
LACKING = {
    "No space left on device": MORE_ROOM,
    "Not enough memory to build and broadcast": MORE_MEMORY,
    "for the total memory pool": MORE_MEMORY,
}
"""What a system and both engines say of a machine that is too small, and what to do."""


def lacking(fault: str) -> str | None:
    """What to do about a fault that only says that disk or memory did not suffice; None if it says else."""
    return next((advice for said, advice in LACKING.items() if said in fault), None)


def is_broken_pipe(error: OSError) -> bool:
    """Whether a write failed because no process reads any more; Windows calls the argument invalid."""
    return isinstance(error, BrokenPipeError) or (os.name == "nt" and error.errno == errno.EINVAL)


def is_missing_table(error: "AnalysisException") -> bool:
    """Whether an engine says that there is no Delta table at a path."""
    return error.getCondition() in ("PATH_NOT_FOUND", "DELTA_TABLE_NOT_FOUND") or (
        "No commit files found in _delta_log" in str(error)
    )


def fault_of(error: Exception) -> str:
    """The error and what caused it, without the names and states that only a program needs.

    Apache Spark wraps an error several times: what it was doing stands first, the cause last.
    """
    said: list[str] = []
    for message in _messages(error):
        raised = RAISED.search(message.rpartition(TRACEBACK)[2]) if TRACEBACK in message else None
        line = MESSAGE.match(raised[1] if raised else message.strip().partition("\n")[0])
        text = line["text"] if line else ""
        if text and not text.startswith(WRAPPING) and not any(text in before for before in said):
            said.append(text)
    # The last one is the cause; of what stands between the two nothing is new.
    return ": ".join([said[0].rstrip("."), *said[1:][-1:]]) if said else type(error).__name__


def _messages(error: Exception) -> Iterator[str]:
    # An error of Java that PySpark does not know by name; where there is no Java, py4j is not installed.
    cause = getattr(error, "java_exception", None)
    if cause is None:
        yield str(error)
    while cause is not None:
        yield cause.getMessage() or cause.getClass().getSimpleName()
        cause = cause.getCause()
