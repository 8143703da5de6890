"""The page of metrics names each of them, with its labels."""

import re

from pipelines.metrics.read import FAMILIES
from tests.support.processes import ROOT

PAGE = (ROOT / "docs" / "monitoring.md").read_text("utf-8")


def test_the_table_has_all_metrics_and_labels() -> None:
    found = {}
    for names, labels in re.findall(r"^\| (`service_broker_[^|]*) \| ([^|]*)\|", PAGE, re.MULTILINE):
        told = re.sub(r" *\([^)]*\)", "", labels).strip()
        for name in re.findall(r"`(\w+)`", names):
            found[name] = tuple(told.split(", ")) if told else ()
    assert found == {family.full_name: family.labels for family in FAMILIES}
