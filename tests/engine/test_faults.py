"""What is said of an engine's error."""

from dataclasses import dataclass

import pytest

from engine.faults import fault_of


@dataclass
class Java:
    """What py4j gives of an exception of Java."""

    message: str | None
    cause: "Java | None" = None

    def getMessage(self) -> str | None:  # noqa: N802
        return self.message

    def getCause(self) -> "Java | None":  # noqa: N802
        return self.cause

    def getClass(self) -> "Java":  # noqa: N802
        return self

    def getSimpleName(self) -> str:  # noqa: N802
        return "EOFException"


class JavaError(Exception):
    def __init__(self, java: Java) -> None:
        super().__init__("An error occurred while calling o1987.count.")
        self.java_exception = java


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            JavaError(
                Java(
                    "Job aborted due to stage failure: Task 0 in stage 25.0 failed 1 times",
                    Java(
                        "[FAILED_READ_FILE.NO_HINT] Error while reading /in/a.gz.  SQLSTATE: KD001",
                        Java("Unexpected end of input stream\nand more"),
                    ),
                )
            ),
            "Error while reading /in/a.gz: Unexpected end of input stream",
        ),
        (JavaError(Java(None)), "EOFException"),
        (JavaError(Java("same thing", Java("same thing"))), "same thing"),
        (RuntimeError("[PATH_NOT_FOUND] no such path. SQLSTATE: 42K03"), "no such path"),
        (RuntimeError("incomplete deflate stream"), "incomplete deflate stream"),
        (RuntimeError(), "RuntimeError"),
    ],
)
def test_the_line_says_what_was_done_and_what_caused_it(error: Exception, line: str) -> None:
    assert fault_of(error) == line
