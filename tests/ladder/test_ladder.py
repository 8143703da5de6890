"""The precedence ladder: the step that decides, periods of rules, and levels that the server gave."""

from pyspark.sql import DataFrame, functions as F

from pipelines.ladder.ladder import levels_of_kinds, undecided, with_level, with_priority
from pipelines.rules.statements import STEPS
from schemas.ledger import ENDPOINTS
from schemas.outputs import PRIORITY_RULES
from tests.support.drawn import Draw
from tests.support.factories import LONG_AGO, at
from tests.support.frames import assert_same

NAMES = {"instance": "SQL1", "database": "A", "local_service": "Orders", "remote_service": "Stock"}
KINDS = "instance string, database string, contract string, local_service string, remote_service string"
LEVELS = (
    f"{KINDS}, since timestamp, until timestamp, priority int, rule_name string, ladder_step int, "
    "is_undecided boolean"
)


def test_the_steps_are_those_of_the_documentation() -> None:
    table = ["C L R", "C L *", "C * R", "C * *", "* L R", "* L *", "* * R", "* * *"]
    assert [tuple(mark != "*" for mark in row.split()) for row in table] == list(STEPS)


def test_each_step_comes_before_the_next(draw: Draw) -> None:
    """The rules end one by one, the first step first; endpoints of the same names are created meanwhile."""
    # C L R  [==)
    # C L *  [=====)
    # C * R  [========)
    # C * *  [===========)
    # * L R  [==============)
    # * L *  [=================)
    # * * R  [====================)
    # * * *  [=======================)
    #       12:00 01 02 03 04 05 06 07 08
    rules = draw.rows(PRIORITY_RULES, instance="SQL1", database="A")("""
        name  | contract | local_service | remote_service | level | valid_from | valid_to
        C L R | Gold     | Orders        | Stock          | 8     | 12:00      | 12:01
        C L * | Gold     | Orders        | -              | 7     | 12:00      | 12:02
        C * R | Gold     | -             | Stock          | 6     | 12:00      | 12:03
        C * * | Gold     | -             | -              | 4     | 12:00      | 12:04
        * L R | -        | Orders        | Stock          | 3     | 12:00      | 12:05
        * L * | -        | Orders        | -              | 2     | 12:00      | 12:06
        * * R | -        | -             | Stock          | 1     | 12:00      | 12:07
        * * * | -        | -             | -              | 9     | 12:00      | 12:08
    """)
    expected = draw("""
        created_at timestamp | priority int | rule_name | ladder_step int
        11:59:59.999999      | 5            | -         | -
        12:00                | 8            | C L R     | 1
        12:00:59.999999      | 8            | C L R     | 1
        12:01                | 7            | C L *     | 2
        12:02                | 6            | C * R     | 3
        12:03                | 4            | C * *     | 4
        12:04                | 3            | * L R     | 5
        12:05                | 2            | * L *     | 6
        12:06                | 1            | * * R     | 7
        12:07                | 9            | * * *     | 8
        12:08                | 5            | -         | -
    """)
    names = {name: F.lit(value) for name, value in (NAMES | {"contract": "Gold"}).items()}
    endpoints = expected.select("created_at").withColumns(names)
    assert_same(with_priority(endpoints, rules).select(*expected.columns), expected)


def test_names_count_byte_by_byte(draw: Draw) -> None:
    """Case, blanks (drawn as dots), accents, the word ANY, and the place decide."""

    def with_blanks(rows: DataFrame) -> DataFrame:
        return rows.replace({"Gold·": "Gold ", "Stock·": "Stock "})

    rules = draw.rows(PRIORITY_RULES, valid_from=LONG_AGO)("""
        instance | database | name     | contract | local_service | remote_service | level
        SQL1     | A        | contract | Gold     | -             | -              | 10
        SQL1     | A        | blank    | Gold·    | -             | -              | 9
        SQL1     | A        | any      | ANY      | -             | -              | 8
        SQL1     | A        | empty    | ''       | -             | -              | 7
        SQL1     | A        | local    | -        | \u00d3rders        | -              | 6
        SQL1     | A        | remote   | -        | -             | Stock          | 4
        SQL1     | a        | database | -        | -             | -              | 3
        sql1     | A        | instance | -        | -             | -              | 2
    """)
    expected = with_blanks(
        draw("""
            instance | database | contract | local_service | remote_service | priority int | rule_name
            SQL1     | A        | Gold     | Orders        | Other          | 10           | contract
            SQL1     | A        | gold     | Orders        | Other          | 5            | -
            SQL1     | A        | Gold·    | Orders        | Other          | 9            | blank
            SQL1     | A        | ANY      | Orders        | Other          | 8            | any
            SQL1     | A        | ''       | Orders        | Other          | 7            | empty
            SQL1     | A        | Silver   | \u00d3rders        | Other          | 6            | local
            SQL1     | A        | Silver   | O\u0301rders        | Other          | 5            | -
            SQL1     | A        | Silver   | Orders        | Stock          | 4            | remote
            SQL1     | A        | Silver   | Orders        | Stock·         | 5            | -
            SQL1     | a        | Silver   | Orders        | Other          | 3            | database
            sql1     | A        | Silver   | Orders        | Other          | 2            | instance
            SQL2     | A        | Gold     | Orders        | Other          | 5            | -
        """)
    )
    endpoints = expected.drop("priority", "rule_name").withColumn("created_at", F.lit(LONG_AGO))
    assert_same(with_priority(endpoints, with_blanks(rules)).select(*expected.columns), expected)


def test_levels_of_kinds_change_with_the_rules_of_their_database(draw: Draw) -> None:
    # gold    [7========)
    # all          [3==========
    #       12:00 12:10 12:20
    rules = draw.rows(PRIORITY_RULES, database="A")("""
        instance | name | contract | level | valid_from | valid_to
        SQL1     | gold | Gold     | 7     | 12:00      | 12:20
        SQL1     | all  | -        | 3     | 12:10      | -
        SQL2     | far  | -        | 1     | 12:05      | -
    """)
    kinds = draw.rows(KINDS, **NAMES)("""
        database | contract
        A        | Gold
        A        | Silver
        B        | Gold
    """)
    draw.require(levels_of_kinds(kinds, rules), LEVELS)("""
        instance | database | contract | since | until | priority | rule_name | ladder_step | is_undecided
        SQL1     | A        | Gold     | -     | 12:00 | 5        | -         | -           | false
        SQL1     | A        | Gold     | 12:00 | 12:10 | 7        | gold      | 4           | false
        SQL1     | A        | Gold     | 12:10 | 12:20 | 7        | gold      | 4           | false
        SQL1     | A        | Gold     | 12:20 | -     | 3        | all       | 8           | false
        SQL1     | A        | Silver   | -     | 12:00 | 5        | -         | -           | false
        SQL1     | A        | Silver   | 12:00 | 12:10 | 5        | -         | -           | false
        SQL1     | A        | Silver   | 12:10 | 12:20 | 3        | all       | 8           | false
        SQL1     | A        | Silver   | 12:20 | -     | 3        | all       | 8           | false
        SQL1     | B        | Gold     | -     | -     | 5        | -         | -           | false
    """)


def test_a_name_that_is_not_known_may_be_that_of_a_rule(draw: Draw) -> None:
    """No view shows the sender of what stands in a queue: its name is empty."""
    rules = draw.rows(PRIORITY_RULES, instance="SQL1", database="A", valid_from=LONG_AGO)("""
        name   | contract | local_service | remote_service | level | valid_to
        stock  | Gold     | Orders        | Stock          | 8     | -
        orders | Gold     | Orders        | -              | 7     | -
        iron   | Iron     | Orders        | -              | 6     | -
        gone   | Iron     | Orders        | Stock          | 6     | 12:00
        late   | -        | -             | Stock          | 2     | -
    """)
    kinds = draw.rows(KINDS, **NAMES)("""
        contract | local_service | remote_service
        Gold     | Orders        | ''
        Iron     | Orders        | ''
        Tin      | Other         | ''
        ''       | Orders        | ''
        ''       | Orders        | Stock
        ''       | Orders        | Other
    """)
    decided = with_priority(kinds.withColumn("created_at", F.lit(at(0))), rules)
    found = undecided(decided, rules).select("contract", "local_service", "remote_service")
    assert sorted(map(tuple, found.collect())) == [
        ("", "Orders", ""),  # stock or late
        ("", "Orders", "Other"),  # orders or iron
        ("", "Orders", "Stock"),  # stock
        ("Gold", "Orders", ""),  # stock; of iron, gone stands no more
        ("Tin", "Other", ""),  # late
    ]
    ahead = rules.where("name <> 'stock'")
    found = undecided(with_priority(decided.drop("priority", "rule_name", "ladder_step"), ahead), ahead)
    assert ("Gold", "Orders") not in [*map(tuple, found.select("contract", "local_service").collect())]


def test_an_endpoint_has_the_level_of_its_creation_or_that_of_the_server(draw: Draw) -> None:
    """If the creation was not logged, the server's level counts, and the rules of today may explain it."""
    # Gold   5  | gold 7 | all 3
    #         12:00    12:10
    levels = draw.rows(LEVELS, **NAMES)("""
        contract | since | until | priority | rule_name | ladder_step | is_undecided
        Gold     | -     | 12:00 | 5        | -         | -           | false
        Gold     | 12:00 | 12:10 | 7        | gold      | 4           | false
        Gold     | 12:10 | -     | 3        | all       | 8           | false
        Silver   | -     | -     | 9        | silver    | 4           | false
        Tin      | -     | -     | 8        | tin       | 2           | true
    """)
    expected = draw.columns(ENDPOINTS)("""
        contract | created_at      | level_source | logged_priority | priority | rule_name | ladder_step
        Gold     | 11:59:59.999999 | ladder       | -               | 5        | -         | -
        Gold     | 12:00           | ladder       | 9               | 7        | gold      | 4
        Gold     | 12:09:59.999999 | -            | -               | 7        | gold      | 4
        Gold     | 12:10           | ladder       | -               | 3        | all       | 8
        Gold     | 12:00           | server       | 3               | 3        | all       | 8
        Gold     | 12:10           | server       | 7               | 7        | -         | -
        Silver   | 12:10           | ladder       | -               | 9        | silver    | 4
        Tin      | 12:10           | server       | 8               | 8        | -         | -
    """)
    endpoints = expected.drop("priority", "rule_name", "ladder_step").withColumns(
        {name: F.lit(value) for name, value in NAMES.items()}
    )
    assert_same(with_level(endpoints, levels).select(*expected.columns), expected)
    of_server = endpoints.where("contract = 'Gold' and level_source = 'server'")
    draw.require(with_level(of_server, levels, shown_at=F.lit(at(5))), ENDPOINTS)("""
        priority | rule_name | ladder_step
        3        | -         | -
        7        | gold      | 4
    """)
