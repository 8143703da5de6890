"""The small warehouses that the notebooks are run on."""

import pytest
from pyspark.sql import SparkSession

from tests.support.factories import at, by_source, catalog, create_rule, endpoint_event, message_event
from tests.support.harness import Project
from tests.support.packing import packing_night


@pytest.fixture(scope="session")
def project(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Six conversations in one queue, every other one of level 9; and a rule that decides nothing."""
    rules = [
        create_rule("Urgent", 9, database="B", contract="Urgent"),
        create_rule("Misspelt", 2, database="B", contract="Contrakt"),
    ]
    project = Project(tmp_path_factory.mktemp("notebooks") / "project", catalog=catalog(), rules=rules)
    rows = []
    for number in range(6):
        begun, arrived = {"event_time": at(number)}, {"event_time": at(number + 0.5)}
        contract = {"contract": "Urgent" if number % 2 else "Contract"}
        rows += [
            endpoint_event("BEGIN_DIALOG", f"c{number}", **contract, **begun),
            endpoint_event("DIALOG_CREATED", f"c{number}", **contract, **begun),
            message_event("SENT", f"c{number}/0", **begun),
            message_event("DELIVERED", f"c{number}/0", **arrived),
        ]
    project.add(by_source(*rows))
    project.run(session, at(60))
    return project


@pytest.fixture(scope="session")
def packing(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The packing station of the sample: receives, and readers that are the bottleneck."""
    return packing_night(session, tmp_path_factory.mktemp("packing") / "project")
