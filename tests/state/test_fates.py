"""What became of messages that were last seen at 12:00 and that a view of 12:30 lacks."""

from pipelines.state.fates import find_fates
from schemas.events import ENDPOINT_FACTS
from schemas.outputs import CATALOG_HISTORY
from tests.support.drawn import Draw

GONE = (
    "since timestamp, by timestamp, conversation_id string, is_initiator boolean, instance string, "
    "database string, local_service string, ended_at timestamp"
)


def test_fates(draw: Draw) -> None:
    """The first complete view of endpoints from 12:30 on decides: that of 12:40, in B there is none.

    It lacks c2, and shows c3 closed; a restore brings both back.
    """
    of_message = {"instance": "SQL1", "is_initiator": False}
    gone = draw.rows(GONE, **of_message)("""
        message_id     | since | by    | database | local_service | conversation_id | ended_at
        received       | 12:00 | 12:30 | A        | S             | c1              | -
        ended then     | 12:00 | 12:30 | A        | S             | c1              | 12:40
        with its end   | 12:00 | 12:30 | A        | S             | c1              | 12:39:59
        absent         | 12:00 | 12:30 | A        | S             | c2              | -
        closed         | 12:00 | 12:30 | A        | S             | c3              | -
        far end        | 12:00 | 12:30 | A        | S             | c4              | -
        moved          | 12:00 | 12:30 | A        | T             | c1              | -
        moved before   | 12:20 | 12:30 | A        | T             | c1              | -
        moved and over | 12:00 | 12:30 | A        | T             | c1              | 12:15
        not bound      | 12:00 | 12:30 | A        | U             | c1              | -
        not decided    | 12:00 | 12:30 | B        | S             | c5              | -
        at once        | 12:00 | 12:30 | C        | S             | c6              | -
    """)
    events = draw.rows(ENDPOINT_FACTS, **of_message)("""
        conversation_id | event_type                 | seen_at | state
        c1              | DIALOG_CREATED             | 12:40   | CO
        c1              | DIALOG_CREATED             | 12:50   | -
        c2              | DIALOG_CREATED             | 12:50   | CO
        c3              | DIALOG_CREATED             | 12:40   | CD
        c3              | OVERRULED_END_CONVERSATION | 12:40   | -
        c3              | DIALOG_CREATED             | 12:50   | CO
        c4              | OVERRULED_END_CONVERSATION | 12:40   | -
        c4              | DIALOG_CREATED             | 12:50   | CO
        c5              | DIALOG_CREATED             | 12:20   | CO
        c6              | DIALOG_CREATED             | 12:30   | CO
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
    draw.require(find_fates(gone, complete, events, bindings))("""
        message_id     | fate                | decided_at timestamp
        received       | received            | 12:40
        ended then     | received            | 12:40
        with its end   | received_or_dropped | 12:40
        absent         | received_or_dropped | 12:40
        closed         | received_or_dropped | 12:40
        far end        | received_or_dropped | 12:40
        moved          | moved               | 12:40
        moved before   | received            | 12:40
        moved and over | received_or_dropped | 12:40
        not bound      | received            | 12:40
        not decided    | received_or_dropped | -
        at once        | received            | 12:30
    """)
