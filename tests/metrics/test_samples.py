"""The dashboard and the alerts of samples/monitoring ask for metrics and labels that there are."""

import json
import re
import shutil
import subprocess

import pytest
import yaml

from pipelines.metrics.read import AGE, DURATION, FAMILIES, FINISHED, LEAKED, UNPLACED
from pipelines.why.causes import CODES
from tests.support.processes import ROOT

FOLDER = ROOT / "samples" / "monitoring"
LABELS = {family.full_name: set(family.labels) for family in FAMILIES}
RULES = yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"][0]["rules"]
DASHBOARD = json.loads((FOLDER / "grafana.json").read_text())


ALERTS = [rule["expr"] for rule in RULES]
LISTS = [each["query"]["query"] for each in DASHBOARD["templating"]["list"] if each["type"] == "query"]
QUERIES = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]] + LISTS


@pytest.mark.parametrize("query", [*ALERTS, *QUERIES])
def test_a_query_names_metrics_and_labels_that_there_are(query: str) -> None:
    asked = re.findall(r"(service_broker_\w+)(?:\{(.*?)\})?", query)
    assert asked
    known = set()
    for metric, selected in asked:
        known |= LABELS[metric]
        assert set(re.findall(r'(\w+)(?:=~|!~|!=|=)"', selected)) <= LABELS[metric]
    for names in re.findall(r"\bby \(([^)]*)\)", query):
        assert set(names.split(", ")) <= known


def test_every_metric_is_on_the_dashboard() -> None:
    assert {name for query in QUERIES for name in re.findall(r"service_broker_\w+", query)} == set(LABELS)
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))


def test_a_panel_that_may_be_empty_says_what_that_means() -> None:
    """Zeros are left out of most metrics."""
    always = {each.full_name for each in (UNPLACED, LEAKED, DURATION, FINISHED, AGE)}
    for panel in DASHBOARD["panels"]:
        asked = " ".join(target["expr"] for target in panel["targets"])
        has_data = "vector(0)" in asked or not always.isdisjoint(re.findall(r"service_broker_\w+", asked))
        assert has_data or panel["fieldConfig"]["defaults"]["noValue"], panel["title"]


def test_texts_of_alerts_name_labels_of_their_query() -> None:
    for rule in RULES:
        metrics = re.findall(r"service_broker_\w+", rule["expr"])
        known = set().union(*(LABELS[metric] for metric in metrics))
        for text in rule["annotations"].values():
            assert set(re.findall(r"\$labels\.(\w+)", text)) <= known


def test_codes_of_the_alerts_are_causes() -> None:
    found = [match for query in ALERTS for match in re.findall(r'code!~"([^"]*)"', query)]
    codes = "|".join(found).split("|")
    assert codes
    assert set(codes) <= set(CODES)


def test_promtool_runs_the_tests_of_the_alerts() -> None:
    if (promtool := shutil.which("promtool")) is None:
        pytest.skip("promtool is not installed")
    for words in ("check rules alerts.yaml", "check config prometheus.yml", "test rules alerts_test.yaml"):
        done = subprocess.run(
            [promtool, *words.split()], cwd=FOLDER, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
