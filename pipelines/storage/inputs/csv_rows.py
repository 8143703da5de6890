"""CSV rows: a header per file, one row a line, typed by the contract."""

import csv
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from pyspark.sql import Column, DataFrame, SparkSession, functions as F

from pipelines.engine.frames import among, small_frame, union_all
from pipelines.storage.inputs.contract import (
    contract_problems,
    lacking_column,
    problems_of_each,
    raise_together,
)
from pipelines.storage.inputs.paths import read_unended_line
from pipelines.storage.inputs.plain_copies import find_form, write_plain_copy
from pipelines.storage.inputs.text import PACKED, compute_once, join_names, parse_value, read_lines
from pipelines.text.foreign import TRACE, is_trace, sample
from pipelines.text.form import ForeignFileError, TextForm
from schemas import EventContract

FIELD = r',("[^"]*(?:""[^"]*)*"|[^",][^,]*|)'
"""A comma and a field behind it: in quotes, where two quotes are one, or without any at its start."""
NUL = "\0"
"""All of a field that is the empty text, as bcp writes it; anywhere else it breaks the row."""
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_ .#-]*")
"""What a column may be called. Times and most ids are none."""
NULLS = ("", '""', NUL, "NULL", r"\N")
"""Fields that are null: without quotes the word NULL, too, as the server's tools write it."""


def read_csv(
    spark: SparkSession, contract: EventContract, paths: Sequence[str], *, with_file: bool = False
) -> DataFrame:
    """Open CSV files, in the shape of `pipelines.storage.inputs.read`.

    Nothing between two commas, a NUL, and NULL without quotes are null. A file that a tool has written
    otherwise (UTF-16, other separators, padding, lines around the table) is read from a copy. The columns
    go by each file's own header. A line that is the same as the header is no row. A last line without a
    line end is broken: it may be cut inside its last field. Where a whole line of such a file is the same,
    it is a repeat of that. With `file` as `pipelines.storage.inputs.text.read_lines` gives it, if asked for.
    `places` has the number of its columns and where the declared ones are, for `with_fields`.

    Raises:
        InputError: a header lacks a column, or has it twice; all of them are listed.
    """
    opened = _opened(spark, contract, paths)
    headers = {path: form.header_text for path, form in opened}
    paths = list(headers)
    ends = {path: read_unended_line(path) for path in paths if not path.endswith(tuple(PACKED))}
    alike: dict[tuple[str, bool], list[str]] = {}
    for path in paths:
        alike.setdefault((headers[path], bool(ends.get(path))), []).append(path)
    frames, file = [], ["file"] if with_file else []
    for header, is_unended in sorted(alike):
        files = alike[header, is_unended]
        lines = read_lines(spark, files, with_file=with_file).where(F.col("raw") != header)
        cut_off = _cut_off(lines, Counter(ends[path] for path in files)) if is_unended else ()
        frames.append(_from_lines(lines, contract, _columns(header), cut_off, file))
    return union_all(frames)


def _cut_off(lines: DataFrame, unended: Mapping[str, int]) -> list[str]:
    """Of the last lines without a line end, with how many there are, those that no whole line equals."""
    same = among(lines, zip(unended), "raw string").groupBy("raw").agg(F.count(F.lit(1)).alias("lines"))
    return sorted(row.raw for row in same.collect() if row.lines <= unended[row.raw])


def _opened(spark: SparkSession, contract: EventContract, paths: Sequence[str]) -> list[tuple[str, TextForm]]:
    """The files, or copies that the engine can read, with their forms.

    Raises:
        InputError: a file is no CSV, or its header lacks a column or has it twice; all are listed.
    """
    found: dict[str, TextForm] = {}

    def problems(path: str) -> list[str]:
        form, differences = header_problems(path, contract)
        if form is not None:
            found[path] = form
        return differences

    raise_together([contract_problems(contract, problems_of_each(paths, problems))])
    return [_plain(spark, contract, path, found[path]) for path in paths]


def header_problems(path: str, contract: EventContract) -> tuple[TextForm | None, list[str]]:
    """The form of a CSV file, None if it is no CSV, and what its header lacks of the contract."""
    try:
        form = find_form(path, contract.in_files.values())
        if not contract.is_mapped:
            form = replace(form, has_breaks=False)
    except ForeignFileError as error:
        return None, [f"{path}: {error}"]
    return form, [] if form.is_empty else _of_header(path, contract, form)


def _of_header(path: str, contract: EventContract, form: TextForm) -> list[str]:
    """What is wrong with a header: one line if no column fits."""
    header = form.header if form.is_padded or form.separator != "," else _columns(form.header_text)
    if contract.is_mapped:
        return [f"{path}:{form.header_line}: {said}" for said in _of_mapping(contract, header)]
    there = {name.strip().lower() for name in header}
    if is_trace(there):
        return [f"{path}: {TRACE}"]
    if len(header) < 2:
        return [f"{path}:1: the header has no comma; write the names of the columns, with commas between"]
    if not there & {name.lower() for name in contract.names}:
        # A row without a header may have the body of a message, which no message of ours shows.
        has_names = all(NAME.fullmatch(name) for name in header)
        begins = f"; its first line is {sample(form.header_text)}" if has_names else " in its first line"
        return [f"{path}: has no column of {contract.source}{begins}"]
    fit = [name for name in contract.names if name in header]
    if 2 * len(fit) < len(contract.names):
        only = f"only {' and '.join(fit)}" if fit else "none"
        hint = "; write them in small letters" if there >= set(contract.names) else ""
        return [
            f"{path}:{form.header_line}: the header has {only} of the {len(contract.names)} columns of "
            f"{contract.source}{hint}; it is {sample(form.header_text)}"
        ]
    wrong = {name: "twice" if name in header else "missing" for name in contract.names}
    return [
        f"{path}:{form.header_line}: column {name} is {fault} in the header"
        for name, fault in wrong.items()
        if header.count(name) != 1
    ]


def _of_mapping(contract: EventContract, header: Sequence[str]) -> list[str]:
    return [
        f"column {name} is twice in the header" if name in header else lacking_column(name, header)
        for name in dict.fromkeys(contract.called.values())
        if header.count(name) != 1
    ]


def _plain(spark: SparkSession, contract: EventContract, path: str, form: TextForm) -> tuple[str, TextForm]:
    """The file, or a copy that the engine can read; a file without a header has no rows."""
    if form.is_plain:
        return path, form
    written = replace(form, header=tuple(contract.in_files.values())) if form.is_empty else form
    copy = write_plain_copy(spark, path, written, "rows")
    return copy, find_form(copy, contract.in_files.values())


def _columns(header: str) -> list[str]:
    return next(csv.reader([header]), [])


def _from_lines(
    lines: DataFrame,
    contract: EventContract,
    header: Sequence[str],
    cut_off: Collection[str],
    file: Sequence[str],
) -> DataFrame:
    is_cut_off = F.lit(False)
    if cut_off:
        ends = small_frame(lines.sparkSession, zip(cut_off), "raw string").withColumn("is_end", F.lit(True))
        lines, is_cut_off = lines.join(F.broadcast(ends), "raw", "left"), F.col("is_end").isNotNull()
    rows = lines.select("raw", "is_text", *file, is_cut_off.alias("is_cut_off"), _cut().alias("fields"))
    others = F.array_join(F.array_remove("fields", NUL), ",")
    has_nul = F.when(F.contains("raw", F.lit(NUL)), F.contains(others, F.lit(NUL))).otherwise(F.lit(False))
    broken = ~F.col("is_text") | has_nul | (F.size("fields") != len(header)) | ~_is_cut_whole()
    rows = rows.select(
        "raw",
        *file,
        (broken | F.col("is_cut_off")).alias("broken"),
        *[_field(header.index(called)).alias(name) for name, called in contract.in_files.items()],
    )
    rows = compute_once(rows, ["raw", *file, "broken", *contract.names])
    typed = {column.name: parse_value(F.col(column.name), column.type) for column in contract.columns}
    unreadable = {
        column.name: F.col(column.name).isNotNull() & typed[column.name].isNull()
        for column in contract.columns
        if column.type != "string"
    }
    is_whole = ~F.col("broken")
    places = [len(header), *map(header.index, contract.in_files.values())]
    return rows.select(
        *[F.when(is_whole, value).alias(name) for name, value in typed.items()],
        "broken",
        F.when(is_whole, join_names(unreadable)).alias("unreadable"),
        F.lit(None).cast("string").alias("mistyped"),
        "raw",
        F.lit(" ".join(map(str, places))).alias("places"),
        *file,
    )


def with_fields(rows: DataFrame) -> DataFrame:
    """Cut the lines of `read_csv` once more: `fields`, and `places` as numbers."""
    return rows.withColumns({"fields": _cut(), "places": F.split("places", " ").cast("array<int>")})


def values_as_written(contract: EventContract) -> Column:
    """The declared fields of a line as a struct of texts, nulls too; null if it is no row of its header.

    Needs `with_fields`.
    """
    values = [
        _field(F.get("places", F.lit(number))).alias(name) for number, name in enumerate(contract.names, 1)
    ]
    is_row = (F.size("fields") == F.get("places", F.lit(0))) & _is_cut_whole()
    return F.when(is_row, F.struct(*values))


def _cut() -> Column:
    """The fields of a line. Most lines have no quotes and are cut quickly."""
    return F.when(
        F.contains("raw", F.lit('"')),
        F.regexp_extract_all(F.concat(F.lit(","), "raw"), F.lit(FIELD), F.lit(1)),
    ).otherwise(F.split("raw", ","))


def _is_cut_whole() -> Column:
    """Whether all of a line is in its fields: what stands outside of quotes is in none."""
    return ~F.contains("raw", F.lit('"')) | (F.array_join("fields", ",") == F.col("raw"))


def _field(place: int | Column) -> Column:
    field = F.get("fields", F.lit(place))
    inner = F.substr(field, F.lit(2), F.length(field) - 2)
    text = F.when(F.startswith(field, F.lit('"')), F.replace(inner, F.lit('""'), F.lit('"'))).otherwise(field)
    return F.when(~field.isin(*NULLS), text)
