"""What snapshots show of catalogs, with the periods in which it holds."""

from datetime import datetime, timedelta
from typing import Any

from hypothesis import given, settings, strategies as st

from pipelines.config.catalog import Catalog
from pipelines.rules.statements import SourceLocation
from pipelines.server.catalog_statements import read_catalog_change
from pipelines.server.snapshots.history import binding_periods, catalog_at, catalog_history
from pipelines.server.snapshots.queue_names import name_queues
from pipelines.server.snapshots.server import CapturedSnapshot, ServerSnapshot, in_order
from tests.support.factories import NOON, Row

LATER, LAST = NOON + timedelta(hours=1), NOON + timedelta(hours=2)
BEFORE = NOON - timedelta(hours=1)
QUEUE = {"object_id": 1, "name": "Q", "is_receive_enabled": True, "is_enqueue_enabled": True}
ACTIVATED = {**QUEUE, "is_activation_enabled": True, "activation_procedure": "P", "max_readers": 3}


def _snapshot(
    taken_at: datetime = NOON, *, complete: tuple[str, ...] = (), **small: list[Row]
) -> ServerSnapshot:
    """A capture of database B with these rows."""
    columns = ("is_activation_enabled", "activation_procedure", "max_readers")
    nothing = {"service_queues": dict.fromkeys(columns)}
    rows = {view: [{**nothing.get(view, {}), **row} for row in each] for view, each in small.items()}
    declared = CapturedSnapshot("captures/a.jsonl", "SQL1", "B", taken_at, "C1")
    return ServerSnapshot(declared, {}, rows, frozenset(complete))


def _honoring(taken_at: datetime, *, is_on: bool) -> ServerSnapshot:
    return _snapshot(taken_at, databases=[{"name": "B", "is_honor_broker_priority_on": is_on}])


def _bound(taken_at: datetime, queue: int) -> ServerSnapshot:
    """A capture with queues Q and R, and service S bound to the first or the second."""
    queues = [QUEUE, {**QUEUE, "object_id": 2, "name": "R"}]
    services = [{"service_id": 1, "name": "S", "service_queue_id": queue}]
    return _snapshot(taken_at, service_queues=queues, services=services)


def _rows(*snapshots: ServerSnapshot) -> list[tuple[Any, ...]]:
    return [
        (fact.kind, fact.name, fact.attribute, fact.valid_from, fact.value, fact.valid_to)
        for fact in catalog_history(in_order(snapshots))
    ]


def test_a_switch_that_is_turned_off_has_two_periods() -> None:
    switched = _honoring(NOON, is_on=True), _honoring(LATER, is_on=True), _honoring(LAST, is_on=False)
    assert _rows(*switched) == [
        ("database", "B", "honor", None, "on", LAST),
        ("database", "B", "honor", LAST, "off", None),
    ]


def test_all_attributes_of_a_capture() -> None:
    guid = "ab12c0de-0000-4000-8000-00000000000b"
    row = {"name": "B", "is_honor_broker_priority_on": False, "is_broker_enabled": True}
    snapshot = _snapshot(
        databases=[{**row, "service_broker_guid": guid}],
        service_queues=[ACTIVATED],
        services=[{"service_id": 7, "name": "S", "service_queue_id": 1}],
        service_contracts=[{"service_contract_id": 6, "name": "DEFAULT"}],
    )
    assert _rows(snapshot) == [
        ("contract", "DEFAULT", "exists", None, "true", None),
        ("database", "B", "broker_enabled", None, "on", None),
        ("database", "B", "broker_guid", None, guid.upper(), None),
        ("database", "B", "honor", None, "off", None),
        ("queue", "Q", "activation", None, "on", None),
        ("queue", "Q", "max_readers", None, "3", None),
        ("queue", "Q", "on", None, "on", None),
        ("queue", "Q", "procedure", None, "P", None),
        ("service", "S", "queue", None, "Q", None),
    ]


def test_only_a_complete_view_ends_what_it_lacks() -> None:
    there, gone = [QUEUE], list[Row]()
    for complete, valid_to in [(("services",), None), (("service_queues",), LATER)]:
        later = _snapshot(LATER, complete=complete, service_queues=gone)
        assert _rows(_snapshot(service_queues=there), later) == [("queue", "Q", "on", None, "on", valid_to)]


def test_what_a_complete_view_lacked_begins_when_it_is_first_shown() -> None:
    empty = _snapshot(complete=("service_queues",), service_queues=[])
    assert _rows(empty, _snapshot(LATER, service_queues=[QUEUE])) == [("queue", "Q", "on", LATER, "on", None)]
    # A capture of an older version did not read the column: nothing was shown before.
    [_, queue] = _rows(_honoring(NOON, is_on=True), _snapshot(LATER, service_queues=[QUEUE]))
    assert queue == ("queue", "Q", "on", None, "on", None)


def _written(**keys: Any) -> Catalog:
    """A catalog file about database B."""
    return Catalog.model_validate({"instances": [{"name": "SQL1", "databases": [{"name": "B", **keys}]}]})


def test_a_written_key_wins_and_only_that() -> None:
    snapshot = _snapshot(
        databases=[{"name": "B", "is_honor_broker_priority_on": True}],
        service_queues=[ACTIVATED, {**ACTIVATED, "object_id": 2, "name": "R"}],
        services=[{"service_id": name, "name": name, "service_queue_id": 1} for name in "ST"],
    )
    history = catalog_history([snapshot])
    queues = [{"name": "Q", "activation": {"max_queue_readers": 9}}, {"name": "N"}]
    found = catalog_at(_written(queues=queues, services=[{"name": "S", "queue": "N"}]), history, None)
    assert [*found.database_rows()] == [("SQL1", "B", True)]
    assert [row[2:] for row in found.service_bindings()] == [("S", "N"), ("T", "Q")]
    r = ("R", "internal", 3, None)
    assert [row[2:] for row in found.monitor_rows()] == [("Q", "internal", 9, None), r]
    queues = [{"name": "Q", "event_notification": {"timeout_seconds": 5}}]
    found = catalog_at(_written(honor_broker_priority="off", queues=queues), history, None)
    assert [*found.database_rows()] == [("SQL1", "B", False)]
    assert [row[2:] for row in found.monitor_rows()] == [("Q", "external", None, 5.0), r]


def test_whether_a_queue_is_on_before_the_first_snapshot() -> None:
    off = {**QUEUE, "is_receive_enabled": False}
    first, then = _snapshot(service_queues=[off]), _snapshot(LATER, service_queues=[QUEUE])
    for snapshots, is_on in [((first, then), False), ((_snapshot(service_queues=[QUEUE]), then), True)]:
        for moment in (BEFORE, NOON, LATER):
            found = catalog_at(Catalog(), catalog_history(snapshots), moment)
            assert [*found.queue_rows()] == [("SQL1", "B", "Q", is_on)]


def test_bindings_of_all_times() -> None:
    history = catalog_history([_bound(NOON, 1), _bound(LATER, 2)])
    assert [*catalog_at(Catalog(), history, None).service_bindings()] == [("SQL1", "B", "S", "R")]
    of_service = ("SQL1", "B", "S")
    assert binding_periods(Catalog(), history) == [
        (*of_service, "Q", None, LATER),
        (*of_service, "R", LATER, None),
    ]
    written = _written(queues=[{"name": "N"}], services=[{"name": "S", "queue": "N"}])
    assert binding_periods(written, history) == [(*of_service, "N", None, None)]


def _logged(snapshots: list[ServerSnapshot], *log: tuple[datetime, str]) -> list[tuple[Any, ...]]:
    """The facts of snapshots and of statements in database B, with their sources."""
    place = SourceLocation("log.csv", 1, 1)
    read = [
        read_catalog_change(place, text, moment=moment, instance="SQL1", database="B") for moment, text in log
    ]
    changes = name_queues([change for change in read if change is not None], snapshots)
    return [
        (fact.name, fact.attribute, fact.valid_from, fact.value, fact.valid_to, fact.source)
        for fact in catalog_history(in_order(snapshots), changes)
    ]


def test_a_ddl_log_is_laid_beside_snapshots_by_time() -> None:
    """Half past twelve the service moves and the queue goes off; the snapshot of 13:00 shows both."""
    half = NOON + timedelta(minutes=30)
    off = [{**QUEUE, "is_receive_enabled": False}, {**QUEUE, "object_id": 2, "name": "R"}]
    services = [{"service_id": 1, "name": "S", "service_queue_id": 2}]
    snapshots = [_bound(NOON, 1), _snapshot(LATER, service_queues=off, services=services), _bound(LAST, 2)]
    log = [(half, "ALTER SERVICE S ON QUEUE dbo.R"), (half, "ALTER QUEUE q WITH STATUS = OFF")]
    assert _logged(snapshots, *log) == [
        ("Q", "on", None, "on", half, "snapshot"),
        ("Q", "on", half, "off", LAST, "ddl-log"),
        ("Q", "on", LAST, "on", None, "snapshot"),
        ("R", "on", None, "on", None, "snapshot"),
        ("S", "queue", None, "Q", half, "snapshot"),
        ("S", "queue", half, "R", None, "ddl-log"),
    ]


def test_what_a_ddl_log_sets_before_the_first_snapshot_is_not_known_before() -> None:
    assert _logged([_bound(NOON, 1)], (BEFORE, "ALTER QUEUE Q WITH STATUS = ON")) == [
        ("Q", "on", BEFORE, "on", None, "ddl-log"),
        ("R", "on", None, "on", None, "snapshot"),
        ("S", "queue", None, "Q", None, "snapshot"),
    ]


def test_create_and_drop_begin_and_end_all_of_a_queue() -> None:
    """The procedure has brackets in the view, and none in the statement."""
    create = "CREATE QUEUE Q WITH ACTIVATION (PROCEDURE_NAME = P, MAX_QUEUE_READERS = 3)"
    shown = _snapshot(service_queues=[{**ACTIVATED, "activation_procedure": "[dbo].[P]"}])
    values = [("activation", "on"), ("max_readers", "3"), ("on", "on"), ("procedure", "P")]
    facts = _logged([shown], (BEFORE, create), (LATER, "DROP QUEUE Q"))
    assert facts == [("Q", name, BEFORE, value, LATER, "ddl-log") for name, value in values]
    assert _logged([], (BEFORE, create)) == [
        ("Q", name, BEFORE, value, None, "ddl-log") for name, value in values
    ]
    # At one moment the last statement counts.
    assert _logged([], (BEFORE, create), (BEFORE, "DROP QUEUE Q")) == []


def test_queues_of_one_name_in_two_schemas() -> None:
    one, other = (BEFORE, "ALTER QUEUE dbo.Q WITH STATUS = ON"), (NOON, "ALTER QUEUE old.Q WITH STATUS = OFF")
    found = _logged([], one, other, (NOON, "ALTER SERVICE S ON QUEUE old.Q"))
    assert [(name, value) for name, _, _, value, _, _ in found] == [
        ("Q", "on"),
        ("old.Q", "off"),
        ("S", "old.Q"),
    ]
    assert [name for name, *_ in _logged([], other)] == ["Q"]


FLAGS = dict.fromkeys(("honor", "is_on", "has_contract"), st.booleans())
STATES = st.fixed_dictionaries(
    {**FLAGS, "queue": st.sampled_from([1, 2]), "procedure": st.sampled_from(["P", "R", None])}
)


def _shown(hour: int, state: Row) -> ServerSnapshot:
    """A complete capture of a database in this state."""
    queue = {**ACTIVATED, "is_receive_enabled": state["is_on"], "activation_procedure": state["procedure"]}
    queues = [{**queue, "object_id": number, "name": name} for number, name in ((1, "Q"), (2, "R"))]
    return _snapshot(
        NOON + timedelta(hours=hour),
        complete=("service_queues", "services", "service_contracts"),
        databases=[{"name": "B", "is_honor_broker_priority_on": state["honor"]}],
        service_queues=queues,
        services=[{"service_id": 1, "name": "S", "service_queue_id": state["queue"]}],
        service_contracts=[{"service_contract_id": 7, "name": "C"}] if state["has_contract"] else [],
    )


@settings(max_examples=30)
@given(states=st.lists(STATES, min_size=1, max_size=5), data=st.data())
def test_a_later_capture_changes_no_earlier_catalog(states: list[Row], data: st.DataObject) -> None:
    """Captures come in any order; the catalog of each moment is that of the newest capture up to it."""
    shown = [_shown(hour, state) for hour, state in enumerate(states)]
    arrived = data.draw(st.permutations(shown))
    assert catalog_history(in_order(arrived)) == catalog_history(shown)
    for number, snapshot in enumerate(shown):
        then = catalog_at(Catalog(), catalog_history(shown[: number + 1]), snapshot.taken_at)
        assert catalog_at(Catalog(), catalog_history(shown), snapshot.taken_at) == then
        state = states[number]
        assert [*then.database_rows()] == [("SQL1", "B", state["honor"])]
        assert [row[3] for row in then.service_bindings()] == ["Q" if state["queue"] == 1 else "R"]
        assert len([*then.monitor_rows()]) == (2 if state["procedure"] else 0)
    earlier = catalog_at(Catalog(), catalog_history(shown), BEFORE)
    assert [*earlier.database_rows()] == [("SQL1", "B", states[0]["honor"])]
