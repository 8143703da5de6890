"""What became of messages that were last seen at 12:00 and that a view of 12:30 lacks."""

from pipelines.state.fates import find_fates
from schemas.outputs import CATALOG_HISTORY
from tests.support.drawn import Draw

GONE = (
    "since timestamp, by timestamp, instance string, database string, local_service string, "
    "created_at timestamp, ended_at timestamp"
)


def test_fates(draw: Draw) -> None:
    """The first complete view of endpoints from 12:30 on decides: that of 12:40, in B there is none."""
    of_message = {"instance": "SQL1", "local_service": "S"}
    gone = draw.rows(GONE, **of_message)("""
        message_id     | since | by    | database | local_service | created_at | ended_at
        received       | 12:00 | 12:30 | A        | S             | 10:00      | -
        ended then     | 12:00 | 12:30 | A        | S             | 10:00      | 12:40
        with its end   | 12:00 | 12:30 | A        | S             | 10:00      | 12:39:59
        yet to come    | 12:00 | 12:30 | A        | S             | 12:40      | -
        moved          | 12:00 | 12:30 | A        | T             | 10:00      | -
        moved before   | 12:20 | 12:30 | A        | T             | 10:00      | -
        moved and over | 12:00 | 12:30 | A        | T             | 10:00      | 12:15
        not bound      | 12:00 | 12:30 | A        | U             | 10:00      | -
        not decided    | 12:00 | 12:30 | B        | S             | 10:00      | -
        at once        | 12:00 | 12:30 | C        | S             | 10:00      | -
    """)
    complete = draw("""
        instance | database | taken_at timestamp
        SQL1     | A        | 12:20
        SQL1     | A        | 12:40
        SQL1     | A        | 12:50
        SQL1     | B        | 12:20
        SQL1     | C        | 12:30
    """)
    of_services = {"instance": "SQL1", "database": "A", "kind": "service", "attribute": "queue"}
    bindings = draw.rows(CATALOG_HISTORY, **of_services)("""
        name | value | valid_from | valid_to
        S    | Q     | -          | -
        T    | Q     | -          | 12:10
        T    | R     | 12:10      | -
    """)
    draw.require(find_fates(gone, complete, bindings))("""
        message_id     | fate                | decided_at timestamp
        received       | received            | 12:40
        ended then     | received            | 12:40
        with its end   | received_or_dropped | 12:40
        yet to come    | received_or_dropped | 12:40
        moved          | moved               | 12:40
        moved before   | received            | 12:40
        moved and over | received_or_dropped | 12:40
        not bound      | received            | 12:40
        not decided    | received_or_dropped | -
        at once        | received            | 12:30
    """)
