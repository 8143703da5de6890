"""What is said of an engine's error."""

import errno
from types import SimpleNamespace

import pytest

from pipelines.engine.errors import LACKING, fault_of, is_broken_pipe, lacking


class JavaError(Exception):
    """What py4j gives of an exception of Java, by the messages of it and of its causes."""

    def __init__(self, *messages: str | None) -> None:
        super().__init__("An error occurred while calling o1987.count.")
        self.java_exception: SimpleNamespace | None = None
        for message in reversed(messages):
            self.java_exception = java(message, self.java_exception)


def java(message: str | None, cause: SimpleNamespace | None) -> SimpleNamespace:
    kind = SimpleNamespace(getSimpleName=lambda: "EOFException")
    return SimpleNamespace(getMessage=lambda: message, getCause=lambda: cause, getClass=lambda: kind)


IN_WORKER = """
  An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "rows.py", line 65, in read
    for batch in batches:
"""


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            JavaError(
                "Job aborted due to stage failure: Task 0 in stage 25.0 failed 1 times",
                "[FAILED_READ_FILE.NO_HINT] Error while reading /in/a.gz.  SQLSTATE: KD001",
                "Unexpected end of input stream\nand more",
            ),
            "Error while reading /in/a.gz: Unexpected end of input stream",
        ),
        (JavaError(None), "EOFException"),
        (JavaError("same thing", "same thing"), "same thing"),
        (RuntimeError("[PATH_NOT_FOUND] no such path. SQLSTATE: 42K03"), "no such path"),
        (RuntimeError("incomplete deflate stream"), "incomplete deflate stream"),
        (RuntimeError(), "RuntimeError"),
        (RuntimeError(f"{IN_WORKER}RuntimeError: Arrow error: Io error: cut off\n"), "cut off"),
        (RuntimeError(f"{IN_WORKER}ValueError: no: such\nthing"), "ValueError: no: such"),
    ],
)
def test_the_line_says_what_was_done_and_what_caused_it(error: Exception, line: str) -> None:
    assert fault_of(error) == line


@pytest.mark.parametrize(
    ("fault", "advice"),
    [
        ("No space left on device: /w/endpoints/part-0.parquet", "make room on the disk of the warehouse"),
        (
            "Not enough memory to build and broadcast the table to all worker nodes",
            "give the engine more memory (ENGINE_MEMORY), then run the same command again",
        ),
        (
            "Failed to allocate additional 512.0 KB for ParquetSink - 99.6 KB remain available for the total "
            "memory pool: fair(pool_size: 40.0 MB)",
            "give the engine more memory",
        ),
    ],
)
def test_a_machine_that_is_too_small(fault: str, advice: str) -> None:
    said = lacking(fault)
    assert said in LACKING.values()
    assert str(said).startswith(advice)
    assert lacking("Error while reading /in/a.gz: Unexpected end of input stream") is None


def test_a_pipe_without_a_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    invalid = OSError(errno.EINVAL, "Invalid argument")
    assert is_broken_pipe(BrokenPipeError())
    assert not is_broken_pipe(invalid)
    monkeypatch.setattr("pipelines.engine.errors.os", SimpleNamespace(name="nt"))
    assert is_broken_pipe(invalid)
    assert not is_broken_pipe(OSError(errno.ENOSPC, "No space left on device"))
