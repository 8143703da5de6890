"""The sample's packing station: its readers keep to the levels, but for one thing of each kind."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from dev.generator import presets
from dev.generator.log import pieces
from dev.generator.plan import Plan, Volume
from dev.generator.rush import Station
from dev.generator.rush_log import rush_tables
from dev.generator.world import Rush
from schemas.events import CONTRACTS
from tests.support.packing import Row


def plan_of(seed: int) -> Plan:
    return presets.sample(Volume(messages=200, start=datetime(2026, 11, 20, tzinfo=UTC), seed=seed))


def rush_of(plan: Plan) -> Rush:
    assert plan.world.rush is not None
    return plan.world.rush


@pytest.fixture(scope="module")
def rows() -> dict[str, list[Row]]:
    plan = plan_of(1)
    return {source: table.to_pylist() for source, table in rush_tables(rush_of(plan), plan=plan)}


def passed_by_tasks(rows: dict[str, list[Row]]) -> list[Row]:
    """RECEIVEs of the two tasks while a group that was logged with a higher level was free, in order."""
    created = [row for row in rows["endpoint_events"] if row["event_type"] == "DIALOG_CREATED"]
    group_of = {row["conversation_id"]: row["conversation_group_id"] for row in created}
    level_of = {row["conversation_group_id"]: row["logged_priority"] for row in created}
    happened = [row for row in rows["queue_events"] if row["queue"] == "PackingQueue"] + [
        row for row in rows["message_events"] if row["event_type"] == "DELIVERED" and row["sent_by_initiator"]
    ]
    ready, held, found = Counter[str](), dict[str, tuple[str, int]](), []
    tasks = sorted({row["session_id"] for row in happened if row["event_type"] == "TASK_STARTED"})
    for row in sorted(happened, key=lambda row: row["event_time"]):
        group = row.get("conversation_group_id")
        if row["event_type"] == "DELIVERED":
            ready[group_of[row["conversation_id"]]] += 1
        elif row["event_type"] == "RECEIVE" and group:
            locked = {other for other, _ in held.values()}
            better = [each for each in +ready if each not in locked and level_of[each] > level_of[group]]
            if better and row["session_id"] in tasks:
                found.append({**row, "goes_on": group in locked, "passed": better})
            held[row["transaction_id"]] = group, ready.pop(group)
        elif row["event_type"] in ("COMMIT", "ROLLBACK"):
            group, taken = held.pop(row["transaction_id"])
            ready[group] += taken * (row["event_type"] == "ROLLBACK")
    return found


def test_the_tasks_keep_to_the_logged_levels_but_where_something_is_injected(rows):
    rush = rush_of(plan_of(1))
    found = passed_by_tasks(rows)
    assert sum(row["goes_on"] for row in found) == len(rush.going_on)
    others = [row for row in found if not row["goes_on"]]
    assert len(others) == len(rush.late) + len(rush.sending)
    assert all(len(row["passed"]) == 1 for row in others)
    # Each injected answer is near a receive that passed its group.
    sent = [row for row in rows["message_events"] if row["event_type"] == "SENT"]
    answered_at = [row["event_time"] for row in sent if not row["sent_by_initiator"]]
    assert len(answered_at) == 3
    for answered in answered_at:
        assert any(0 < (answered - row["event_time"]).total_seconds() < 0.01 for row in found)


def test_the_log_is_that_of_real_readers_and_of_an_operator_who_names_what_he_receives(rows):
    events = rows["queue_events"]
    named = [row["event_type"] for row in events if row["has_where"]]
    assert named == ["RECEIVE"] * len(rush_of(plan_of(1)).by_hand)
    counted = Counter(row["event_type"] for row in events)
    assert counted["TASK_STARTED"] == counted["TASK_EXITED"] == 2
    assert counted["WAIT_STARTED"] == counted["WAIT_ENDED"] > 100
    assert counted["ROLLBACK"] >= 3
    nothing = [row for row in events if row["row_count"] == 0]
    assert len(nothing) >= 20
    assert not any(row["conversation_group_id"] or row["transaction_id"] for row in nothing)


def test_what_is_required_is_there(rows):
    for source, contract in CONTRACTS.items():
        required = [column.name for column in contract.columns if not column.nullable]
        assert [name for name in required if any(row[name] is None for row in rows[source])] == []
        assert len({row["event_id"] for row in rows[source]}) == len(rows[source])


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
