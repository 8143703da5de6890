"""Leaked conversations: endpoints that no application ends, and that a server keeps."""

import json
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession, functions as F

from pipelines.commands import questions
from pipelines.questions.leak_script import script_lines
from pipelines.questions.leaks import (
    ENDPOINT_COLUMNS,
    count_leaks,
    find_leaks,
    group_leaks,
    read_leaking,
    read_leaks,
    report_leaks,
)
from pipelines.questions.view import print_leaks
from pipelines.storage.collect import collect_rows
from schemas.keys import QUEUE
from tests.support.factories import at, catalog, endpoint_event, message_event
from tests.support.frames import assert_same, frame, instant
from tests.support.harness import Project
from tests.support.written import ended_run, endpoint, warehouse_of

ENDPOINTS = """
conversation_id | is_initiator boolean | created_at timestamp  | ended_at timestamp | expires_at timestamp
far log         | true                 | 11-10 12:00           | -                  | -
far error       | true                 | 11-10 12:00           | -                  | -
far just now    | true                 | 11-10 12:00           | -                  | -
far snapshot    | true                 | 11-10 12:00           | -                  | -
far later       | true                 | 11-10 12:00           | -                  | -
far, own open   | true                 | 12:10                 | -                  | -
inbound         | true                 | 12:10                 | -                  | -
inbound, unread | true                 | 12:10                 | -                  | -
inbound, new    | true                 | 12:10                 | -                  | -
inbound, alone  | true                 | 12:10                 | -                  | -
failed          | true                 | 12:10                 | -                  | -
outbound        | true                 | 11-10 12:00           | 12:45              | -
outbound, young | true                 | 11-10 12:00           | 12:45              | -
outbound, alone | true                 | 11-10 12:00           | 12:45              | -
closed          | true                 | 11-10 12:00           | 12:00              | -
just closed     | true                 | 11-10 12:00           | 12:15              | -
closed, alone   | true                 | 12:10                 | 12:15              | -
expired         | true                 | 12:10                 | -                  | 12:59
not expired     | true                 | 12:10                 | -                  | 13:01
ended           | true                 | 11-10 12:00           | 12:00              | -
ends            | true                 | 11-10 12:00           | 13:00              | -
idle            | false                | 11-10 12:00           | -                  | -
lively          | false                | 11-10 12:00           | -                  | -
left            | false                | 11-10 12:00           | -                  | -
young           | false                | 11-19 13:00:00.000001 | -                  | -
new             | false                | 13:00                 | -                  | -
"""
ENDS = """
conversation_id | event_type                  | is_initiator boolean | event_time timestamp | seen_at timestamp
far log         | END_CONVERSATION            | false                | 10:00                | -
far log         | END_CONVERSATION            | false                | 11:00                | 11:30
far error       | END_CONVERSATION_WITH_ERROR | false                | 12:00                | -
far just now    | END_CONVERSATION            | false                | 12:00:00.000001      | -
far snapshot    | END_CONVERSATION            | false                | 10:00                | 10:00
far later       | END_CONVERSATION            | false                | 13:00                | -
far, own open   | END_CONVERSATION            | false                | 10:00                | -
inbound         | END_CONVERSATION            | false                | 11:00                | 11:00
lively          | MOVE_CONVERSATION           | true                 | 12:00                | -
"""  # noqa: E501
MESSAGES = """
conversation_id | event_time timestamp  | inferred boolean | seen_at timestamp
idle            | 11-19 13:00           | -                | -
far later       | 13:00                 | -                | -
lively          | 11-19 13:00:00.000001 | -                | -
left            | 12:00                 | true             | 12:30
far log         | 12:59                 | -                | -
"""
SHOWN = """
conversation_id | is_initiator boolean | shown_state | shown_at timestamp | first_seen timestamp
far, own open   | true                 | CO          | 12:45              | 11:00
inbound         | true                 | DI          | 12:45              | 11:45
inbound, unread | true                 | DI          | 12:45              | -
inbound, new    | true                 | DI          | 12:45              | 12:45
inbound, alone  | true                 | DI          | 12:45              | -
failed          | true                 | ER          | 12:45              | 11:00
outbound        | true                 | DO          | 12:45              | 12:45
outbound, young | true                 | DO          | 12:45              | 11-19 12:46
outbound, alone | true                 | DO          | 12:45              | -
closed          | true                 | CD          | 12:45              | 12:14
just closed     | true                 | CD          | 12:45              | 12:15
closed, alone   | true                 | CD          | 12:45              | -
"""
ENDINGS = """
conversation_id | is_initiator boolean | unread_since timestamp | unsent_since timestamp
inbound, unread | true                 | 11:00                  | -
outbound        | true                 | -                      | 11-19 12:45
"""
LEAKS = """
conversation_id | state | reason           | since timestamp | far_ended_at timestamp | far_ended_by
far log         | DI    | far_side_ended   | 10:00           | 10:00                  | log
far error       | ER    | error            | 12:00           | 12:00                  | log
far snapshot    | DI    | far_side_ended   | 10:00           | 10:00                  | snapshot
inbound         | DI    | far_side_ended   | 11:45           | 11:00                  | snapshot
inbound, unread | DI    | far_side_ended   | 11:00           | -                      | -
inbound, alone  | DI    | since_not_known  | -               | -                      | -
failed          | ER    | error            | 11:00           | -                      | -
outbound        | DO    | not_acknowledged | 11-19 12:45     | -                      | -
outbound, alone | DO    | since_not_known  | -               | -                      | -
closed          | CD    | closed           | 12:14           | -                      | -
closed, alone   | CD    | since_not_known  | -               | -                      | -
expired         | -     | lifetime_over    | 12:59           | -                      | -
far later       | -     | no_traffic       | 11-10 12:00     | -                      | -
ends            | -     | no_traffic       | 11-10 12:00     | -                      | -
idle            | -     | no_traffic       | 11-19 13:00     | -                      | -
left            | -     | no_traffic       | 11-10 12:00     | -                      | -
"""


def found(session: SparkSession, messages: str = MESSAGES, **options: Any) -> DataFrame:
    named = ["conversation_id", "is_initiator", "created_at", "ended_at", "expires_at"]
    rest = [F.lit("x").alias(name) for name in ENDPOINT_COLUMNS if name not in named]
    endpoints = frame(session, ENDPOINTS).select(*named, *rest)
    given = (endpoints, frame(session, ENDS), frame(session, messages))
    shown, endings = frame(session, SHOWN), frame(session, ENDINGS)
    return find_leaks(*given, as_of=instant("13:00"), days=1, shown=shown, endings=endings, **options)


def test_endpoints_that_leak_and_those_that_just_do_not(session: SparkSession) -> None:
    expected = frame(session, LEAKS)
    assert_same(found(session).select(*expected.columns), expected)


NAMED = """
local_service                                             | remote_service | contract                                                           | state
dbo_Parcel_0F8B2C1A-1111-4222-8333-444455556666_Receiver  | S1             | C                                                                  | DI
dbo_Parcel_1f8b2c1a-1111-4222-8333-444455556666_Receiver  | S12            | C                                                                  | DI
Desk                                                      | S1             | C                                                                  | DO
SqlQueryNotificationService-1F8B2C1A-1111-4222-8333-444455556666 | S1 | http://schemas.microsoft.com/SQL/Notifications/PostQueryNotification | DI
"""  # noqa: E501
GROUPS = """
local_service              | remote_service | state | maker               | names bigint | endpoints bigint
dbo_Parcel_{guid}_Receiver | S{n}           | DI    | SqlTableDependency  | 2            | 2
Desk                       | S1             | DO    | fire and forget     | 1            | 1
SqlQueryNotificationService-1F8B2C1A-1111-4222-8333-444455556666 | S1 | DI | query notifications | 1 | 1
"""


def test_names_that_differ_in_ids_or_digits_are_one_group(session: SparkSession) -> None:
    same = {"instance": "SQL1", "database": "B", "reason": "any"}
    rows = frame(session, NAMED).withColumns({name: F.lit(value) for name, value in same.items()})
    leaking = rows.withColumns({"is_initiator": F.lit(True), "created_at": F.lit(instant("12:00"))})
    expected = frame(session, GROUPS)
    assert_same(group_leaks(leaking, as_of=instant("13:00")).select(*expected.columns), expected)


HANDLES = [f"{number}1111111-1111-4111-8111-111111111111" for number in range(6)]


def test_a_script_ends_only_what_it_may() -> None:
    places = {"instance": "SQL1", "database": "B]", "queue": "Q", "conversation_id": "c"}
    leaks = [
        {**places, "conversation_handle": handle, "state": state, "reason": reason}
        for handle, state, reason in [
            (HANDLES[0], "DI", "far_side_ended"),
            (HANDLES[1], "CO", "lifetime_over"),
            (HANDLES[2], "DO", "not_acknowledged"),
            (HANDLES[3], "CO", "no_traffic"),
            (HANDLES[4], None, "no_traffic"),
            ("' GO", "DI", "far_side_ended"),
        ]
    ]
    head, place, *lines, go = script_lines(leaks, {("SQL1", "B]", "Q"): "dbo"})
    assert (place, go) == ("\n-- Server SQL1\nUSE [B]]];\nGO\n", "GO\n")
    exists = "IF EXISTS (SELECT * FROM sys.conversation_endpoints WHERE conversation_handle ="
    unread = "NOT EXISTS (SELECT * FROM [dbo].[Q] WHERE conversation_handle ="
    assert lines == [
        f"{exists} '{HANDLES[0]}' AND state = 'DI') AND {unread} '{HANDLES[0]}') "
        f"END CONVERSATION '{HANDLES[0]}'; -- DI, far_side_ended\n",
        f"{exists} '{HANDLES[1]}' AND state = 'CO' AND lifetime < SYSUTCDATETIME()) AND {unread} "
        f"'{HANDLES[1]}') END CONVERSATION '{HANDLES[1]}'; -- CO, lifetime_over\n",
        f"-- {exists} '{HANDLES[2]}' AND state = 'DO') AND {unread} '{HANDLES[2]}') "
        f"END CONVERSATION '{HANDLES[2]}' WITH CLEANUP; -- DO, not_acknowledged\n",
        f"-- {exists} '{HANDLES[3]}' AND state = 'CO') AND {unread} '{HANDLES[3]}') "
        f"END CONVERSATION '{HANDLES[3]}'; -- CO, no_traffic\n",
        "-- state not known, no_traffic: look for conversation c on the server\n",
        "-- DI, far_side_ended: look for conversation c on the server\n",
    ]
    assert all(line.startswith("--") for line in head.splitlines())


def test_a_log_knows_traffic_that_has_messages_before_and_in_these_days(session: SparkSession) -> None:
    for lacks, knows_before, reason in (
        (("far later",), False, "no_traffic"),
        (("idle",), False, "traffic_not_known"),
        (("idle",), True, "no_traffic"),
        (("lively", "far log"), False, "traffic_not_known"),
    ):
        lines = [line for line in MESSAGES.splitlines() if not line.startswith(lacks)]
        rows = found(session, "\n".join(lines), knows_before=knows_before).where("conversation_id = 'ends'")
        assert [row["reason"] for row in collect_rows(rows)] == [reason], lacks


@pytest.fixture(scope="module")
def leaking(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Two talks of which one side ended, one left alone, one lively, one that ended on both sides."""
    project = Project(tmp_path_factory.mktemp("leaking"), catalog=catalog())
    days, end = {"half": -9, "half too": -4, "alone": -8, "lively": -8, "over": -8}, at(2, day=-3)
    ends = dict.fromkeys([("half", True), ("half too", True), ("over", True), ("over", False)], end)
    messages = [
        message_event("DELIVERED", f"{name}/0", event_time=at(1, day=day)) for name, day in days.items()
    ]
    rows = {
        "endpoints": [
            endpoint(name, side, created_at=at(not side, day=day), ended_at=ends.get((name, side)))
            for name, day in days.items()
            for side in (True, False)
        ],
        "endpoint_events": [
            endpoint_event("END_CONVERSATION", name, event_time=end, is_initiator=side) for name, side in ends
        ],
        "message_events": [*messages, message_event("RECEIVED", "lively/0", event_time=at(0, day=-1))],
        "runs": [ended_run("one", at(0))],
    }
    warehouse_of(session, project.folder / "warehouse", rows)
    return project


def test_leaks_are_counted_by_kind_and_the_oldest_come_first(session: SparkSession, leaking: Project) -> None:
    warehouse = leaking.warehouse(session)
    kinds = count_leaks(read_leaks(warehouse, at(0)), as_of=at(0))
    expected = """
    local_service    | reason         | endpoints bigint | oldest_days double | a_day double
    TargetService    | far_side_ended | 2                | 9.0                | 0.22
    InitiatorService | no_traffic     | 1                | 8.0                | 0.13
    TargetService    | no_traffic     | 1                | 8.0                | 0.13
    """
    counted = frame(session, expected)
    assert_same(kinds.select(*counted.columns), counted)
    # Nine days without traffic are one too many for the others.
    report = report_leaks(warehouse, as_of=at(0), days=9, limit=1)
    assert (report["endpoints"], [row["endpoints"] for row in report["kinds"]]) == (2, [2])
    assert [(row["conversation_id"], row["age_days"]) for row in report["oldest"]] == [("half", 9.0)]


def test_the_messages_of_the_days_tell_which_endpoints_leak(session: SparkSession, leaking: Project) -> None:
    warehouse = leaking.warehouse(session)

    def keys(rows: DataFrame) -> list[tuple[Any, ...]]:
        return sorted((row["conversation_id"], row["is_initiator"]) for row in collect_rows(rows))

    for days, count in {0.5: 6, 4: 4, 9: 2, 30: 2}.items():
        listed = keys(read_leaking(warehouse, at(0), days=days))
        assert listed == keys(read_leaks(warehouse, at(0), days=days))
        assert len(listed) == count


def test_the_job_prints_tables_and_json(leaking: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert questions.LEAKS(["--config", leaking.config, "--format", "json", "--limit", "3"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["days"], report["endpoints"]) == (7, 4)
    assert [row["conversation_id"] for row in report["oldest"]] == ["half", "alone", "alone"]
    in_all = [report[f"{part}_in_all"] for part in ("unread", "kinds", "oldest")]
    assert in_all == [{"rows": 0, "conversations": 0}, {"rows": 3, "endpoints": 4}, {"rows": 4}]
    assert questions.LEAKS(["--config", leaking.config]) == 0
    shown = capsys.readouterr().out
    assert "4 endpoints leak: 2 in state DI (DISCONNECTED_INBOUND) as the far side" in shown
    assert "handle half too False" in shown
    assert shown.endswith("--script leaks.sql --as-of 2026-11-20T12:00:00Z\n")

    unread = {"unread": [{**dict.fromkeys(QUEUE, "Q"), "conversations": 5}], "as_of": at(0)}
    print_leaks({**report, **unread, "groups": [], "unread_in_all": {"rows": 3, "conversations": 9}})
    assert (
        "read in Q.Q.Q.\n  and 2 more queues, 4 conversations: --limit prints more\n"
        in capsys.readouterr().out
    )
    print_leaks({**report, "as_of": at(0), "endpoints": 0, "states": []})
    assert capsys.readouterr().out == "No endpoint leaks at 2026-11-20T12:00:00Z.\n"
    unlisted = {
        "groups": [],
        "groups_in_all": 0,
        "oldest": [],
        "not_known": [{"state": "DI", "endpoints": 1}],
    }
    print_leaks({**report, **unlisted, "as_of": at(0), "endpoints": 0, "states": []})
    assert capsys.readouterr().out == (
        "No endpoint is known to leak at 2026-11-20T12:00:00Z.\n"
        "Endpoints that may leak: DI, since when not known: 1; a second capture will tell.\n"
    )
