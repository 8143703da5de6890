"""The first line of a night and of the page."""

from pipelines.config.catalog import Catalog
from pipelines.why.causes.cause import BLOCKED, MISCONFIGURED, STOPPED
from pipelines.why.places import Place, Row
from pipelines.why.verdict import verdict_sentence
from tests.support.drawn import Draw
from tests.support.factories import at, catalog
from tests.support.why_answers import with_causes

AS_OF = at(0)
ROWS = """
kind         | instance | database | message_id | codes                         | today_rule
receive      | SQL1     | B        | a          | queue_off                     | -
receive      | SQL1     | B        | b          | rule_changed_since            | Gold
transmission | SQL1     |          | c          | queue_off transmission_status | -
transmission | SQL1     |          | d          | transmission_status           | -
"""
QUEUE: Place = ("receive", "SQL1", "B", "TargetQueue")
SENDING: Place = ("transmission", "SQL1", "", "")
UNPLACED: Place = ("unresolved", "", "", "")


def cause(code: str, severity: str, messages: int) -> Row:
    return {"code": code, "severity": severity, "messages": messages}


def verdict(draw: Draw, *findings: tuple[Place, Row], where: str = "true") -> str:
    rows = (
        with_causes(draw(ROWS))
        .where(where)
        .selectExpr(
            "*",
            "'SQL1' as endpoint_instance",
            "'B' as endpoint_database",
            "timestamp'2026-11-20 07:00:00' as since",
        )
    )
    return verdict_sentence(Catalog.model_validate(catalog()), rows, findings, AS_OF)


def test_what_is_stopped_comes_first(draw: Draw) -> None:
    """A message that waits for a queue that is off, and has a text of the server, counts once."""
    findings = (
        (QUEUE, cause("queue_off", STOPPED, 1)),
        (SENDING, cause("queue_off", STOPPED, 1)),
        (SENDING, cause("transmission_status", STOPPED, 2)),
        (UNPLACED, cause("endpoint_unknown", STOPPED, 3)),
        (QUEUE, cause("rule_changed_since", MISCONFIGURED, 1)),
    )
    assert verdict(draw, *findings) == (
        "1 of 3 queues is stopped. 2 messages of SQL1 can't be sent. 3 messages are not matched to a queue. "
        "1 rule does not reach existing conversations."
    )


def test_nothing_is_stopped(draw: Draw) -> None:
    locked = (QUEUE, cause("group_locked", BLOCKED, 1))
    assert verdict(draw, locked) == "Nothing is stopped. 4 messages wait, the oldest 5 h."
    assert verdict(draw, where="false") == "Nothing is stopped. Nothing waits."


def test_a_database_without_messages_is_stopped_too(draw: Draw) -> None:
    databases: list[Place] = [("receive", "SQL1", name, "") for name in ("B", "A")]
    findings = [(place, cause("broker_disabled", STOPPED, 0)) for place in databases]
    findings.append((databases[0], cause("conversations_gone", STOPPED, 0)))
    assert verdict(draw, *findings, where="false") == (
        "Service Broker is off in SQL1.A and SQL1.B. All conversations of SQL1.B are gone."
    )


def test_many_instances_are_counted(draw: Draw) -> None:
    rows = with_causes(
        draw(
            """
            kind         | instance | message_id | codes               | today_rule
            transmission | S1       | a          | transmission_status | -
            transmission | S2       | b          | transmission_status | -
            transmission | S3       | c          | transmission_status | -
            transmission | S4       | d          | transmission_status | -
            """
        )
    )
    told = {}
    for most in (3, 4):
        findings = [
            (("transmission", f"S{number}", "", ""), cause("transmission_status", STOPPED, 1))
            for number in range(1, most + 1)
        ]
        few = rows.where(f"instance <= 'S{most}'")
        told[most] = verdict_sentence(Catalog.model_validate(catalog()), few, findings, AS_OF)
    assert told[3] == "1 message of S1, 1 message of S2 and 1 message of S3 can't be sent."
    assert told[4] == "4 messages of 4 instances can't be sent."
