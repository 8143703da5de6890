"""The small warehouse that all notebooks are run on."""

import pytest
from pyspark.sql import SparkSession

from tests.factories import (
    at,
    by_source,
    catalog,
    create_rule,
    endpoint_event,
    message_event,
)
from tests.harness import Project


@pytest.fixture(scope="session")
def project(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Six conversations in one queue, every other one of level 9; and a rule that decides nothing."""
    rules = [
        create_rule("Urgent", 9, database="B", contract="Urgent"),
        create_rule("Misspelt", 2, database="B", contract="Contrakt"),
    ]
    project = Project(tmp_path_factory.mktemp("notebooks") / "project", catalog=catalog(), rules=rules)
    events = []
    for number in range(6):
        name = f"c{number}"
        contract = "Urgent" if number % 2 else "Contract"
        for kind in ("BEGIN_DIALOG", "DIALOG_CREATED"):
            events.append(endpoint_event(kind, name, event_time=at(number), contract=contract))
        events.append(message_event("SENT", f"{name}/0", event_time=at(number)))
        events.append(message_event("DELIVERED", f"{name}/0", event_time=at(number + 0.5)))
    project.add(by_source(*events))
    project.run(spark, at(60))
    return project
