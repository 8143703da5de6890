"""What is wrong with a snapshot's folder beside the columns of its files, one line each."""

from collections.abc import Collection, Iterable, Mapping
from itertools import product
from pathlib import PurePosixPath

from pyarrow import fs

from pipelines.config.model import Snapshot
from pipelines.server.snapshots.declaration import ViewColumn
from pipelines.server.snapshots.view_file import ViewFile
from pipelines.server.snapshots.views import ENDPOINTS, PRIORITIES, names_of
from pipelines.text.form import SEPARATORS, TextForm, lines_of

LONGEST_HEADER = 20
"""Lines over which a header may be spread."""
WRAPPED = "its lines are wrapped; write it with sqlcmd -w 65535"


def find_missing_views(
    snapshot: Snapshot,
    complete: Collection[str],
    unclear: Mapping[str, list[str]],
    found: Mapping[str, ViewFile],
    unread: Iterable[tuple[fs.FileInfo, str]],
) -> Iterable[str]:
    """What is wrong with the views that the settings call complete."""
    ending = f".{snapshot.format}"
    for name, meant in unclear.items():
        if meant:
            several = " or ".join(sorted(meant))
            yield f"{snapshot.path}: complete names {name}, which may be {several}; write the schema"
            continue
        near = [
            (PurePosixPath(info.path).name, why)
            for info, why in unread
            if why.lower().endswith(f" is {name.lower()}")
        ]
        hint = _instead_of(near[0][0], near[0][1], ending) if near else "export it"
        yield (
            f"{snapshot.path}: {name}{ending} is not there, though complete names it; {hint}, or take it out "
            "of complete"
        )
    for view in sorted(complete):
        if found[view].is_empty:
            yield (
                f"{found[view].path}: is empty, without a header, though complete names {view}: nothing says "
                "that it was exported; write its header, or take it out of complete"
            )


def _instead_of(name: str, why: str, ending: str) -> str:
    """What to do with a file that may be the missing one."""
    if "unpack it" in why:
        return f"unpack {name}"
    format = PurePosixPath(name).suffix.lower().removeprefix(".")
    if format in ("csv", "parquet", "delta") and f".{format}" != ending:
        return f"write format: {format} into the settings if all files are like {name}"
    return f"rename {name}"


def find_missing_names(snapshot: Snapshot, found: Mapping[str, ViewFile]) -> Iterable[str]:
    """The views that are missing though others need them for names."""
    for view in (ENDPOINTS, PRIORITIES):
        file = found.get(view)
        if file is None or not file.names:
            continue
        missing = [
            other for column, other in names_of(view).items() if column in file.names and other not in found
        ]
        for other in missing:
            yield (
                f"{snapshot.path}: {other}.{snapshot.format} is not there, and {view} needs it for its "
                "names; export it"
            )


def is_wrapped(head: bytes, form: TextForm, columns: Iterable[ViewColumn]) -> bool:
    """Whether the header goes on in the next lines of a file, of which `head` is the start."""
    lines = lines_of(head.decode(form.encoding, errors="replace"))[form.header_line - 1 :][:LONGEST_HEADER]
    if len(lines) < 2 or len(lines[1]) > len(lines[0]):
        return False
    separators = SEPARATORS if len(form.header) == 1 else (form.separator,)
    required = [column for column in columns if not column.may_lack]
    for count, separator in product(range(1, len(lines) + 1), separators):
        names = {name.strip().lower() for name in "".join(lines[:count]).split(separator)}
        if all(names & {column.name, *column.also, column.instead} for column in required):
            return count > 1
    return False


def describe_single_column(form: TextForm) -> str:
    """What is wrong with a header that has no separator."""
    if "  " in form.header[0] or form.has_dashes:
        return (
            "its columns have blanks between them, as sqlcmd without -s and .rpt files have; write it with "
            'sqlcmd -s "," -W, or save it as CSV'
        )
    return f"its first line names no columns: {form.header[0][:60]!r}; write their names, with commas between"
