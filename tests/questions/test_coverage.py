"""What each version of a rule decides."""

from pathlib import Path

from pyspark.sql import SparkSession, functions as F

from pipelines.questions.coverage import COLUMNS, count_rule_uses, report_coverage
from pipelines.rules.statements import CRITERIA
from pipelines.storage.warehouse import Warehouse
from schemas.events import MESSAGES
from schemas.ledger import ENDPOINTS
from schemas.outputs import PRIORITY_RULES
from tests.support.factories import at, message_event, rule
from tests.support.frames import assert_same, frame, instant
from tests.support.written import endpoint, write

DECIDED = """
conversation_id | is_initiator boolean | database | rule_name | level_source | priority int | at timestamp
c1              | true                 | A        | R         | ladder       | 8            | 12:00
c1              | false                | A        | -         | -            | 5            | 12:01
c2              | true                 | A        | R         | ladder       | 8            | 12:29:59.999999
c3              | true                 | A        | R         | ladder       | 7            | 12:30
c4              | true                 | A        | -         | server       | 7            | 12:40
c5              | true                 | A        | R         | server       | 7            | 12:10
c6              | true                 | A        | Gone      | ladder       | 4            | 12:03
c7              | true                 | B        | R         | ladder       | 4            | 12:04
c8              | true                 | A        | R         | ladder       | 7            | 13:00
c9              | true                 | A        | -         | server       | 5            | 12:00
c10             | true                 | A        | -         | server       | 5            | 12:35
"""
# To c1's target are m1 to m3; m4 to m6 begin at as_of, were last seen long ago, and have no begin.
EVENTS = """
message_id | conversation_id | sent_by_initiator boolean | event_type       | event_id | event_time timestamp
m1         | c1              | true                      | SENT             | 1        | 11-19 00:00
m2         | c1              | true                      | DELIVERED        | 2        | 12:40
m3         | c1              | true                      | RECEIVED         | 3        | 12:59:59.999999
m3         | other           | false                     | RECEIVED         | 4        | 13:10
m4         | c1              | true                      | SENT             | 5        | 13:00
m5         | c1              | true                      | SENT             | 6        | 11-18 23:59:59.999999
m6         | c1              | true                      | FORWARD_ACCEPTED | 7        | 12:00
m7         | c1              | false                     | SENT             | 8        | 11-18 23:00
m7         | c1              | false                     | DELIVERED        | 9        | 11-19 01:00
"""
RECEIVED = """
conversation_id | is_initiator boolean
c1              | false
c1              | false
c3              | true
"""
TRANSMITTED = """
conversation_id | sent_by_initiator boolean | forwarded boolean
c1              | true                      | false
c2              | true                      | true
"""
RULES = """
instance | database | name | valid_from timestamp | valid_to timestamp
S        | A        | R    | 12:00                | 12:30
S        | A        | R    | 12:30                | -
S        | B        | S    | 12:00                | -
"""
KINDS = """
database | contract | since timestamp | until timestamp | level int | by | from timestamp
A        | contract | -               | 12:05           | 5                 | -          | -
A        | contract | 12:30           | -               | 7                 | R          | 12:30
A        | other    | -               | -               | 9                 | R          | 12:30
"""
DECIDED_BY = ("decided_level", "decided_by", "decided_from")


def test_endpoints_and_their_messages_count_at_the_version_that_was_valid(session: SparkSession) -> None:
    given = [frame(session, each) for each in (DECIDED, EVENTS, RECEIVED, TRANSMITTED, RULES, KINDS)]
    given[0] = (
        given[0]
        .withColumnRenamed("at", "created_at")
        .withColumns({"instance": F.lit("S"), **{name: F.lit(name) for name in CRITERIA}})
    )
    given[-1] = (
        given[-1]
        .toDF("database", "contract", "since", "until", *DECIDED_BY)
        .withColumns(
            {"instance": F.lit("S"), **{name: F.lit(name) for name in CRITERIA if name != "contract"}}
        )
    )
    found = count_rule_uses(*given, as_of=instant("13:00")).drop("instance")
    uses = """
    database | rule_name | valid_from timestamp | of_server boolean | first_use timestamp | last_use timestamp
    A        | R         | 12:00                | false             | 12:00               | 12:29:59.999999
    A        | R         | 12:30                | false             | 12:30               | 12:40
    A        | -         | -                    | false             | 12:00               | 12:01
    A        | -         | -                    | true              | 12:10               | 12:35
    A        | Gone      | -                    | false             | 12:03               | 12:03
    B        | R         | -                    | false             | 12:04               | 12:04
    """
    counts = """
    rule_name | endpoints bigint | conversations bigint | messages bigint | open_messages bigint
    R         | 2                | 2                    | 1               | 1
    R         | 2                | 2                    | 0               | 1
    -         | 2                | 2                    | 3               | 2
    -         | 2                | 2                    | 0               | 0
    Gone      | 1                | 1                    | 0               | 0
    R         | 1                | 1                    | 0               | 0
    """
    for drawing in (uses, counts):
        expected = frame(session, drawing)
        assert_same(found.select(*expected.columns), expected)


def test_versions_that_decide_nothing_have_rows_and_levels_of_the_server_one_of_their_own(
    session: SparkSession, tmp_path: Path
) -> None:
    # R        [--- 8 ---)[--- 7 ---...   as_of: minute 9; R of C was renamed at minute 2
    # Both ends of a conversation may be in one database, and c7 is created later.
    of_the_server = {"level_source": "server", "created_by": "lifetime", "database": "A"}
    warehouse = Warehouse(session, str(tmp_path))
    endpoints = [
        endpoint("c1", level_source="ladder"),
        endpoint("c2"),
        endpoint("c3", priority=8, created_at=at(1), **of_the_server),
        endpoint("c4", priority=3, created_at=at(2), **of_the_server),
        endpoint("c4", False, priority=5, created_at=at(3), **of_the_server),
        endpoint("c5", priority=7, created_at=at(4), rule_name="R", ladder_step=8, **of_the_server),
        endpoint("c6", False, priority=2, **of_the_server | {"database": "B"}),
        endpoint("c7", priority=2, created_at=at(20), **of_the_server),
        endpoint("c8", database="C", rule_name="Gone", created_at=at(3)),
        endpoint("c9", database="C", rule_name="R", created_at=at(1)),
        endpoint("c10", database="C", rule_name="R", created_at=at(5)),
    ]
    write(warehouse, ENDPOINTS, endpoints)
    write(warehouse, MESSAGES, [message_event("SENT", "c4/0", sent_by_initiator=False, database="A")])
    versions = [
        rule("R", 8, valid_from=at(2), valid_to=at(9)),
        rule("R", 7, valid_from=at(9)),
        rule("R", 6, database="C", valid_from=at(2), valid_to=at(8)),
        rule("R", 9, database="C", valid_from=at(8)),
        rule("R", 2, database="D", valid_from=at(9)),
    ]
    write(warehouse, PRIORITY_RULES, versions)
    found = report_coverage(warehouse, at(9))
    assert {tuple(row) for row in found} == {tuple(COLUMNS)}
    shown = ("database", "rule_name", "valid_from", "level", "endpoints")
    assert [tuple(row[name] for name in shown) for row in found] == [
        ("A", None, None, 5, 2),
        ("A", None, None, None, 4),
        ("A", "R", at(2), 8, 0),
        ("B", None, None, 5, 0),
        ("B", None, None, None, 1),
        ("C", None, None, 5, 0),
        ("C", "Gone", None, None, 1),
        ("C", "R", None, None, 1),
        ("C", "R", at(2), 6, 1),
        ("C", "R", at(8), 9, 0),
        ("D", None, None, 5, 0),
    ]
    counts = ("conversations", "messages", "first_use", "last_use")
    assert [found[1][name] for name in counts] == [3, 1, at(1), at(4)]
    assert [row["candidates"] for row in found[:3]] == [
        [],
        [{"level": 7, "rule_name": "R"}, {"level": 8, "rule_name": "R"}],
        [],
    ]
    assert [found[-2][name] for name in counts] == [0, 0, None, None]
