"""Check the whole CSV file of a view of which an engine could not read every row."""

from collections.abc import Iterator
from dataclasses import replace

from pipelines.server.snapshots.server import snapshot_error
from pipelines.server.snapshots.values import foreign_value
from pipelines.server.snapshots.view_file import ViewFile
from pipelines.storage.inputs.paths import file_system
from pipelines.text.form import ForeignFileError, packing
from pipelines.text.rows import TextRow, text_rows


def check_view_file(file: ViewFile) -> ViewFile:
    """Check all lines of a view's file for what its first lines did not show.

    Returns:
        The file; with `has_breaks` in its form if a value has a line end, which an engine reads from a copy.

    Raises:
        InputError: the file is in another encoding than its first lines, has times in local form, or is not
            whole.
    """
    if file.form is None:
        return file
    places = {column: file.form.header.index(name) for column, name in file.names.items()}
    has_breaks, unended = False, 0

    def noted(rows: Iterator[TextRow]) -> Iterator[TextRow]:
        nonlocal has_breaks, unended
        for row in rows:
            unended = 0 if row.is_ended else row.line
            has_breaks = has_breaks or row.is_joined
            yield row

    system, inner, _ = file_system(file.path)
    try:
        with system.open_input_stream(inner, compression=packing(inner)) as stream:
            wrong = foreign_value(noted(text_rows(stream, file.form)), file.columns, places)
    except ForeignFileError as error:
        wrong = str(error)
    if unended and not wrong:
        wrong = (
            f"line {unended}, its last one, has no line end, so rows may be missing; export it again, or end "
            "the line if the file is whole"
        )
    if wrong:
        raise snapshot_error([f"{file.path}: {wrong}"])
    return replace(file, form=replace(file.form, has_breaks=True)) if has_breaks else file
