"""Endpoints under the current rules: what was, what is, and which of them an edit concerns."""

from pipelines.ladder.restate import changes_by_kind, restated, within_periods
from schemas.ledger import ENDPOINTS
from schemas.outputs import PRIORITY_RULES
from tests.support.drawn import Draw
from tests.support.factories import LONG_AGO, at
from tests.support.frames import assert_same

SILVER = {"contract": "Silver", "local_service": "Orders", "remote_service": "Stock"}
SQL1_A = {"instance": "SQL1", "database": "A"}
CHANGES = (
    "instance string, database string, was_priority int, was_rule_name string, was_ladder_step int, "
    "priority int, rule_name string, ladder_step int"
)


def test_what_was_given_and_what_the_rules_give_now(draw: Draw) -> None:
    rules = draw.rows(PRIORITY_RULES, valid_from=LONG_AGO, **SQL1_A)("""
        name | level | contract
        gold | 7     | Gold
        all  | 3     | -
    """)
    endpoints = draw.rows(ENDPOINTS, created_at=at(0), **SQL1_A, **SILVER)("""
        case string | contract | priority | rule_name | ladder_step | level_source | logged_priority
        same        | Gold     | 7        | gold      | 4           | ladder       | -
        level       | Gold     | 6        | gold      | 4           | ladder       | -
        rule        | Gold     | 7        | renamed   | 4           | -            | -
        step        | Gold     | 7        | gold      | 8           | -            | -
        none        | Silver   | 5        | -         | -           | -            | -
        named       | Silver   | 3        | -         | -           | -            | -
        server      | Gold     | 6        | gold      | 4           | server       | 6
    """)
    draw.require(restated(endpoints, rules), f"case string, {CHANGES}, changes boolean")("""
        case   | was_priority | was_rule_name | was_ladder_step | priority | rule_name | ladder_step | changes
        same   | 7            | gold          | 4               | 7        | gold      | 4           | false
        level  | 6            | gold          | 4               | 7        | gold      | 4           | true
        rule   | 7            | renamed       | 4               | 7        | gold      | 4           | true
        step   | 7            | gold          | 8               | 7        | gold      | 4           | true
        none   | 5            | -             | -               | 3        | all       | 8           | true
        named  | 3            | -             | -               | 3        | all       | 8           | true
        server | 6            | gold          | 4               | 6        | -         | -           | false
    """)


def test_changes_are_counted_by_what_was_and_what_is(draw: Draw) -> None:
    kinds = draw.rows(f"{CHANGES}, changes boolean", was_ladder_step=8, ladder_step=8, **SQL1_A)("""
        database | was_priority | was_rule_name | priority | rule_name | changes
        A        | 7            | R             | 9        | R         | true
        A        | 7            | R             | 9        | R         | true
        A        | 5            | -             | 9        | R         | true
        B        | 5            | -             | 9        | R         | true
        A        | 9            | R             | 9        | R         | false
    """)
    expected = draw.rows(f"{CHANGES}, endpoints bigint", was_ladder_step=8, ladder_step=8, **SQL1_A)("""
        database | was_priority | was_rule_name | priority | rule_name | endpoints
        A        | 7            | R             | 9        | R         | 2
        A        | 5            | -             | 9        | R         | 1
        B        | 5            | -             | 9        | R         | 1
    """)
    assert_same(changes_by_kind(kinds).select(*expected.columns), expected)


def test_the_endpoints_of_a_period_are_found_once(draw: Draw) -> None:
    # A, edit    [=========)
    # A, edit         [=========)
    # B, edit         [==========
    #          12:00 12:10 12:20
    periods = draw("""
        instance | database | since timestamp | until timestamp
        SQL1     | A        | 12:00           | 12:15
        SQL1     | A        | 12:10           | 12:20
        SQL1     | B        | 12:10           | -
    """)
    endpoints = draw("""
        instance | database | created_at timestamp
        SQL1     | A        | 11:59:59.999999
        SQL1     | A        | 12:00
        SQL1     | A        | 12:12
        SQL1     | A        | 12:20
        SQL1     | B        | 12:00
        SQL1     | B        | 11-21 12:00
        SQL2     | A        | 12:12
    """)
    expected = draw("""
        instance | database | created_at timestamp
        SQL1     | A        | 12:00
        SQL1     | A        | 12:12
        SQL1     | B        | 11-21 12:00
    """)
    assert_same(within_periods(endpoints, periods), expected)
