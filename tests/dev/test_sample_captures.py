"""The captures in samples are those of the generator, and tell the story that it describes."""

import json
from collections import Counter

import pytest

from dev.sample_captures import FEED, FOLDER, GOLD, STANDARD, sample_captures
from tests.support.factories import Row

MORNINGS = [f"SQL1-202611{day}T073000Z.jsonl" for day in (23, 24)]


def rows_of(name: str, view: str) -> list[Row]:
    lines = map(json.loads, (FOLDER / name).read_text(encoding="ascii").splitlines())
    return [
        each["row"]
        for each in lines
        if "row" in each and (each["database"], each["view"]) == ("Claims", view)
    ]


def test_the_files_are_those_of_the_generator() -> None:
    """python -m dev.sample_captures writes them again."""
    files = {path.name: path.read_text(encoding="ascii") for path in FOLDER.iterdir()}
    assert {name: text.splitlines() for name, text in files.items()} == sample_captures()
    assert max(map(len, files.values())) < 200_000


def test_the_gold_rule_is_newer_than_the_pool() -> None:
    rules = [
        {row["name"]: row["priority"] for row in rows_of(name, "conversation_priorities")}
        for name in MORNINGS
    ]
    assert rules == [{"NightlyFeed": 6}, {"GoldClaims": 9, "NightlyFeed": 6}]
    first, second = (
        {row["conversation_handle"]: row["priority"] for row in endpoints if row["far_service"] == GOLD}
        for endpoints in (rows_of(name, "conversation_endpoints") for name in MORNINGS)
    )
    assert first == second
    assert Counter(first.values()) == {5: 40}


@pytest.mark.parametrize(("name", "waiting"), [(MORNINGS[0], (22, 60, 6)), (MORNINGS[1], (64, 90, 14))])
def test_the_feed_is_ahead_of_gold(name: str, waiting: tuple[int, int, int]) -> None:
    endpoints = rows_of(name, "conversation_endpoints")
    sender = {row["conversation_handle"]: row["far_service"] for row in endpoints}
    messages = sorted(rows_of(name, "queue"), key=lambda row: row["message_enqueue_time"])
    found = Counter((sender[row["conversation_handle"]], row["priority"]) for row in messages)
    assert found == dict(zip([(GOLD, 5), (FEED, 6), (STANDARD, 5)], waiting, strict=True))
    order = [row["queuing_order"] for row in messages]
    assert order == sorted(order)
