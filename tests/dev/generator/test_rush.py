"""The sample's packing station; `test_packing.py` finds what is injected into its log."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from dev.generator import presets
from dev.generator.log import pieces
from dev.generator.plan import Plan, Volume
from dev.generator.rush import Station
from dev.generator.rush_log import rush_tables
from dev.generator.world import Rush
from schemas.events import CONTRACTS


def plan_of(seed: int) -> Plan:
    return presets.sample(Volume(messages=200, start=datetime(2026, 11, 20, tzinfo=UTC), seed=seed))


def rush_of(plan: Plan) -> Rush:
    assert plan.world.rush is not None
    return plan.world.rush


@pytest.fixture(scope="module")
def tables() -> dict[str, pa.Table]:
    plan = plan_of(1)
    return dict(rush_tables(rush_of(plan), plan=plan))


def test_the_log_is_that_of_real_readers_and_of_an_operator_who_names_what_he_receives(tables):
    events = tables["queue_events"].to_pylist()
    named = [row["event_type"] for row in events if row["has_where"]]
    assert named == ["RECEIVE"] * len(rush_of(plan_of(1)).by_hand)
    counted = Counter(row["event_type"] for row in events)
    assert counted["TASK_STARTED"] == counted["TASK_EXITED"] == 2
    assert counted["WAIT_STARTED"] == counted["WAIT_ENDED"] > 100
    assert counted["ROLLBACK"] >= 3
    nothing = [row for row in events if row["row_count"] == 0]
    assert len(nothing) >= 20
    assert not any(row["conversation_group_id"] or row["transaction_id"] for row in nothing)


def test_what_is_required_is_there(tables):
    for source, contract in CONTRACTS.items():
        for column in contract.columns:
            assert column.nullable or tables[source][column.name].null_count == 0, column.name
        assert len(set(tables[source]["event_id"].to_pylist())) == len(tables[source])


@pytest.mark.parametrize("seed", [1, 2])
def test_every_message_is_committed_once_whatever_the_seed(seed):
    plan = plan_of(seed)
    station = Station(rush_of(plan), plan.volume.draws)
    station.play()
    committed = {step.transaction for step in station.steps if step.what == "COMMIT"}
    taken = Counter(
        (message.talk.number, message.turn)
        for step in station.steps
        if step.transaction in committed
        for message in step.messages
    )
    assert set(taken.values()) == {1}
    assert len(taken) == sum(len(talk.messages) for talk in station.talks)


def test_the_rest_of_the_log_is_as_without_it():
    plan = plan_of(1)
    without = Plan(replace(plan.world, rush=None), plan.volume)
    with_rush = list(pieces(plan, daily=True))
    rest = list(pieces(without, daily=True))
    assert [piece.columns for piece in with_rush[: len(rest)]] == [piece.columns for piece in rest]
    added = with_rush[len(rest) :]
    assert [piece.source for piece in added] == list(CONTRACTS)
    places = [(piece.source, piece.slice, piece.part) for piece in with_rush]
    assert len(set(places)) == len(places)
