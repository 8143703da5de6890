"""Folding: events in pieces, in any order, some twice, give the rows that all of them give at once."""

from collections.abc import Callable
from functools import reduce
from random import Random

import pytest
from pyspark.sql import DataFrame, SparkSession, functions as F

from pipelines.ledger.endpoints import fold_endpoints
from pipelines.ledger.messages import fold_messages
from pipelines.ledger.priorities import keep_or_resolve
from pipelines.ledger.transactions import fold_transactions
from schemas import CONTRACTS, TABLES
from tests.factories import (
    Events,
    Row,
    at,
    by_source,
    endpoint_event,
    message_event,
    queue_event,
    rule,
)
from tests.harness import one_log
from tests.strategies.logs import split
from tests.test_against_model import random_logs

PIECES = 3


def events(spark: SparkSession, source: str, rows: list[Row]) -> DataFrame:
    """Accepted events, as far as folds look at them."""
    columns = ", ".join(f"`{column.name}` {column.type}" for column in CONTRACTS[source].columns)
    return spark.createDataFrame(rows, columns).withColumn("event_date", F.to_date("event_time"))


def nothing(spark: SparkSession, table: str) -> DataFrame:
    return spark.createDataFrame([], TABLES[table].struct)


def rows(frame: DataFrame, *left_out: str) -> list[str]:
    return sorted(str(row) for row in frame.drop(*left_out).collect())


class Ledger:
    """Rows as a night leaves them to the next one."""

    def __init__(self, spark: SparkSession, rules: DataFrame) -> None:
        self.spark, self.rules = spark, rules
        self.endpoints, self.early = nothing(spark, "endpoints"), nothing(spark, "early_facts")
        self.messages = nothing(spark, "messages")
        self.transactions = nothing(spark, "transactions")

    def fold(self, night: Events) -> "Ledger":
        """Fold a night's events into the rows, in the job's order."""
        endpoint_events, message_events, queue_events = (
            events(self.spark, source, night[source]) for source in CONTRACTS
        )
        self.transactions = fold_transactions(self.transactions, queue_events).localCheckpoint()
        old = self.messages.withColumns(
            {"ended_on": F.lit(None).cast("date"), "dropped_on": F.lit(None).cast("date")}
        )
        outcomes = self.transactions.select("instance", "transaction_id", "committed_at", "rolled_back_at")
        self.messages = fold_messages(
            old, message_events, outcomes, every_receive_counts=False
        ).localCheckpoint()
        folded = fold_endpoints(self.endpoints, self.early, endpoint_events, message_events).localCheckpoint()
        known = folded.where("created_at is not null")
        self.endpoints = keep_or_resolve(known, self.rules).localCheckpoint()
        self.early = folded.where("created_at is null").select(*TABLES["early_facts"].names)
        return self

    def contents(self) -> dict[str, list[str]]:
        """The rows of each table; last_fact_on may miss messages that came before all of their endpoints."""
        return {
            "transactions": rows(self.transactions),
            "messages": rows(self.messages),
            "endpoints": rows(self.endpoints, "last_fact_on"),
            "early_facts": rows(self.early, "last_fact_on"),
        }


def rule_frame(spark: SparkSession, *rules: Row) -> DataFrame:
    return spark.createDataFrame(list(rules), TABLES["priority_rules"].struct)


@pytest.mark.slow
def test_pieces_in_any_order_give_the_rows_of_the_whole(spark: SparkSession) -> None:
    log = one_log(random_logs(40, 31))
    gold = [rule("Gold", 9, instance=f"{number:02d}.SQL1", database="Sales") for number in range(40)]
    rules = rule_frame(spark, *gold)
    whole = Ledger(spark, rules).fold(log.events)
    pieces = split(log.events, PIECES, Random(31))
    folded = reduce(Ledger.fold, pieces, Ledger(spark, rules))
    found, expected = folded.contents(), whole.contents()
    assert {table: len(each) > 3 for table, each in expected.items()} == dict.fromkeys(expected, True)
    for table in expected:
        assert [row for row in found[table] if row not in expected[table]] == [], table
        assert len(found[table]) == len(expected[table]), table


@pytest.mark.slow
def test_stored_priorities_stay_until_what_they_came_from_changes(spark: SparkSession) -> None:
    ledger = Ledger(spark, rule_frame(spark, rule("Old", 9, valid_from=at(-10))))
    begun = [endpoint_event(conversation=name, event_time=at(0)) for name in ("same", "earlier", "other")]
    ledger.fold(by_source(*begun, message_event(), queue_event()))
    ledger.rules = rule_frame(spark, rule("New", 3, valid_from=at(-30)))
    ledger.fold(
        by_source(
            endpoint_event(conversation="same", event_id="later", event_time=at(5)),
            endpoint_event("END_CONVERSATION", "same", event_time=at(6)),
            endpoint_event(conversation="earlier", event_id="earlier", event_time=at(-20)),
            endpoint_event(conversation="other", event_id="A", event_time=at(0), contract="Other"),
            message_event(),
            queue_event(),
        )
    )
    found = {row.conversation_id: (row.priority, row.rule_name) for row in ledger.endpoints.collect()}
    assert found == {"same": (9, "Old"), "earlier": (3, "New"), "other": (3, "New")}


def closed_on(spark: SparkSession, *message_events: Row, ends: Row | None = None) -> str | None:
    """The day on which message c1/0 was closed; transactions end five days after it."""
    old = nothing(spark, "messages").withColumns(
        {name: F.lit(None).cast("date") for name in ("ended_on", "dropped_on")}
    )
    outcomes = spark.createDataFrame(
        [("SQL1", "commits", at(0, day=5), None), ("SQL1", "rolls back", None, at(0, day=5))],
        "instance string, transaction_id string, committed_at timestamp, rolled_back_at timestamp",
    )
    if ends is not None:
        first = fold_messages(
            old, events(spark, "message_events", list(message_events)), outcomes, every_receive_counts=False
        )
        old = first.withColumns({name: F.lit(day).cast("date") for name, day in ends.items()})
    folded = fold_messages(
        old, events(spark, "message_events", list(message_events)), outcomes, every_receive_counts=False
    )
    (row,) = folded.collect()
    return None if row.closed_on is None else str(row.closed_on)


Case = tuple[list[Row], Row | None, str | None]
DELIVERED = message_event("DELIVERED", event_time=at(0, day=1))
CASES: dict[str, Callable[[], Case]] = {
    "delivered": lambda: ([message_event(), DELIVERED], None, None),
    "received at once": lambda: ([message_event("RECEIVED", event_time=at(0, day=2))], None, "2026-11-22"),
    "in flight": lambda: ([message_event("RECEIVED", transaction_id="open")], None, None),
    "committed later": lambda: ([message_event("RECEIVED", transaction_id="commits")], None, "2026-11-25"),
    "rolled back": lambda: ([message_event("RECEIVED", transaction_id="rolls back")], None, None),
    "receiver ended": lambda: (
        [DELIVERED],
        {"ended_on": "2026-11-23", "dropped_on": None},
        "2026-11-23",
    ),
    "receiver ended, rolled back later": lambda: (
        [message_event("RECEIVED", transaction_id="rolls back")],
        {"ended_on": "2026-11-23", "dropped_on": None},
        "2026-11-25",
    ),
    "receiver ended, still in flight": lambda: (
        [message_event("RECEIVED", transaction_id="open")],
        {"ended_on": "2026-11-23", "dropped_on": None},
        None,
    ),
    "dropped": lambda: ([message_event()], {"ended_on": None, "dropped_on": "2026-11-24"}, "2026-11-24"),
    "dropped after it arrived": lambda: ([DELIVERED], {"ended_on": None, "dropped_on": "2026-11-24"}, None),
    "received, but being forwarded": lambda: (
        [message_event("RECEIVED"), message_event("FORWARD_ACCEPTED", instance="SQL2")],
        None,
        None,
    ),
    "received and forwarded": lambda: (
        [
            message_event("RECEIVED"),
            message_event("FORWARD_ACCEPTED", instance="SQL2"),
            message_event("FORWARDED", instance="SQL2", event_time=at(0, day=4)),
        ],
        None,
        "2026-11-24",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_message_is_closed_on_the_last_day_that_anything_happened_to_it(
    spark: SparkSession, case: str
) -> None:
    message_events, ends, expected = CASES[case]()
    assert closed_on(spark, *message_events, ends=ends) == expected
