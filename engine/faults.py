"""What an engine's error says, in one line."""

import re
from collections.abc import Iterator

MESSAGE = re.compile(r"^(?:\[[A-Z0-9_.]+\] )?(?P<text>.*?)(?:\s*SQLSTATE: \w+)?$")
WRAPPING = ("Job aborted", "Task failed", "TASK_WRITE_FAILED", "Multiple failures", "Exception thrown in")
"""How errors of Java begin that only say that another one follows."""
FULL_DISK = "No space left on device"
"""How every system and engine says it; which disk it is, not all of them say."""


def fault_of(error: Exception) -> str:
    """The error and what caused it, without the names and states that only a program needs.

    Apache Spark wraps an error several times: what it was doing stands first, the cause last.
    """
    said: list[str] = []
    for message in _messages(error):
        line = MESSAGE.match(message.strip().partition("\n")[0])
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
