"""What is wrong with a snapshot's folder beside the columns of its files, one line each."""

from collections.abc import Collection, Iterable, Mapping
from pathlib import PurePosixPath

from pyarrow import fs

from config.exports.form import TextForm
from config.model import Snapshot
from config.snapshots.view_file import ViewFile
from config.snapshots.views import ENDPOINTS, NAMES_OF, PRIORITIES


def of_complete(
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
        near = [PurePosixPath(info.path).name for info, why in unread if why.endswith(f"is {name.lower()}")]
        hint = f"rename {near[0]}" if near else "export it"
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


def without_names(snapshot: Snapshot, found: Mapping[str, ViewFile]) -> Iterable[str]:
    """The views that are missing though others need them for names."""
    for view in (ENDPOINTS, PRIORITIES):
        file = found.get(view)
        if file is None or not file.names:
            continue
        missing = [
            other for column, other in NAMES_OF[view].items() if column in file.names and other not in found
        ]
        for other in missing:
            yield (
                f"{snapshot.path}: {other}.{snapshot.format} is not there, and {view} needs it for its "
                "names; export it"
            )


def of_one_column(form: TextForm) -> str:
    """What is wrong with a header that has no separator."""
    if "  " in form.header[0] or form.has_dashes:
        return (
            "its columns have blanks between them, as sqlcmd without -s and .rpt files have; write it with "
            'sqlcmd -s "," -W, or save it as CSV'
        )
    return f"its first line names no columns: {form.header[0][:60]!r}; write their names, with commas between"
