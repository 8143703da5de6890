"""The files of a made-up log: one format each, under names that don't depend on the run."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from dev.generator.log import Piece

FORMATS = {"json": "json", "csv": "csv", "parquet": "parquet", "delta": "parquet"}
"""The formats, and the endings of their data files."""

TIMESTAMP = "%Y-%m-%dT%H:%M:%SZ"
"""Microseconds are part of Arrow's seconds."""


def write(piece: Piece, folder: Path, *, format: str) -> None:
    """Write a piece below a temporary folder; `name` moves it once all pieces exist."""
    path = folder / piece.source / piece.slice / f"{piece.part:05d}"
    path.parent.mkdir(parents=True, exist_ok=True)
    if format == "json":
        _write_json(piece, path)
    elif format == "csv":
        _write_csv(piece, path)
    else:
        whole = piece.columns.filter(~piece.broken) if piece.broken.any() else piece.columns
        # Without Arrow's own schema in the file, names in a dictionary are strings to every reader.
        parquet.write_table(whole, path, compression="zstd", compression_level=1, store_schema=False)


def name(folder: Path, out: Path, *, format: str, daily: bool) -> None:
    """Give the files of all pieces names that only depend on their slice and part."""
    for source in sorted(folder.iterdir()):
        files = sorted(source.rglob("*/*"))
        for night in sorted(source.iterdir()) if daily else [source]:
            target = out / f"night={night.name}" / source.name if daily else out / source.name
            target.mkdir(parents=True)
            prefix = night.name if daily else "part"
            for number, file in enumerate(file for file in files if file.is_relative_to(night)):
                file.rename(target / f"{prefix}-{number:05d}.{FORMATS[format]}")
        if daily:
            (out / source.name).mkdir()
    shutil.rmtree(folder)


def _write_json(piece: Piece, path: Path) -> None:
    fields = [
        _json_field(f'{"," if position else "{"}"{name}":', column)
        for position, (name, column) in enumerate(_columns(piece))
    ]
    lines = pc.binary_join_element_wise(*fields, "}", "", null_handling="replace", null_replacement="")
    # A broken row is a line that was cut off.
    broken = pa.array(piece.broken)
    cut = [line[: int(len(line) * 0.7)] for line in lines.filter(broken).to_pylist()]
    _write_lines(pc.replace_with_mask(lines, broken, pa.array(cut, pa.string())), path)


def _json_field(key: str, column: pa.Array) -> pa.Array:
    """A column as fields of JSON objects, null where it is null."""
    if pa.types.is_dictionary(column.type):
        return _renamed(column, lambda name: key + json.dumps(name, ensure_ascii=False))
    if pa.types.is_string(column.type) or pa.types.is_timestamp(column.type):
        return pc.binary_join_element_wise(f'{key}"', _texts(column), '"', "")
    return pc.binary_join_element_wise(key, _texts(column), "")


def _write_csv(piece: Piece, path: Path) -> None:
    columns = dict(_columns(piece))
    fields = {
        name: _renamed(column, _csv_text) if pa.types.is_dictionary(column.type) else _texts(column)
        for name, column in columns.items()
    }
    # A broken row has a time that is none.
    fields["event_time"] = pc.if_else(pa.array(piece.broken), "not a time", fields["event_time"])
    lines = pc.binary_join_element_wise(*fields.values(), ",", null_handling="replace", null_replacement="")
    _write_lines(pa.concat_arrays([pa.array([",".join(fields)]), lines]), path)


def _csv_text(name: str) -> str:
    """A name as a field of CSV, in quotes if it needs them."""
    return '"' + name.replace('"', '""') + '"' if set(name) & set(',"\r\n') else name


def _columns(piece: Piece) -> Iterator[tuple[str, pa.Array]]:
    for name in piece.columns.column_names:
        yield name, piece.columns[name].combine_chunks()


def _renamed(column: pa.DictionaryArray, form: Callable[[str], str]) -> pa.Array:
    """A column of names with every name in another form."""
    return pa.array(map(form, column.dictionary.to_pylist()), pa.string()).take(column.indices)


def _texts(column: pa.Array) -> pa.Array:
    return pc.strftime(column, TIMESTAMP) if pa.types.is_timestamp(column.type) else column.cast(pa.string())


def _write_lines(lines: pa.Array, path: Path) -> None:
    """Write lines from where Arrow has them in memory, one after another."""
    path.write_bytes(pc.binary_join_element_wise(lines, "\n", "").buffers()[2])
