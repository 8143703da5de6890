"""The section about the views of a server has every view that a file may be, and the names of its columns."""

from dev.server_views import MEANINGS, server_views
from pipelines.config.snapshots.views import FILE_VIEWS, QUEUE


def test_every_view_has_a_meaning() -> None:
    assert set(MEANINGS) == {*FILE_VIEWS, QUEUE}


def test_columns_with_the_names_that_may_replace_them() -> None:
    assert (
        "| `dm_broker_activated_tasks` | `spid`, `queue_id` (names in `service_queues`, or `queue_name`) "
        "| running readers |"
    ) in server_views().splitlines()


def test_columns_that_a_view_may_lack() -> None:
    assert "| `services` | `service_id`, `name`, `service_queue_id?` | names and bindings |" in server_views()
