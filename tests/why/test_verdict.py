"""The first line of a night and of the page."""

from pipelines.config.catalog import Catalog
from pipelines.why.causes.cause import BLOCKED, MISCONFIGURED, STOPPED
from pipelines.why.places import Place, Row
from pipelines.why.verdict import verdict_sentence
from tests.support.drawn import Draw
from tests.support.factories import catalog

ROWS = """
kind         | instance | database | message_id | status | waits_for | codes               | today_rule
receive      | SQL1     | B        | a          | -      | -         | queue_off           | -
receive      | SQL1     | B        | b          | -      | -         | rule_changed_since  | Gold
transmission | SQL1     |          | c          | away   | S.B.Q     | queue_off           | -
transmission | SQL1     |          | d          | away   | -         | transmission_status | -
"""
QUEUE: Place = ("receive", "SQL1", "B", "TargetQueue")
SENDING: Place = ("transmission", "SQL1", "", "")
UNPLACED: Place = ("unresolved", "", "", "")


def cause(code: str, severity: str, messages: int) -> Row:
    return {"code": code, "severity": severity, "messages": messages}


def verdict(draw: Draw, *findings: tuple[Place, Row], seconds: int | None = 18_000) -> str:
    rows = draw(ROWS).selectExpr(
        "*",
        "split(codes, ' ') as all_codes",
        "'SQL1' as endpoint_instance",
        "'B' as endpoint_database",
        "cast(null as timestamp) as broker_off_at",
    )
    rows = rows.drop("codes").withColumnRenamed("all_codes", "codes")
    return verdict_sentence(Catalog.model_validate(catalog()), rows, findings, seconds)


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
    assert verdict(draw, locked) == "Nothing is stopped. 4 messages wait, the oldest 5 h 0 min."
    assert verdict(draw, seconds=None) == "Nothing is stopped. Nothing waits."
