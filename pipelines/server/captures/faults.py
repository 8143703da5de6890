"""What is wrong with a capture: one line, with its place in the file and what to do."""

import json
import os
from collections.abc import Iterable, Sequence

from pipelines.config.errors import SeveralInputError

LONGEST_LINE = 1 << 20
"""Characters of a line; the script writes 8,000 at most."""
LONGEST_SAMPLE = 60
AGAIN = "take the capture again"
CUT = {
    256: "sqlcmd -y 0 (in SSMS: Query > Query Options > Results, 8192 characters a column)",
    4000: "Invoke-Sqlcmd -MaxCharLength 8000",
}
"""What to write, by the number of characters at which a tool cuts its columns."""
ELLIPSES = ("...", "\u2026")
WHY_NO_CAPTURE = "there is no capture in it"


class CaptureFault(Exception):  # noqa: N818
    """What is wrong with one file.

    Attributes:
        line: the line in the decoded file, from 1; None if the fault has none.
    """

    def __init__(self, line: int | None, text: str) -> None:
        """Say what is wrong and what to do."""
        super().__init__(text)
        self.line = line


class CaptureError(SeveralInputError):
    """Files that are no whole captures: one line a file."""


def describe_fault(path: str, fault: CaptureFault) -> str:
    """The line about a file."""
    place = short_path(path)
    return f"{place}: {fault}" if fault.line is None else f"{place}:{fault.line}: {fault}"


def short_path(path: str) -> str:
    """A path as people read it: relative to the current folder if it lies in there."""
    here = os.getcwd().replace(os.sep, "/").rstrip("/") + "/"
    return path[len(here) :] if path.startswith(here) else path


def sample(text: str) -> str:
    """The beginning of a line, in quotes."""
    text = text.strip()
    return repr(text if len(text) <= LONGEST_SAMPLE else f"{text[:LONGEST_SAMPLE]}...")


def no_json(line: int, text: str, widths: Iterable[int]) -> CaptureFault:
    """The fault of an object's line that is no JSON: something has cut it.

    Args:
        line: its number.
        text: the line without its end, with the blanks around it.
        widths: characters of the lines around it.
    """
    bare = text.strip()
    if bare and bare[0] not in '{"':
        return CaptureFault(
            line,
            f"{sample(bare)}: the line stands in a list or a table, which wraps or cuts it; save the one "
            "column capture_line as text or CSV, without a limit of its width",
        )
    lengths = {len(text), len(bare)}
    for width, remedy in CUT.items():
        if width in lengths:
            return CaptureFault(line, f"the line is cut at {width:,} characters; {AGAIN} with {remedy}")
    if bare.endswith(ELLIPSES):
        return CaptureFault(
            line,
            f"the line is cut and ends in an ellipsis; {AGAIN} with Select-Object -ExpandProperty "
            "capture_line",
        )
    known = list(widths)
    if bare == "{" and line < len(known):
        return CaptureFault(
            line, "an object stands over several lines, and its first is no JSON; write each object in a line"
        )
    if len(known) > 1 and len(text) == max(known) and known.count(len(text)) > 1:
        return CaptureFault(
            line, f"the lines are wrapped at {len(text):,} characters; {AGAIN} with sqlcmd -w 65535"
        )
    return CaptureFault(line, f"the line is cut or damaged: it is no JSON; copy the file or {AGAIN}")


def foreign_line(line: int, text: str) -> CaptureFault:
    """The fault of a line inside a capture that is no part of it."""
    return CaptureFault(
        line, f"{sample(text)} stands inside the capture: an error of the server or another output; {AGAIN}"
    )


def no_capture(line: int | None, text: str) -> CaptureFault:
    """The fault of a file without any object."""
    begins = f"it begins with {sample(text)}" if text else "it is empty"
    return CaptureFault(line, f"{WHY_NO_CAPTURE}: {begins}; save the result of the capture script there")


def no_header(line: int) -> CaptureFault:
    """The fault of a capture whose first object is not its header."""
    return CaptureFault(line, f"the first line of the capture is missing; {AGAIN}")


def second_capture(line: int) -> CaptureFault:
    """The fault of a file that goes on behind a capture."""
    return CaptureFault(line, "a second capture begins here; write each capture into a file of its own")


def not_whole(line: int, behind: str) -> CaptureFault:
    """The fault of a capture without its end; `behind` is the text that follows, if there is any."""
    follows = f", and {sample(behind)} follows" if behind else ""
    return CaptureFault(
        line,
        f"the capture ends here without its last line{follows}: it is not whole, or still being written; run "
        f"again later, or {AGAIN}",
    )


def mixed_parts(line: int, begun: str, ended: str) -> CaptureFault:
    """The fault of a file whose first and last line are of two captures."""
    return CaptureFault(
        line, f"the last line is of capture {ended}, the first of {begun}: parts of two captures; {AGAIN}"
    )


def other_count(line: int, what: str, said: object, found: int) -> CaptureFault:
    """The fault of a count that is not that of the rows which are there."""
    return CaptureFault(
        line,
        f"by this line {what} has {json.dumps(said)} rows, but {found} are there: some are missing or "
        f"repeated; {AGAIN}",
    )


def wrong_key(line: int, key: str, value: object, must: str) -> CaptureFault:
    """The fault of a key of a line that has no fitting value."""
    return CaptureFault(line, f"{key} is {json.dumps(value)}; it must be {must}; {AGAIN}")


def too_long(line: int) -> CaptureFault:
    """The fault of a line that is longer than any that the script writes."""
    return CaptureFault(line, f"the line has more than {LONGEST_LINE:,} characters; {AGAIN}")


def nested_too_deep(line: int, most: int) -> CaptureFault:
    """The fault of a line with brackets in brackets, beyond all that a server writes."""
    return CaptureFault(line, f"the line has more than {most} levels of brackets; {AGAIN}")


def foreign_bulk(line: int, most: int) -> CaptureFault:
    """The fault of a file with much more than the lines of a capture."""
    return CaptureFault(
        line,
        f"more than {most >> 20} MiB up to this line are blank or no lines of a capture; save the one column "
        "capture_line alone",
    )


def cut_archive() -> CaptureFault:
    """The fault of a compressed file that is not whole."""
    return CaptureFault(None, "the compressed file is cut; copy it again")


def no_text(line: int) -> CaptureFault:
    """The fault of a line whose bytes are no text."""
    return CaptureFault(line, f"the line has bytes that are not UTF-8; save the file as UTF-8, or {AGAIN}")


def raise_faults(problems: Sequence[str]) -> None:
    """Raise what is wrong with files.

    Raises:
        CaptureError: anything is.
    """
    if problems:
        raise CaptureError(*problems)
