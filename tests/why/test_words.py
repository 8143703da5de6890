"""What causes say: a number belongs to what its sentence names, and an action fits its place."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from pipelines.why.causes import BY_CODE
from pipelines.why.causes.cause import Occurrence, Teller, split_action
from pipelines.why.places import Place, Row
from pipelines.why.report import kind_of

WON = {
    "instance": "SQL1",
    "database": "B",
    "winning_rule": "Plain",
    "winning_step": 1,
    "winning_level": 3,
    "rule": "Gold",
    "step": 3,
    "level": 9,
}
OFF = {"instance": "SQL1", "database": "B", "queue": "Q", "_is_seen": False, "_is_unknown": False}
OF_GROUP = {"_instance": "SQL1", "_database": "B", "_queue": "Q]"}


def occurrence(kind: str, *rows: dict[str, Any], messages: int, honors: bool = True) -> Occurrence:
    teller = Teller(
        lambda *words: " ".join(words), datetime(2026, 11, 20, tzinfo=UTC), honors=lambda *_: honors
    )
    return Occurrence(messages, 1, "c1/0", rows, kind, teller)


def test_the_number_is_that_of_the_kind_that_the_sentence_names() -> None:
    cause = BY_CODE["more_specific_rule"]
    several = occurrence("receive", {**WON, "messages": 6}, {**WON, "messages": 4}, messages=10)
    assert cause.sentence(several) == (
        "for 6 of 10 messages rule 'Plain' (3, step 1) goes before rule 'Gold' (9, step 3) (and 4 messages "
        "of other kinds)"
    )


@pytest.mark.parametrize(("kind", "is_told"), [("receive", False), ("transmission", True)])
def test_a_level_that_is_not_honored_matters_for_sending_alone(kind: str, is_told: bool) -> None:
    action = BY_CODE["more_specific_rule"].action(
        occurrence(kind, {**WON, "messages": 1}, messages=1, honors=False)
    )
    assert ("HONOR_BROKER_PRIORITY is off" in action) == is_told
    assert action.endswith("USE [B]; ALTER BROKER PRIORITY [Plain] FOR CONVERSATION SET (PRIORITY_LEVEL = 9)")


def test_what_waits_to_be_sent_is_not_lost_with_its_conversation() -> None:
    rule = {"instance": "SQL1", "database": "A", "rule": "Gold", "level": 9, "was_level": 5, "since": None}
    cause = BY_CODE["rule_newer_than_endpoint"]
    lost = "ending them now deletes 2 unread messages"
    assert lost in cause.action(occurrence("receive", {**rule, "messages": 2}, messages=2))
    assert "deletes" not in cause.action(occurrence("transmission", {**rule, "messages": 2}, messages=2))


@pytest.mark.parametrize(
    ("messages", "poison", "first"),
    [
        (0, None, "turn it on, if it is to receive: USE [B]"),
        (2, None, "look in the error log, and for the event Broker:Queue Disabled, "),
        (2, "c1/0", "first mend the reader of message c1/0"),
    ],
)
def test_a_queue_is_turned_on_after_what_turned_it_off(messages: int, poison: str | None, first: str) -> None:
    row = {**OFF, "since": None, "poison_message_id": poison, "messages": messages}
    action = BY_CODE["queue_off"].action(occurrence("receive", row, messages=messages))
    assert action.startswith(first)
    assert action.endswith("USE [B]; ALTER QUEUE [Q] WITH STATUS = ON")


def test_the_first_message_of_a_queue_whose_activation_is_off() -> None:
    """Unless tasks run, or nothing says that it is off."""
    row = {"kind": "receive", "instance": "SQL1", "database": "B", "queue": "Q", "messages": 1, "_groups": 1}
    first = BY_CODE["first_in_line"]
    off, running = {"_is_activated": False, "_tasks": None}, {"_is_activated": False, "_tasks": 1}
    action = first.action(occurrence("receive", {**row, **off}, messages=1))
    assert action.startswith("activation of the queue is off, so no reader is started")
    assert action.endswith("USE [B]; ALTER QUEUE [Q] WITH ACTIVATION (STATUS = ON)")
    for known in (running, {"_is_activated": True, "_tasks": 0}):
        assert "ALTER QUEUE" not in first.action(occurrence("receive", {**row, **known}, messages=1))


BARE = {"contract": "C", "local_service": "S", "remote_service": "R", "instance": "SQL1", "database": "B"}
OTHER = {"other_instance": "SQL1", "other_database": "A", "other_rule": "Gold", "other_level": 8}
CREATE = "USE [B]; CREATE BROKER PRIORITY [C S R] FOR CONVERSATION SET "


@pytest.mark.parametrize(
    ("rule", "step", "today", "said", "advised"),
    [
        (None, None, 5, "no rule of SQL1.B fits their endpoint;", f"add a rule for this side; .*: {CREATE}"),
        ("Own", 3, 7, "no rule of SQL1.B fitted their endpoint when", f"add a rule for .*: {CREATE}"),
        (
            "Own",
            1,
            7,
            "no rule of SQL1.B fitted their",
            "raise 'Own' .*: USE .B.; ALTER BROKER PRIORITY .Own",
        ),
        ("Own", 1, 8, "no rule of SQL1.B fitted their", "no rule is missing: 'Own' gives conversations"),
    ],
)
def test_no_rule_is_suggested_that_there_is_today(
    rule: str | None, step: int | None, today: int, said: str, advised: str
) -> None:
    row = {**BARE, **OTHER, "_rule": rule, "_step": step, "_today": today, "messages": 2}
    at = occurrence("receive", row, messages=2)
    cause = BY_CODE["other_side_only"]
    assert said in cause.sentence(at)
    assert re.match(advised.replace("[", r"\["), cause.action(at))


def test_a_name_that_is_not_known_is_in_no_statement() -> None:
    row = {**BARE, "remote_service": "", "_rule": None, "_step": None, "_today": 5, "messages": 2}
    action = BY_CODE["no_rule"].action(occurrence("receive", row, messages=2))
    assert "; it takes any remote service, as that is not known; " in action
    assert "REMOTE_SERVICE_NAME = ANY" in action


def test_what_waits_in_queues_and_to_be_sent_is_told_of_both() -> None:
    rows = [{"kind": kind, "queue": None, "messages": 1} for kind in ("receive", "transmission")]
    for code in ("first_in_line", "own_group_first", "older_first"):
        at = replace(occurrence("receive", *rows, messages=2), kind=None)
        assert "sen" in BY_CODE[code].action(at)
    assert BY_CODE["own_group_first"].sentence(at).endswith("their own conversation or conversation group")
    changed = replace(at, details=[{"instance": "SQL1", "database": "B", "messages": 2}])
    lost = "ending them now deletes what is unread in queues"
    assert BY_CODE["rule_changed_since"].action(changed).endswith(lost)
    assert BY_CODE["first_in_line"].sentence(at) == "2 messages are the first ones to be received or sent"


def test_one_kind_of_places_is_told_as_that_kind() -> None:
    sent, queue = ("transmission", "SQL1", "", ""), ("receive", "SQL1", "B", "Q")
    causes: dict[Place | None, list[Row]] = {
        None: [],
        sent: [{"code": "a"}, {"code": "b"}],
        queue: [{"code": "b"}],
    }
    assert [kind_of(place, "a", causes) for place in (None, sent)] == ["transmission", "transmission"]
    assert kind_of(None, "b", causes) is None


def test_a_queue_that_is_off_holds_messages_in_it_and_for_it() -> None:
    since = datetime(2026, 11, 20, 9, tzinfo=UTC)
    row = {**OFF, "since": since, "poison_message_id": None, "messages": 2}
    sentence = BY_CODE["queue_off"].sentence
    is_off = "queue SQL1.B.Q, which has been off since 2026-11-20T09:00:00Z"
    assert sentence(occurrence("receive", row, messages=2)) == f"2 messages wait in {is_off}"
    assert sentence(occurrence("transmission", row, messages=2)) == f"2 messages wait for {is_off}"


def test_a_level_of_which_nothing_is_known_is_an_example() -> None:
    row = {**BARE, "_rule": None, "_step": None, "_today": 5, "messages": 1}
    action = BY_CODE["no_rule"].action(occurrence("receive", row, messages=1))
    assert action.startswith("add a rule if it is to go first (level 9 is an example); ")


@pytest.mark.parametrize(
    ("kind", "ahead"),
    [
        ("receive", "other groups with the same level"),
        ("transmission", "other conversations with the same or a lower level"),
    ],
)
def test_what_is_ahead_fits_the_place(kind: str, ahead: str) -> None:
    """In a transmission queue there are no groups, and a block may have a lower level ahead."""
    row = {"contract": "C", "local_service": "S", "remote_service": "R", "messages": 4}
    sentence = BY_CODE["older_first"].sentence(occurrence(kind, row, messages=1))
    assert sentence.startswith(f"1 message waits behind earlier messages of {ahead}: 4 of C from ")


def test_honor_off_names_the_option_and_what_it_changes() -> None:
    row = {"instance": "SQL1", "database": "B", "messages": 3}
    at = occurrence("transmission", row, messages=3)
    cause = BY_CODE["honor_off"]
    assert cause.sentence(at) == (
        "3 messages wait to be sent as if at level 5; their own is higher, but HONOR_BROKER_PRIORITY is off "
        "in SQL1.B"
    )
    assert cause.action(at).startswith("turn it on if levels are to count for all that the database sends;")


def test_a_near_name_is_told_in_words() -> None:
    names = {"criterion": "local_service", "rule_has": "Stok", "endpoint_has": "Stock"}
    row = {"instance": "SQL1", "database": "B", "rule": "Gold", "level": 9, **names, "messages": 1}
    assert BY_CODE["near_miss"].sentence(occurrence("receive", row, messages=1)) == (
        "1 message would have level 9 by rule 'Gold', but the rule's local service is 'Stok', and the "
        "endpoint's is 'Stock'"
    )


@pytest.mark.parametrize("are_both_in_use", [False, True])
def test_a_rule_that_other_endpoints_need_is_not_altered(are_both_in_use: bool) -> None:
    names = {"criterion": "local_service", "rule_has": "stock", "endpoint_has": "Stock"}
    rule = {"instance": "SQL1", "database": "B", "rule": "Gold", "level": 9, **names, "messages": 1}
    at = occurrence("receive", {**rule, "_are_both_in_use": are_both_in_use}, messages=1)
    words, statement = split_action(BY_CODE["near_miss"].action(at))
    assert statement.startswith("USE [B]; ALTER BROKER PRIORITY [Gold]") != are_both_in_use
    assert ("leave the rule as it is, as 'stock' needs it" in words) == are_both_in_use


@pytest.mark.parametrize("group", ["5F0C7B52-3C1D-4E0A-9C64-2A5D0D7B11F3", "g'; DROP TABLE t --"])
def test_messages_that_were_rolled_back_are_looked_at_and_not_received(group: str) -> None:
    at = occurrence("receive", {**OF_GROUP, "_conversation_group_id": group, "messages": 1}, messages=1)
    action = BY_CODE["rolled_back"].action(at)
    look = f"USE [B]; SELECT * FROM [Q]]] WITH (NOLOCK) WHERE conversation_group_id = '{group}'"
    assert split_action(action)[1] == ("" if "DROP" in group else look)
    assert "DROP" not in action
    assert "RECEIVE" not in action


@pytest.mark.parametrize(
    ("code", "procedure", "is_altered"),
    [("monitor_dropped", "dbo.P", True), ("monitor_dropped", None, False), ("monitor_missing", None, True)],
)
def test_activation_is_turned_on_where_a_procedure_reads(
    code: str, procedure: str | None, is_altered: bool
) -> None:
    at = occurrence("receive", {"instance": "SQL1", "database": "B", "queue": "Q"}, messages=1)
    at = replace(at, teller=replace(at.teller, procedure_of=lambda *_: procedure))
    turned = [f"ALTER QUEUE [Q] WITH ACTIVATION (STATUS = {each})" for each in ("OFF", "ON")]
    alter = "; ".join(["USE [B]", *turned])
    assert split_action(BY_CODE[code].action(at))[1] == (alter if is_altered else "")


def test_activation_may_be_off_where_another_program_reads() -> None:
    row = {"instance": "SQL1", "database": "B", "queue": "Q", "reason": "activation_off", "messages": 0}
    action = BY_CODE["not_received"].action(occurrence("receive", row, messages=0))
    assert action == (
        "turn its activation on, unless another program is to read the queue: USE [B]; ALTER QUEUE [Q] WITH "
        "ACTIVATION (STATUS = ON)"
    )


def test_one_of_several_messages_is_one() -> None:
    rule = {"instance": "SQL1", "database": "A", "rule": "Gold", "level": 9, "was_level": 5, "since": None}
    kinds = [{**rule, "messages": 1}, {**rule, "was_level": 4, "messages": 1}]
    at = occurrence("receive", *kinds, messages=2)
    assert BY_CODE["rule_changed_since"].sentence(at).startswith("1 of 2 messages has level 5: today rule")
    bare = [{**BARE, "_rule": None, "_step": None, "_today": 5, "messages": count} for count in (2, 1)]
    several = occurrence("receive", *bare, messages=3)
    assert BY_CODE["no_rule"].sentence(several).startswith("2 of 3 messages have level 5 as no rule")


def test_one_message_is_told_as_one() -> None:
    bare = {**BARE, **OTHER, "_rule": None, "_step": None, "_today": 5, "messages": 1}
    rule = {"instance": "SQL1", "database": "A", "rule": "Gold", "level": 9, "was_level": 5, "since": None}
    place = {"kind": "receive", "instance": "SQL1", "database": "B", "queue": "Q"}
    told: dict[str, tuple[Row, str]] = {
        "other_side_only": (bare, "as no rule of SQL1.B fits its endpoint;"),
        "no_rule": (bare, "while others beside it have a higher level by a rule"),
        "rule_newer_than_endpoint": (
            rule,
            "1 message of 1 conversation has level 5: rule 'Gold' would give 9",
        ),
        "rule_changed_since": (rule, "other rules held when this conversation began"),
        "honor_off": (bare, "to be sent as if at level 5; its own is higher"),
        "own_group_first": (place, "behind earlier messages of its own conversation group"),
    }
    for code, (row, said) in told.items():
        assert said in BY_CODE[code].sentence(occurrence("receive", {**row, "messages": 1}, messages=1)), code


@pytest.mark.parametrize("code", ["outranked", "older_first"])
@pytest.mark.parametrize("kind", ["receive", "transmission"])
def test_a_level_helps_new_conversations_alone(code: str, kind: str) -> None:
    """And what is sent only where its database honors priorities."""
    action = BY_CODE[code].action(occurrence(kind, {**BARE, "messages": 1}, messages=2))
    assert "; conversations that exist keep their level" in action
    assert ("if their database honors priorities" in action) == (kind == "transmission")


def test_of_messages_that_were_rolled_back_one_is_named() -> None:
    row = {"message_id": "c1/0", "times": 5, "last_transaction_id": "t5", **OF_GROUP}
    sentence = BY_CODE["rolled_back"].sentence
    one = occurrence("receive", {**row, "messages": 1}, messages=1)
    assert sentence(one) == (
        "1 message was received and rolled back: message c1/0 5 times, last by transaction t5"
    )
    assert "rolled back: most often message c1/0 5 times" in sentence(replace(one, messages=3))
    once = replace(one, messages=3, details=[{**one.first, "times": 1}])
    assert "rolled back: such as message c1/0 1 time" in sentence(once)


@pytest.mark.parametrize(
    ("transaction", "session", "said"),
    [
        (None, None, "find the session that holds the group (sys.dm_tran_locks)"),
        ("t1", None, "find the session of that transaction (sys.dm_tran_session_transactions)"),
        ("t1", 52, "see what that session does"),
    ],
)
def test_the_session_that_holds_a_group(transaction: str | None, session: int | None, said: str) -> None:
    row = {"conversation_group_id": "g", "transaction_id": transaction, "session_id": session, "messages": 1}
    assert BY_CODE["group_locked"].action(occurrence("receive", row, messages=1)).startswith(said)


def test_what_is_not_matched_is_told_by_its_largest_kind() -> None:
    kinds = [
        {"instance": "SQL1", "database": "B", "local_service": "Nowhere", "messages": 2},
        {"instance": None, "database": None, "local_service": None, "messages": 1},
    ]
    sentence = BY_CODE["service_not_in_catalog"].sentence
    missing = "not matched to a queue: the catalog has no queue for the service"
    assert sentence(occurrence("unresolved", *kinds, messages=3)) == (
        f"2 of 3 messages are {missing} (service Nowhere in SQL1.B) (and 1 message of other kinds)"
    )
    assert sentence(occurrence("unresolved", kinds[1], messages=1)) == f"1 message is {missing}"


def test_texts_of_the_server_end_as_a_sentence_does() -> None:
    texts = [{"text": "It is off.", "messages": 2}, {"text": "It is gone.", "messages": 1}]
    assert BY_CODE["transmission_status"].sentence(occurrence("transmission", *texts, messages=3)) == (
        "3 messages wait to be sent, and the server says why (2 of them): It is off; 1 with 1 other text"
    )
    cut = BY_CODE["transmission_status"].sentence(occurrence("transmission", *texts, messages=9))
    assert cut.endswith("(2 of them): It is off; 7 with other texts")
    sentence = BY_CODE["transmission_status"].sentence(occurrence("transmission", texts[1], messages=1))
    assert sentence == "1 message waits to be sent, and the server says why: It is gone"


def test_a_copy_of_a_database_gets_a_broker_of_its_own() -> None:
    at = occurrence("receive", {"instance": "SQL1", "database": "B]", "messages": 1}, messages=1)
    words, statement = split_action(BY_CODE["broker_disabled"].action(at))
    assert "takes SET NEW_BROKER, which ends all its conversations; else turn it on" in words
    assert statement == "ALTER DATABASE [B]]] SET ENABLE_BROKER"


@pytest.mark.parametrize(
    ("procedure", "said"),
    [
        ("dbo.P", "the monitor is NOTIFIED: procedure dbo.P was started and did not RECEIVE"),
        (None, "the application was notified and did not RECEIVE"),
    ],
)
def test_what_was_notified_is_named(procedure: str | None, said: str) -> None:
    row = {**OFF, "last_receive": None, "reason": "notified", "messages": 2}
    at = occurrence("receive", row, messages=2)
    at = replace(at, teller=replace(at.teller, procedure_of=lambda *_: procedure))
    assert BY_CODE["not_received"].sentence(at) == (
        f"nothing was received from SQL1.B.Q since 2 messages arrived (no RECEIVE is known): {said}"
    )


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("no_reader_started", "read the error log of the server, and run the procedure dbo.P by hand"),
        ("not_due", "see which sessions wait in a RECEIVE of the queue"),
        ("max_queue_readers", "see what the readers that run are busy with"),
    ],
)
def test_a_procedure_is_run_where_none_reads(reason: str, said: str) -> None:
    row = {**OFF, "last_receive": None, "reason": reason, "messages": 2}
    at = occurrence("receive", row, messages=2)
    at = replace(at, teller=replace(at.teller, procedure_of=lambda *_: "dbo.P"))
    assert BY_CODE["not_received"].action(at).startswith(said)


def test_a_queue_is_stopped_from_the_moment_that_the_settings_say() -> None:
    cause, teller = BY_CODE["not_received"], occurrence("receive", messages=1).teller
    moments = [teller.stopped_before, teller.stopped_before + timedelta(microseconds=1)]
    assert [cause.severity_of(oldest, teller) for oldest in moments] == ["stopped", "order"]


@pytest.mark.parametrize("code", ["outranked", "older_first"])
def test_no_level_is_advised_for_what_is_only_forwarded(code: str) -> None:
    at = replace(occurrence("transmission", {**BARE, "messages": 1}, messages=2), is_forwarded=True)
    action = BY_CODE[code].action(at)
    assert action.startswith("what is only forwarded goes at level 5, whatever the rules; ")
    assert "raise" not in action
