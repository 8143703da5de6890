"""The columns of an input, compared with its contract without an engine and without reading its rows."""

import json
import os
from collections.abc import Collection
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from pipelines.config.errors import InputError
from pipelines.config.model import EventSource, Format
from pipelines.storage.inputs.contract import first_line, problems_of_each
from pipelines.storage.inputs.csv_rows import header_problems
from pipelines.storage.inputs.json_lines import first_lines, foreign_problems, lacking_fields
from pipelines.storage.inputs.paths import is_empty_folder, list_files, open_file
from pipelines.storage.inputs.plain_copies import find_form
from pipelines.storage.inputs.typed_rows import footer_problems, schema_problems
from pipelines.text.form import ForeignFileError, not_packed
from pipelines.text.json_objects import FIELD_TYPES, json_type, object_of
from schemas import EventContract

LINES = 20
"""Lines of a file of JSON lines that are compared: each line has its own fields."""


def compare_columns(contract: EventContract, given: EventSource) -> tuple[int, list[str]]:
    """Compare all files of an input with its contract.

    Returns:
        How many files it has (1 for a Delta table with rows), and a line for each difference.

    Raises:
        FileNotFoundError: there is no such folder.
        PipelineError: it can't be listed.
    """
    if given.format == "delta":
        if is_empty_folder(given.path):
            return 0, []
        try:
            schema = pa.schema(DeltaTable(given.path).schema())
        except DeltaError as error:
            return 0, [f"{given.path}: no Delta table ({first_line(error)})"]
        return 1, schema_problems(given.path, contract, schema)
    compare = {
        "csv": lambda path: header_problems(path, contract)[1],
        "parquet": lambda path: footer_problems(path, contract)[1],
        "json": lambda path: foreign_problems(path) or _problems_of_lines(path, contract),
    }

    def problems_of(path: str) -> list[str]:
        try:
            return compare[given.format](path)
        except OSError as error:
            return [f"{path}: {not_packed(path) or first_line(error)}"]

    files = [file.path for file in list_files(given.path)]
    return len(files), problems_of_each(files, problems_of)


def columns_of(path: str) -> tuple[str, list[str]]:
    """The format of a file or a Delta table by its ending or its folder, and the names of its columns.

    Raises:
        FileNotFoundError: nothing is there.
        InputError: it can't be read as what it seems to be.
    """
    ending = PurePosixPath(path.lower().removesuffix(".gz").removesuffix(".bz2").removesuffix(".zst")).suffix
    format: Format = "csv"
    if os.path.isdir(path):
        format = "delta"
    elif ending == ".parquet":
        format = "parquet"
    elif ending in (".json", ".jsonl", ".ndjson"):
        format = "json"
    return format, column_names(path, format)


def column_names(path: str, format: Format, known: Collection[str] = ()) -> list[str]:
    """The names of the columns of a file or a Delta table; of JSON lines, those of the first lines.

    Args:
        path: the file, or the folder of the table.
        format: how it is written.
        known: names that its header may have.

    Raises:
        FileNotFoundError: nothing is there.
        InputError: it can't be read.
    """
    try:
        if format == "delta":
            return [field.name for field in pa.schema(DeltaTable(path).schema())]
        if format == "parquet":
            with open_file(path) as file:
                return list(pq.read_schema(file).names)
        if format == "json":
            rows = [json.loads(line) for line in first_lines(path, LINES).values()]
            return list(dict.fromkeys(name for row in rows for name in row))
        return list(find_form(path, known).header)
    except FileNotFoundError:
        raise
    except (DeltaError, ForeignFileError, pa.ArrowException, OSError, ValueError, TypeError) as error:
        raise InputError(f"{path}: its columns can't be read ({first_line(error)})") from error


def _problems_of_lines(path: str, contract: EventContract) -> list[str]:
    """What stops a run in the first lines of a file of JSON lines.

    That is a field of another type. A line that is no object, or lacks a field, is a row that a run rejects:
    it counts here if all of these lines are so.
    """
    if contract.is_mapped:
        return lacking_fields(path, contract)
    lines = first_lines(path, LINES)
    rows = {number: row for number, line in lines.items() if (row := object_of(line)) is not None}
    if lines and not rows:
        return [f"{path}:{min(lines)}: is no JSON object; write one object a line"]
    for number, row in rows.items():
        if mistyped := _mistyped(row, contract):
            return [f"{path}:{number}: {problem}" for problem in mistyped]
    return [
        f"{path}: field {column.name} is in none of the first {LINES} lines; it must be {column.type}"
        for column in contract.columns
        if rows and not column.nullable and all(row.get(column.name) is None for row in rows.values())
    ]


def _mistyped(row: dict[str, Any], contract: EventContract) -> list[str]:
    """The fields that have a value of another type than their column."""
    problems = []
    for column in contract.columns:
        value, wanted = row.get(column.name), FIELD_TYPES.get(column.type, "string")
        if value is not None and json_type(value) != wanted:
            problems.append(f"field {column.name} is {json.dumps(value)}; it must be {column.type}")
    return problems
