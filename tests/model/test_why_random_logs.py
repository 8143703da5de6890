"""Random backlogs have every cause often, and answers about them keep their promises."""

from collections import Counter
from functools import cache
from typing import Any

import pytest

from tests.support.model.moment import Moment
from tests.support.model.why import CODES, EVERYTHING, SEVERITIES, Causes, Filters, causes_by_message, why
from tests.support.strategies.backlog_snapshots import backlog_snapshots
from tests.support.strategies.backlogs import ACTIVATION, backlog_log

LOGS, WITH_SNAPSHOTS = 200, 100
OF_SNAPSHOTS = ("transmission_status", "handle_unknown")
OF_SCENES = (
    "broker_disabled",
    "broker_changed",
    "conversations_gone",
    "monitor_dropped",
    "monitor_missing",
    "too_many_tasks",
)
"""Causes that no random log has; scenes and inputs from the field do."""
"""The causes that no log shows."""


@cache
def told(number: int, with_snapshots: bool = False) -> tuple[Moment, Causes]:
    """A log alone or beside snapshots, and its causes."""
    log = backlog_log(number)
    snapshots = backlog_snapshots(log, number) if with_snapshots else ()
    moment = Moment(log.events, **log.settings, activation_settings=ACTIVATION, snapshots=snapshots)
    return moment, causes_by_message(moment)


def codes(causes: Causes) -> set[str]:
    return {cause.code for own in causes.values() for cause in own}


def rare(counts: Counter[str], least: dict[str, int]) -> dict[str, int]:
    return {name: counts[name] for name, number in least.items() if counts[name] < number}


def test_each_cause_and_each_way_to_it_are_there() -> None:
    counts: Counter[str] = Counter()
    for number in range(LOGS):
        causes = told(number)[1]
        counts.update(codes(causes) | traits(causes))
    both_ways = (
        "rule_newer_than_endpoint", "rule_changed_since", "near_miss", "other_side_only", "no_rule",
        "queue_off", "more_specific_rule", "outranked", "own_group_first", "older_first", "first_in_line",
    )  # fmt: skip
    reasons = (
        "no_monitor", "activation_off", "max_queue_readers", "no_reader_started", "notified", "not_due",
    )  # fmt: skip
    least = {
        **{code: 20 for code in CODES if code not in (*OF_SNAPSHOTS, *OF_SCENES)},
        **{f"{code} of a message to {kind}": 8 for code in both_ways for kind in ("receive", "transmission")},
        "near in case and blanks": 40,
        "near in at most two characters": 20,
        "near_miss of two rules": 4,
        "a rule before it has gone": 4,
        "no rule is left": 8,
        "poison": 10,
        "off by the catalog": 20,
        "off since": 20,
        "several locked groups": 20,
        "session known": 20,
        "rolled back five times or more": 20,
        "older at a lower level": 4,
        "forwarded": 40,
        **{f"reason {reason}": 10 for reason in reasons},
        "last_receive known": 20,
    }
    assert rare(counts, least) == {}
    assert {code: counts[code] for code in OF_SNAPSHOTS} == dict.fromkeys(OF_SNAPSHOTS, 0)


def traits(causes: Causes) -> set[str]:
    found = {"forwarded"} if any(message.state == "forwarded" for message in causes) else set()
    locked = set()
    for message, own in causes.items():
        for cause in own:
            found.add(f"{cause.code} of a message to {message.kind}")
            first = cause.details[0] if cause.details else {}
            if cause.code == "near_miss":
                found |= {"near_miss of two rules"} if len(cause.details) > 1 else set()
                for row in cause.details:
                    names = [row[name].replace(" ", "").lower() for name in ("rule_has", "endpoint_has")]
                    same = names[0] == names[1]
                    found.add("near in case and blanks" if same else "near in at most two characters")
            if cause.code == "rule_changed_since":
                gone = first["rule"] != first["was_rule"] is not None
                found |= {"a rule before it has gone"} if gone and first["rule"] else set()
                found |= {"no rule is left"} if first["rule"] is None else set()
            if cause.code == "queue_off":
                found |= {"poison"} if first["poison_message_id"] else set()
                found.add("off since" if first["since"] else "off by the catalog")
            if cause.code == "group_locked":
                locked.add(first["conversation_group_id"])
                found |= {"session known"} if first["session_id"] else set()
            if cause.code == "rolled_back" and first["times"] >= 5:
                found.add("rolled back five times or more")
            if cause.code == "older_first" and any(
                (other.level or 0) < (message.level or 0) for other in cause.ahead
            ):
                found.add("older at a lower level")
            if cause.code == "not_received":
                found.add(f"reason {first['reason']}")
                found |= {"last_receive known"} if first["last_receive"] else set()
    return found | ({"several locked groups"} if len(locked) > 1 else set())


def test_snapshots_show_what_logs_do_not() -> None:
    counts: Counter[str] = Counter()
    for number in range(WITH_SNAPSHOTS):
        moment, causes = told(number, with_snapshots=True)
        counts.update(codes(causes) & {*OF_SNAPSHOTS})
        counts.update(_shown(moment, causes, told(number)[1]))
    expected = (*OF_SNAPSHOTS, "status of a forwarded message", "notified", "first seen")
    assert rare(counts, dict.fromkeys(expected, 10)) == {}


def _shown(moment: Moment, causes: Causes, before: Causes) -> set[str]:
    found = set()
    old = {(message.kind, message.place, message.message_id): own for message, own in before.items()}
    taken = {rule.valid_from for rule in moment.rules if rule.name in ("Shown", "Seen")}
    for message, own in causes.items():
        without = old.get((message.kind, message.place, message.message_id), [])
        reasons = [cause.details for cause in without if cause.code == "not_received"]
        for cause in own:
            first = cause.details[0] if cause.details else {}
            if cause.code == "transmission_status" and message.state == "forwarded":
                found.add("status of a forwarded message")
            if (
                cause.code == "not_received"
                and first["reason"] == "notified"
                and cause.details not in reasons
            ):
                found.add("notified")
            if cause.code == "rule_newer_than_endpoint" and first["since"] in taken:
                found.add("first seen")
    return found


@pytest.mark.parametrize("number", range(0, WITH_SNAPSHOTS, 5))
def test_figures_are_sums_over_the_tables(number: int) -> None:
    for moment, causes in (told(number), told(number, with_snapshots=True)):
        assert list(causes) == moment.open_messages
        assert all(causes.values())
        answer = why(moment, EVERYTHING, limit=1000)
        situation, places = answer["situation"], answer["places"]
        tables = (moment.receive_schedule, moment.transmission_schedule, moment.unresolved)
        placed = sum(map(len, tables[:2]))
        states = Counter(row["state"] for row in moment.receive_schedule)
        assert {state: situation["states"][state] for state in states} == states
        counted = {
            "states": sum(situation["states"].values()),
            "kinds": sum(row["messages"] for row in situation["kinds"]),
            "places": sum(place["situation"]["messages"] for place in places),
        }
        assert {*counted.values(), situation["messages"]} == {sum(map(len, tables))}
        assert sum(row["messages"] for row in situation["levels"]) == placed
        by_place = Counter[str]()
        for each in (answer, *places):
            of_codes = [(SEVERITIES.index(row["severity"]), -row["messages"]) for row in each["causes"]]
            assert of_codes == sorted(of_codes)
        for place in places:
            by_place.update({row["code"]: row["messages"] for row in place["causes"]})
            _require_ahead(moment, place)
        assert by_place == {row["code"]: row["messages"] for row in answer["causes"]}
        for row in answer["causes"]:
            if row["code"] not in ("outranked", "older_first", "near_miss"):
                assert sum(each["messages"] for each in row["details"]) == row["messages"]


def _require_ahead(moment: Moment, place: dict[str, Any]) -> None:
    ahead, kind = place["situation"]["ahead"], place["kind"]
    if ahead is None:
        return
    assert ahead["first"]["messages"] == 0
    rows = moment.receive_schedule if kind == "receive" else moment.transmission_schedule
    keys = ("instance", "database", "queue") if kind == "receive" else ("instance",)
    here = [
        row["position"] for row in rows if all(row[key] == place[key] for key in keys) and row["position"]
    ]
    assert ahead["median"]["messages"] == (max(here) - 1) // 2
    assert sum(each["messages"] for each in ahead["median"]["kinds"]) == ahead["median"]["messages"]


@pytest.mark.parametrize("number", range(0, LOGS, 20))
def test_filters_choose_after_the_causes(number: int) -> None:
    moment, causes = told(number)
    counted = Counter[str]()
    for conversation in {message.message.conversation_id for message in causes}:
        answer = why(moment, Filters(conversation=conversation))
        counted.update({row["code"]: row["messages"] for row in answer["causes"]})
    assert counted == {row["code"]: row["messages"] for row in why(moment)["causes"]}
