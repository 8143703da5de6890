"""The pages of docs that are written from code are those of the code, and lack nothing."""

import inspect
import re

import pytest

from dev.pages import DOCS, MEANINGS, pages, rejection_reasons, server_views
from pipelines.ingest.reasons import REASONS, SNAPSHOT_REASONS
from pipelines.ingest.snapshots import validation
from pipelines.server.snapshots.views import FILE_VIEWS, QUEUE


@pytest.mark.parametrize("name", pages())
def test_committed_pages_are_the_generated_ones(name: str) -> None:
    assert (DOCS / name).read_text("utf-8") == pages()[name], "run make docs"


def test_every_view_has_a_meaning() -> None:
    assert set(MEANINGS) == {*FILE_VIEWS, QUEUE}


def test_columns_with_the_names_that_may_replace_them() -> None:
    assert (
        "| `dm_broker_activated_tasks` | `spid`, `queue_id` (names in `service_queues`, or `queue_name`) "
        "| running readers |"
    ) in server_views().splitlines()


def test_columns_that_a_view_may_lack() -> None:
    assert "| `services` | `service_id`, `name`, `service_queue_id?` | names and bindings |" in server_views()


def test_every_reason_has_a_line() -> None:
    named = re.findall(r"^- `(\S+)`: .", rejection_reasons(), re.MULTILINE)
    assert named == [*REASONS, *SNAPSHOT_REASONS]


def test_the_reasons_of_snapshots_are_those_of_their_validation() -> None:
    written = set(re.findall(r'"(unknown_\w+|repeated_\w+|\w+_out_of_range)"', inspect.getsource(validation)))
    assert written == set(SNAPSHOT_REASONS)
