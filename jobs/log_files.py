"""The files of a made-up log: one format each, under names that don't depend on the run."""

import shutil
from pathlib import Path

from pyspark.sql import DataFrame, functions as F

from schemas.events import CONTRACTS

FORMATS = {"json": "json", "csv": "csv", "parquet": "parquet", "delta": "parquet"}
"""The formats, and the endings of their data files."""

TIMESTAMP = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"


def write(frame: DataFrame, source: str, path: Path, *, format: str) -> None:
    """Write one folder per slice, with names that Spark chooses."""
    columns = [
        F.col(column.name).cast(column.type).alias(column.name) for column in CONTRACTS[source].columns
    ]
    if format == "json":
        line = F.to_json(F.struct(*columns), {"timestampFormat": TIMESTAMP})
        # A broken row is a line that was cut off.
        cut = F.substring(line, F.lit(1), F.floor(F.length(line) * 0.7).cast("int"))
        frame = frame.select("slice", F.when(F.col("broken"), cut).otherwise(line).alias("value"))
        frame.write.partitionBy("slice").text(str(path))
    elif format == "csv":
        # A broken row has a time that is none.
        time = F.date_format("event_time", TIMESTAMP)
        text = F.when(F.col("broken"), F.lit("not a time")).otherwise(time).alias("event_time")
        columns = [
            text if column.name == "event_time" else c
            for column, c in zip(CONTRACTS[source].columns, columns, strict=True)
        ]
        frame.select("slice", *columns).write.partitionBy("slice").csv(str(path), header=True)
    else:
        frame.where(~F.col("broken")).select("slice", *columns).write.partitionBy("slice").parquet(str(path))


def name(partial: Path, out: Path, source: str, *, format: str, daily: bool) -> None:
    """Give the files of a source names that only depend on the slice and the task that wrote them."""
    for folder in sorted(partial.glob("slice=*")) if daily else [partial]:
        night = folder.name.removeprefix("slice=")
        target = out / f"night={night}" / source if daily else out / source
        target.mkdir(parents=True)
        prefix = night if daily else "part"
        # Spark's own names begin with part-, the number of the task and a dash.
        for number, file in enumerate(sorted(folder.rglob("part-*"))):
            file.rename(target / f"{prefix}-{number:05d}.{FORMATS[format]}")
    shutil.rmtree(partial)
    if daily:
        (out / source).mkdir()
