"""How many messages and conversations have each cause, in each place and in all."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from pyspark.sql import DataFrame, functions as F

from pipelines.engine.concurrency import run_concurrently
from pipelines.state.events_before import DIGITS, moment_of
from pipelines.storage.collect import collect_rows
from pipelines.why.cause_bits import codes_of, has_any
from pipelines.why.causes import BY_CODE, CODES
from pipelines.why.causes.cause import Teller
from pipelines.why.places import PLACE, Place, Row, place_of


@dataclass(frozen=True)
class Counts:
    """Causes and conversations of places, and of all places together, whose place is None.

    Attributes:
        causes: a row a place and code: `code`, `severity`, `messages`, those that are only `forwarded`,
            `conversations`, `since` and `known_since` (the first of its messages), and `example_message_id`,
            the message that has waited longest, then the first message_id.
        conversations: those that have open messages.
    """

    causes: Sequence[tuple[Place | None, Row]]
    conversations: Mapping[Place | None, int]


def count_causes(rows: DataFrame, teller: Teller, *, are_all_counted: bool = True) -> Counts:
    """Count messages and conversations of each cause, with its oldest message and severity.

    The oldest message of all places decides the severity of all, which is then the worst of its places.

    Args:
        rows: `explained_rows`.
        teller: by what the severity is decided.
        are_all_counted: whether the causes of all places together are counted, too.
    """
    of_places, conversations, *of_all = run_concurrently(
        rows.sparkSession,
        partial(_count_messages, rows),
        partial(_count_conversations, rows, PLACE),
        *([partial(_count_conversations, rows, ())] if are_all_counted else []),
    )
    counted = _by_code(of_places)
    if are_all_counted:
        counted |= _by_code([{**row, **dict.fromkeys(PLACE)} for row in of_places])
    numbers = {_place(row): row for row in [*conversations, *(row for each in of_all for row in each)]}
    causes = [
        (
            place,
            {
                **row,
                "conversations": numbers[place][code] if place in numbers else 0,
                "severity": BY_CODE[code].severity_of(row["known_since"], teller),
            },
        )
        for (place, code), row in counted.items()
    ]
    return Counts(causes, {place: row["conversations"] for place, row in numbers.items()})


def _count_messages(rows: DataFrame) -> list[Row]:
    """One row a place and combination of causes, of which there are few."""
    return collect_rows(
        rows.groupBy(*PLACE, "causes").agg(
            F.count(F.lit(1)).alias("messages"),
            F.count_if(F.col("state") == "forwarded").alias("forwarded"),
            F.min(F.concat(moment_of("since"), "message_id")).alias("oldest"),
            F.min("since").alias("since"),
            F.min(F.coalesce("known_since", "since")).alias("known_since"),
        )
    )


def _count_conversations(rows: DataFrame, by: Iterable[str]) -> list[Row]:
    """One row a place, or one for all: `conversations`, and those of each cause, by its code."""
    of_one = rows.where("conversation_id is not null").groupBy(*by, "conversation_id")
    causes = of_one.agg(F.bit_or("causes").alias("causes"))
    of_codes = [F.count(F.when(has_any([code]), 1)).alias(code) for code in CODES]
    return collect_rows(causes.groupBy(*by).agg(F.count(F.lit(1)).alias("conversations"), *of_codes))


def _by_code(rows: Iterable[Row]) -> dict[tuple[Place | None, str], Row]:
    """The sums and first messages of each place and code."""
    found: dict[tuple[Place | None, str], Row] = {}
    for row in rows:
        for code in codes_of(row["causes"]):
            key = _place(row), code
            found[key] = _add(found[key], row) if key in found else {**row, "code": code}
    for row in found.values():
        row["example_message_id"] = (row.pop("oldest") or "")[DIGITS:]
        del row["causes"]
    return found


def _add(one: Row, other: Row) -> Row:
    """The sum of the messages, and the first of all moments that are known."""
    first = {}
    for name in ("oldest", "since", "known_since"):
        first[name] = min((row[name] for row in (one, other) if row[name] is not None), default=None)
    sums = {name: one[name] + other[name] for name in ("messages", "forwarded")}
    return {**one, **first, **sums}


def _place(row: Row) -> Place | None:
    return place_of(row) if row.get("kind") is not None else None
