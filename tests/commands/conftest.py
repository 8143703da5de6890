"""A published night that many tests ask about."""

import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.sql import SparkSession

from tests.field.running import Case, Outcome
from tests.support.small_project import a_bit_of_everything, project_in

MET, MISSED = {"name": "waits", "oldest_wait": "1 h"}, {"p95_wait": "10 min"}
NOTHING = {"contract": "Misspelt", "oldest_wait": "1 h"}


class Night(NamedTuple):
    """A project, and how its only night ended."""

    case: Case
    outcome: Outcome


@pytest.fixture(scope="session")
def night(embedded: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Night:
    """The night of 2026-11-20T13:00:00Z, with an expectation that is not met; nothing writes it later."""
    folder = tmp_path_factory.mktemp("published")
    project_in(folder, expect=[MET, MISSED, NOTHING]).add(a_bit_of_everything())
    case = Case(folder)
    options = ("--fail-on", "unresolved", "--metrics", folder / "night.prom", "--format", "json")
    return Night(case, case.job("nightly", "--as-of", "2026-11-20T13:00:00Z", *options))


@pytest.fixture
def published(night: Night) -> Case:
    """The project of that night."""
    return night.case


def copy_of(published: Case, folder: Path) -> Case:
    """A copy of a project that a test may write, without the files that it has ingested."""
    shutil.copytree(published.folder, folder, ignore=shutil.ignore_patterns("*.jsonl"))
    return Case(folder)


@pytest.fixture
def copied(published: Case, tmp_path: Path) -> Case:
    """A copy of the project of that night."""
    return copy_of(published, tmp_path / "copied")
