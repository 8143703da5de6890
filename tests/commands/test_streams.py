"""Standard output and standard error of a job: closed, full, or read to the first line only."""

import sys
from subprocess import CompletedProcess

import pytest

from tests.support.processes import ROOT, ended

TALKS = """
import logging, os, sys
from contextlib import suppress
from pipelines.commands.launch import launch
from pipelines.commands.options import Parser
from pipelines.console.terminal import step

def main(argv):
    Parser("talk", "Talk.", config=False).parse_args(argv)
    for number in range(2000):
        with step(f"step {number}"):
            pass
    logging.warning("a name with\\n a line end and \\u2028")
    with suppress(OSError):
        os.write(1, b"the engine\\n")
    for number in range(20000):
        print("answer", number)
    return 4

launch(main)
"""
NO_ROOM = (
    "error: standard output can't be written (No space left on device); send it to a file or to a program "
    "that reads it\n"
)
CLOSED = NO_ROOM.replace("No space left on device", "it is closed")


def shell(line: str) -> CompletedProcess[str]:
    """Run a line of bash with the job's command in place of JOB; the exit codes of its pipe come last."""
    job = f'"{sys.executable}" -c "$TALKS"'
    script = f"{line.replace('JOB', job)}\necho codes ${{PIPESTATUS[*]}} >&2"
    return ended(["bash", "-c", script], {"TALKS": TALKS, "PYTHONPATH": str(ROOT)})


@pytest.mark.parametrize("stderr", ["2>&-", "2>/dev/full"])
def test_a_line_that_can_not_be_written_is_lost_and_the_job_goes_on(stderr: str) -> None:
    done = shell(f"JOB {stderr}")
    assert done.stdout.splitlines()[-1] == "answer 19999"
    assert done.stderr == "codes 4\n"


def test_streams_read_to_the_first_line() -> None:
    """The exit code is what the job found, and there is no line about the pipe."""
    done = shell("JOB 2>&1 | head -1")
    assert (done.stdout, done.stderr) == ("step 0 ...\n", "codes 4 0\n")
    done = shell("JOB 2>/dev/null | head -1")
    assert (done.stdout, done.stderr) == ("answer 0\n", "codes 4 0\n")
    assert "Pipe" not in shell("JOB | head -1").stderr


@pytest.mark.parametrize(("stdout", "says"), [(">/dev/full", NO_ROOM), (">&-", CLOSED), ("<&- >&-", CLOSED)])
def test_standard_output_that_can_not_be_written(stdout: str, says: str) -> None:
    assert shell(f"JOB {stdout}").stderr.endswith(f"the engine\n{says}codes 1\n")


def test_standard_output_of_the_help_and_both_streams_that_can_not_be_written() -> None:
    assert shell("JOB --help >/dev/full").stderr == f"{NO_ROOM}codes 1\n"
    assert shell("JOB >&- 2>&-").stderr == "codes 1\n"


def test_only_the_answer_is_on_standard_output_and_a_line_of_the_log_is_one_line() -> None:
    done = shell("JOB")
    assert done.stdout.splitlines() == [f"answer {number}" for number in range(20000)]
    assert "the engine\n" in done.stderr
    log = [line for line in done.stderr.splitlines() if "WARNING" in line]
    assert [line.partition("WARNING ")[2] for line in log] == [r"a name with\u000a a line end and \u2028"]
