"""Why a row cannot be an event."""

from pyspark.sql import Column, DataFrame, functions as F

from schemas import EventContract

BROKEN_ROW = "broken_row"
UNKNOWN_EVENT_TYPE = "unknown_event_type"
CONTRADICTS_TYPE = "is_initiator_contradicts_event_type"
CONFLICTING_DUPLICATE = "conflicting_duplicate"

REASONS = {
    BROKEN_ROW: "a JSON line that is not one JSON object, or a CSV row of another width than its header",
    "unreadable_<column>": "the column's text is no value of its type, such as an event_time of 'yesterday'",
    "missing_<column>": "a column is null that may not be null for the row's event type",
    UNKNOWN_EVENT_TYPE: "event_type is none of the input's event types",
    CONTRADICTS_TYPE: "BEGIN_DIALOG of a target endpoint, or DIALOG_CREATED of an initiator endpoint",
    CONFLICTING_DUPLICATE: "another event of the same UTC day has the same event_id and other content",
}
"""Every reason of `rejected_events`, with one line each."""


def with_reasons(rows: DataFrame, contract: EventContract) -> DataFrame:
    """Say of each row why it cannot be an event of this contract.

    Args:
        rows: as `storage.event_files` gives them; one row per row of the input.
        contract: the input's contract.

    Returns:
        The rows, with `reasons`: an array of strings, empty where the row is an event. `broken` and
        `unreadable` are used up.

    The rules are those of the design, "Outputs"; broken rows and unreadable values are our choice.
    """
    verdicts = _verdicts(contract)
    none = F.array().cast("array<string>")
    unreadable = F.coalesce("unreadable", none)
    is_event = ~F.col("broken") & (F.size(unreadable) == 0) & F.coalesce(*verdicts).isNull()
    named = F.transform(unreadable, lambda name: F.concat(F.lit("unreadable_"), name))
    # Functions over arrays are interpreted and slow: rows that are events, nearly all, go without.
    whole = (
        F.when(is_event, none)
        .when(F.col("broken"), F.array(F.lit(BROKEN_ROW)))
        .otherwise(F.concat(named, F.array_compact(F.array(*verdicts))))
    )
    return rows.withColumn("reasons", whole).drop("broken", "unreadable")


def _verdicts(contract: EventContract) -> list[Column]:
    """One column per rule: null where all is well."""
    event_type = F.col("event_type")
    verdicts = []
    for column in contract.columns:
        types = [type for type, names in contract.required_for.items() if column.name in names]
        if column.nullable and not types:
            continue
        needed = F.lit(True) if not column.nullable else event_type.isin(types)
        missing = needed & F.col(column.name).isNull() & ~_unreadable(column.name)
        verdicts.append(F.when(missing, F.lit(f"missing_{column.name}")))
    verdicts.append(F.when(~event_type.isin(*contract.event_types), F.lit(UNKNOWN_EVENT_TYPE)))
    if "is_initiator" in contract.names:
        contradicts = ((event_type == "BEGIN_DIALOG") & ~F.col("is_initiator")) | (
            (event_type == "DIALOG_CREATED") & F.col("is_initiator")
        )
        verdicts.append(F.when(contradicts, F.lit(CONTRADICTS_TYPE)))
    return verdicts


def _unreadable(name: str) -> Column:
    return F.coalesce(F.array_contains("unreadable", name), F.lit(False))
