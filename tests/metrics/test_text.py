"""The text of metrics, and the two parsers that read it."""

import pytest
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families

from pipelines.metrics.text import Family, Sample, write_text

NASTY = 'a"b\\n\\ c\nd é'
WAITS = Family("oldest_wait_seconds", ("instance", "queue", "level"), "Longest wait.")
COUNT = Family("unresolved", (), "Open messages.")
NOTHING = Family("findings", ("code",), "Findings.")
FAMILIES: list[tuple[Family, list[Sample]]] = [
    (WAITS, [(("SQL1", NASTY, 5), 90), (("SQL1", None, 10), 2777.95)]),
    (NOTHING, []),
    (COUNT, [((), 3.0)]),
]
TEXT = r"""# HELP service_broker_oldest_wait_seconds Longest wait.
# TYPE service_broker_oldest_wait_seconds gauge
service_broker_oldest_wait_seconds{instance="SQL1",queue="a\"b\\n\\ c\nd é",level="5"} 90
service_broker_oldest_wait_seconds{instance="SQL1",queue="",level="10"} 2777.95
# HELP service_broker_unresolved Open messages.
# TYPE service_broker_unresolved gauge
service_broker_unresolved 3
# EOF
"""


def test_the_text() -> None:
    assert write_text(FAMILIES) == TEXT


@pytest.mark.parametrize(
    "parse", [openmetrics.text_string_to_metric_families, text_string_to_metric_families]
)
def test_a_parser_reads_what_was_written(parse: object) -> None:
    assert callable(parse)
    found = {
        (sample.name, tuple(sample.labels.values())): (family.type, sample.value, sample.timestamp)
        for family in parse(TEXT)
        for sample in family.samples
    }
    assert found == {
        ("service_broker_oldest_wait_seconds", ("SQL1", NASTY, "5")): ("gauge", 90, None),
        ("service_broker_oldest_wait_seconds", ("SQL1", "", "10")): ("gauge", 2777.95, None),
        ("service_broker_unresolved", ()): ("gauge", 3, None),
    }


def test_no_metric_is_a_text_of_its_end() -> None:
    assert write_text([(NOTHING, [])]) == "# EOF\n"
