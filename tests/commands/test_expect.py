"""Exit codes and texts of `nightly` and `expect` where the settings expect something."""

import json
from pathlib import Path

import pytest
import yaml
from pyspark.sql import SparkSession

from tests.field.running import run
from tests.support.factories import Row, at
from tests.support.small_project import a_bit_of_everything, project_in

pytestmark = pytest.mark.slow

AS_OF = "2026-11-20T13:00:00Z"
MET, MISSED = {"name": "waits", "oldest_wait": "1 h"}, {"p95_wait": "10 min"}
NOTHING = {"contract": "Misspelt", "oldest_wait": "1 h"}
MISSED_LINE = (
    "published, but not met: expectation 'p95_wait: 10 min': 3,480 s (4 messages); the settings ask for "
)


def config_in(folder: Path, *expect: Row) -> str:
    """A small project whose log has events of each kind."""
    project = project_in(folder)
    project.add(a_bit_of_everything())
    settings = yaml.safe_load(Path(project.config).read_text())
    Path(project.config).write_text(yaml.safe_dump({**settings, "expect": list(expect)}, sort_keys=False))
    return project.config


@pytest.fixture(scope="module")
def missed(embedded: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A published night with an expectation that is not met."""
    config = config_in(tmp_path_factory.mktemp("missed"), MET, MISSED, NOTHING)
    assert run("nightly", "--config", config, "--as-of", AS_OF, "--quiet").code == 6
    return config


def test_a_night_is_published_before_it_ends_with_6(missed: str) -> None:
    done = run("nightly", "--config", missed, "--as-of", AS_OF)

    assert done.code == 6
    assert [line for line in done.err.splitlines() if line.startswith(("error", "warning"))] == [
        f"error: {MISSED_LINE}at most 600 s"
    ]
    assert f"Expectations at {AS_OF}" in done.out
    assert "nothing to measure" in done.out
    assert run("waiting", "--config", missed, "--as-of", AS_OF).code == 0


def test_no_expect_tells_and_ends_with_0(missed: str) -> None:
    done = run("nightly", "--config", missed, "--as-of", AS_OF, "--quiet", "--no-expect")

    assert done.code == 0
    assert f"warning: {MISSED_LINE}at most 600 s" in done.err.splitlines()
    assert run("expect", "--config", missed).code == 6


def test_both_conditions_are_told(missed: str) -> None:
    options = ("nightly", "--config", missed, "--as-of", AS_OF, "--quiet", "--fail-on", "unresolved")
    done, without = run(*options), run(*options, "--no-expect")

    assert (done.code, without.code) == (6, 6)
    told = [line for line in done.err.splitlines() if line.startswith("error")]
    assert told[0] == f"error: {MISSED_LINE}at most 600 s"
    assert told[1].startswith("error: --fail-on unresolved: published, but 1 open message can't be placed")
    assert len(told) == 2


def test_expect_prints_what_the_night_wrote_in_the_order_of_the_settings(missed: str) -> None:
    done = run("expect", "--config", missed, "--as-of", AS_OF, "--format", "json")

    assert done.code == 6
    assert json.loads(done.out) == {
        "as_of": AS_OF,
        "expectations": [
            {"name": "waits", "value": 3480, "limit": 3600, "met": True, "messages": 4},
            {"name": "p95_wait: 10 min", "value": 3480, "limit": 600, "met": False, "messages": 4},
            {
                "name": "contract: Misspelt, oldest_wait: 1 h",
                "value": None,
                "limit": 3600,
                "met": True,
                "messages": 0,
            },
        ],
    }
    shown = run("expect", "--config", missed)
    assert shown.code == 6
    assert "nothing to measure" in shown.out
    assert "at most 600 s" in shown.out


def test_schedules_writes_the_same_and_ends_with_0(missed: str) -> None:
    assert run("schedules", "--config", missed, "--as-of", at(50).isoformat()).code == 0
    done = run("expect", "--config", missed, "--as-of", at(50).isoformat(), "--format", "json")

    assert done.code == 6
    assert [row["value"] for row in json.loads(done.out)["expectations"]] == [2880, 2880, None]


def test_an_as_of_that_was_not_published(missed: str) -> None:
    done = run("expect", "--config", missed, "--as-of", "2026-11-19")

    assert done.code == 1
    assert "--as-of 2026-11-19T00:00:00Z was not published" in done.err


def test_what_is_met_ends_with_0(embedded: SparkSession, tmp_path: Path) -> None:
    config = config_in(tmp_path, MET)
    done = run("nightly", "--config", config, "--as-of", AS_OF, "--quiet")

    assert done.code == 0
    assert "not met" not in done.err
    assert run("expect", "--config", config).code == 0


def test_nothing_expected(embedded: SparkSession, tmp_path: Path) -> None:
    config = config_in(tmp_path)
    assert run("nightly", "--config", config, "--as-of", AS_OF, "--quiet").code == 0
    done = run("expect", "--config", config)

    assert done.code == 0
    assert done.out == f"Nothing was expected at {AS_OF}: the settings of that run had no expect.\n"
