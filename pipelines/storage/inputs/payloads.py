"""What is stored of a rejected row: the declared columns as they came, and never another one.

A column that no contract declares may be a message's body. A line that is no row has no columns, so nothing
of its text is stored.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession, functions as F

from pipelines.config.model import Format
from pipelines.engine.files import checked_text
from pipelines.server.snapshots.places import PLACE
from pipelines.storage.inputs import csv_rows, json_lines
from pipelines.storage.inputs.text_copies import TOO_LONG
from schemas import EventContract
from schemas.table import Column as Declared, optional

HANDLE = optional("conversation_handle", "string", "handle of a mapped message")


def with_payload(rows: DataFrame, contract: EventContract, format: Format) -> DataFrame:
    """Add `payload`: the declared columns of each row as JSON, without those that are null.

    Args:
        rows: rejected rows, as `pipelines.storage.inputs.read` gives them; few.
        contract: the input's contract.
        format: how its files are written. Columns of text are as they were written, others as they were read.
    """
    if "payload" in rows.columns:
        return rows.withColumn("payload", payload_of_mapped(rows, contract))
    if format == "json":
        rows = json_lines.with_payload(rows, contract)
    elif format == "csv":
        rows = csv_rows.with_fields(rows).withColumn(
            "payload", F.to_json(csv_rows.values_as_written(contract))
        )
    else:
        values = [readable(each, rows.sparkSession).alias(each.name) for each in contract.columns]
        return rows.withColumn("payload", F.to_json(F.struct(*values)))
    return rows.withColumn("payload", F.coalesce("payload", describe_line("raw")))


def payload_of_mapped(rows: DataFrame, contract: EventContract, kept: Sequence[Declared] = ()) -> Column:
    """What could not be read as it was written, else the mapped values, the handle and what a log keeps.

    A database has the name by which its row calls it, without an alias.
    """
    named = [*contract.columns, *([HANDLE] if HANDLE.name not in contract.names else []), *kept]
    own = {name: F.coalesce(f"own_{name}", name) for name in PLACE if f"own_{name}" in rows.columns}
    values = [
        readable(each, rows.sparkSession, own.get(each.name)).alias(each.name)
        for each in named
        if each.name in rows.columns
    ]
    return F.coalesce("payload", F.to_json(F.struct(*values)))


def describe_line(line: str) -> Column:
    """What is stored of a line that is no row, as JSON: its length, and a hash that tells it from others."""
    text = F.col(line)
    told = F.to_json(F.struct(F.length(text).alias("characters"), F.sha2(text, 256).alias("sha256")))
    return F.when(F.startswith(text, F.lit(TOO_LONG)), F.substr(text, F.lit(len(TOO_LONG) + 1))).otherwise(
        told
    )


def readable(column: Declared, spark: SparkSession, value: Column | None = None) -> Column:
    """The value of a column, or another one for it, as its JSON is to have it."""
    value = F.col(column.name) if value is None else value
    if column.type == "string":
        return checked_text(value, spark)[0]
    if column.type == "timestamp":
        # Left as it is, Spark would write it to the millisecond, and rows that differ in less would be one.
        return F.concat(F.replace(value.cast("string"), F.lit(" "), F.lit("T")), F.lit("Z"))
    return value
