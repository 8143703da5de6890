"""The peer: the same tables from the same events, in DuckDB SQL, written as Parquet.

.venv/bin/python -m dev.benchmarks.peer --config SETTINGS --as-of INSTANT --out FOLDER

The statements are in `sql/`, a file per table or group of tables, written from the rules and not from the
pipeline. Only what the benchmark needs is there: no TOP, no starvation prevention, no blocks.
"""

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from pipelines.commands.options import instant
from pipelines.config.errors import ConfigError
from pipelines.settings.load import Settings, load_settings
from schemas.events import CONTRACTS

SQL = Path(__file__).with_name("sql")
STEPS = (
    "endpoint_events",
    "message_events",
    "queue_events",
    "rejected_events",
    "transactions",
    "endpoints",
    "open_messages",
    "queues",
    "group_priorities",
    "receive_schedule",
    "transmission_schedule",
    "unresolved",
)
"""The files of `sql/` in the order in which they build on each other."""

WRITTEN = {
    "rejected_events": "*",
    "endpoints": "* EXCLUDE first_group_id",
    "group_priorities": "* EXCLUDE (held_since, held_source)",
    "receive_schedule": "*",
    "transmission_schedule": "*",
    "unresolved": "*",
}
"""The tables that are written, and their columns."""

INPUTS = {
    "endpoint_input": "endpoint_events",
    "message_input": "message_events",
    "queue_input": "queue_events",
}


def run(settings: Settings, as_of: datetime, out: Path, *, threads: int, memory: str) -> dict[str, float]:
    """Make the tables of one as_of from all events of the inputs, as one batch.

    Args:
        settings: inputs in Parquet, catalog and rules; the rest at its defaults.
        as_of: the instant to describe.
        out: the folder to write `<table>.parquet` to; what is needed on disk on the way goes there too.
        threads: how many threads DuckDB may use.
        memory: how much memory, such as 8GiB.

    Returns:
        Seconds by step.

    Raises:
        ConfigError: the settings ask for what the peer leaves out.
    """
    _require_supported(settings)
    out.mkdir(parents=True, exist_ok=True)
    connection = duckdb.connect(
        config={
            "threads": threads,
            "memory_limit": memory,
            "temp_directory": str(out / "spill"),
            "preserve_insertion_order": False,
        }
    )
    seconds: dict[str, float] = {}
    began = time.monotonic()
    _add_settings(connection, settings, as_of)
    seconds["settings"] = time.monotonic() - began
    for step in STEPS:
        began = time.monotonic()
        connection.execute((SQL / f"{step}.sql").read_text(encoding="utf-8"))
        if step == "queue_events":
            connection.execute("SET VARIABLE has_queue_events = EXISTS (FROM queue_events)")
        if step in WRITTEN:
            path = str(out / f"{step}.parquet")
            connection.execute(
                f"COPY (SELECT {WRITTEN[step]} FROM {step}) TO '{path}' (FORMAT parquet, COMPRESSION snappy)"
            )
        seconds[step] = time.monotonic() - began
    connection.close()
    return seconds


def _require_supported(settings: Settings) -> None:
    if settings.receive.top or settings.transmission.starvation or settings.transmission.blocks:
        raise ConfigError(f"{settings.path}: the peer knows neither receive.top, starvation nor blocks")
    others = {source.format for source in settings.inputs.by_name().values()} - {"parquet"}
    if others:
        raise ConfigError(f"{settings.path}: the peer reads Parquet, not {', '.join(sorted(others))}")


def _add_settings(connection: duckdb.DuckDBPyConnection, settings: Settings, as_of: datetime) -> None:
    """Make catalog, rules and as_of known, and the inputs as views."""
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(f"SET VARIABLE as_of = TIMESTAMPTZ '{as_of.isoformat()}'")
    catalog = settings.catalog
    text, flag, time_type = pa.string(), pa.bool_(), pa.timestamp("us", "UTC")
    place = {"instance": text, "database": text}
    rule = dict.fromkeys(("name", "contract", "local_service", "remote_service"), text)
    versions = [
        (
            version.instance,
            version.database,
            *(getattr(version, name) for name in rule),
            version.level,
            version.valid_from,
            version.valid_to,
        )
        for version in settings.rule_history
    ]
    tables: dict[str, tuple[Iterable[Sequence[Any]], dict[str, pa.DataType]]] = {
        "databases": (catalog.database_rows(), {**place, "honors": flag}),
        "queues": (catalog.queue_rows(), {**place, "queue": text, "is_on": flag}),
        "services": (catalog.service_bindings(), {**place, "service": text, "queue": text}),
        "rules": (
            versions,
            {**place, **rule, "level": pa.int32(), "valid_from": time_type, "valid_to": time_type},
        ),
    }
    for name, (rows, types) in tables.items():
        connection.register("given", _arrow(rows, types))
        connection.execute(f"CREATE TABLE {name} AS FROM given")
        connection.unregister("given")
    for view, source in INPUTS.items():
        connection.execute(f"CREATE VIEW {view} AS {_rows_of(settings, source)}")


def _rows_of(settings: Settings, source: str) -> str:
    """A query for all rows of an input; none if the settings do not name it."""
    if source in settings.inputs.by_name():
        files = f"{settings.inputs.by_name()[source].path}/**/*.parquet"
        return (
            f"SELECT *, file_index, file_row_number FROM read_parquet('{files}', hive_partitioning = false)"
        )
    names = {"string": "VARCHAR", "timestamp": "TIMESTAMPTZ"}
    columns = CONTRACTS[source].columns
    nothing = ["NULL::BIGINT AS file_index, NULL::BIGINT AS file_row_number"]
    nothing += [f"NULL::{names.get(column.type, column.type)} AS {column.name}" for column in columns]
    return f"SELECT {', '.join(nothing)} WHERE false"


def _arrow(rows: Iterable[Sequence[Any]], types: dict[str, pa.DataType]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(types)
    return pa.table(
        {name: pa.array(values, type) for (name, type), values in zip(types.items(), columns, strict=True)}
    )


def main(argv: Sequence[str]) -> int:
    """Parse the command line, run, and say the seconds of each step as the jobs do."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--config", required=True)
    parser.add_argument("--as-of", required=True, type=instant)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory", default="4GiB")
    options = parser.parse_args(argv)
    settings = load_settings(options.config)
    seconds = run(settings, options.as_of, options.out, threads=options.threads, memory=options.memory)
    for step, value in seconds.items():
        print(f"{step} done in {value:.1f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
