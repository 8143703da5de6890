"""The captures in samples are those of the generator, and tell the story that it describes."""

import json
from collections import Counter

import pytest

from dev.sample_captures import FEED, FOLDER, GOLD, STANDARD, sample_captures
from tests.support.factories import Row

MORNINGS = [f"SQL1-202611{day}T073000Z.jsonl" for day in (23, 24)]


def rows_of(name: str, database: str, view: str) -> list[Row]:
    lines = map(json.loads, (FOLDER / name).read_text(encoding="ascii").splitlines())
    return [
        each["row"]
        for each in lines
        if "row" in each and (each["database"], each["view"]) == (database, view)
    ]


@pytest.mark.parametrize("name", sample_captures())
def test_the_files_are_those_of_the_generator(name: str) -> None:
    """python -m dev.sample_captures writes them again."""
    content = (FOLDER / name).read_bytes()
    assert content.decode("ascii").splitlines() == sample_captures()[name]
    assert len(content) < 200_000


def test_there_are_no_other_files() -> None:
    assert {path.name for path in FOLDER.iterdir()} == sample_captures().keys()


def test_the_gold_rule_is_newer_than_the_pool() -> None:
    rules = [
        {row["name"]: row["priority"] for row in rows_of(name, "Claims", "conversation_priorities")}
        for name in MORNINGS
    ]
    assert rules == [{"NightlyFeed": 6}, {"GoldClaims": 9, "NightlyFeed": 6}]
    gold = [
        {
            row["conversation_handle"]: row["priority"]
            for row in rows_of(name, "Claims", "conversation_endpoints")
            if row["far_service"] == GOLD
        }
        for name in MORNINGS
    ]
    assert gold[0] == gold[1]
    assert Counter(gold[0].values()) == {5: 40}


@pytest.mark.parametrize(("name", "waiting"), [(MORNINGS[0], (22, 60, 6)), (MORNINGS[1], (64, 90, 14))])
def test_the_feed_is_ahead_of_gold(name: str, waiting: tuple[int, int, int]) -> None:
    endpoints = rows_of(name, "Claims", "conversation_endpoints")
    sender = {row["conversation_handle"]: row["far_service"] for row in endpoints}
    messages = rows_of(name, "Claims", "queue")
    of = Counter((sender[row["conversation_handle"]], row["priority"]) for row in messages)
    assert of == dict(zip([(GOLD, 5), (FEED, 6), (STANDARD, 5)], waiting, strict=True))
    order = [row["queuing_order"] for row in sorted(messages, key=lambda row: row["message_enqueue_time"])]
    assert order == sorted(order)
