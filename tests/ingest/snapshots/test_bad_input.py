"""Snapshots that are not as they should be: what stops a run is listed, what does not is recorded."""

import csv
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from pyspark.sql import SparkSession

from pipelines.config.errors import ConfigError, InputError
from pipelines.config.load import load_settings
from pipelines.nightly.night import ingest_new_input
from pipelines.storage.warehouse import Warehouse
from tests.support.factories import NOON, Row, at
from tests.support.server import write_csv, write_views
from tests.support.snapshot_views import GROUP, Server, conversation, handle, ready, shown, views


def settings_of(folder: Path, *snapshots: Row) -> Path:
    base = {"instance": "SQL1", "database": "B", "taken_at": NOON.isoformat(), "format": "parquet"}
    content = {"warehouse": "warehouse", "snapshots": [{**base, **each} for each in snapshots]}
    path = folder / "settings.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def test_all_that_is_missing_or_mistyped_is_listed(tmp_path: Path) -> None:
    write_views(tmp_path / "snap", views(), "parquet")
    write_views(tmp_path / "text", views(), "csv")
    table = pq.read_table(tmp_path / "snap" / "dbo.TargetQueue.parquet")
    table = table.drop_columns(["message_sequence_number", "message_enqueue_time", "priority"])
    pq.write_table(
        table.append_column("Priority", pa.array([], pa.float64())), tmp_path / "snap" / "dbo.Q.parquet"
    )
    (tmp_path / "snap" / "service_contracts.parquet").unlink()
    (tmp_path / "text" / "services.csv").write_text("service_id,label\n")
    (tmp_path / "text" / "databases.csv").write_text("name\n")
    path = settings_of(
        tmp_path,
        {"path": "snap", "complete": ["transmission_queue", "dbo.Nowhere"]},
        {"path": "text", "format": "csv", "database": "C"},
        {"path": "none", "database": "D"},
    )
    with pytest.raises(InputError) as caught:
        load_settings(path)
    lines = str(caught.value).splitlines()
    assert lines[0] == "snapshots break their contract; export these again:"
    assert lines[1:] == [
        f"  {tmp_path}/snap/dbo.Q.parquet: column Priority is double; it must be a whole number",
        f"  {tmp_path}/snap/dbo.Q.parquet: column message_sequence_number is missing",
        f"  {tmp_path}/snap: dbo.Nowhere.parquet is not there, though complete names it; export it, or take "
        "it out of complete",
        f"  {tmp_path}/snap: service_contracts.parquet is not there, and conversation_endpoints needs it for "
        "its names; export it",
        f"  {tmp_path}/text/databases.csv: column is_honor_broker_priority_on "
        "(or is_broker_priority_honored) is missing",
        f"  {tmp_path}/text/services.csv: column name is missing",
        f"  snapshots: {tmp_path}/none is not a folder; export the views into it, one file a view",
    ]


def test_what_small_views_can_not_mean_is_listed(tmp_path: Path) -> None:
    """A comma without quotes, a line between the rows, and ANY written as 0."""
    rule = {"name": "Base", "service_contract_id": 0, "local_service_id": 9, "remote_service_name": None}
    rules = [{**rule, "priority": 7}]
    for name in ("comma", "tool", "any"):
        write_views(tmp_path / name, views(conversation_priorities=rules if name == "any" else []), "csv")
    with (tmp_path / "comma" / "service_contracts.csv").open("a") as file:
        file.write("10,Simple,Contract\n")
    with (tmp_path / "tool" / "services.csv").open("a") as file:
        file.write("Msg 1205\n")
    contracts, services = tmp_path / "comma" / "service_contracts.csv", tmp_path / "tool" / "services.csv"
    more, fewer = (len(path.read_text().splitlines()) for path in (contracts, services))
    path = settings_of(
        tmp_path, *({"path": name, "format": "csv", "database": name} for name in ("comma", "tool", "any"))
    )
    with pytest.raises(InputError) as caught:
        load_settings(path)
    assert str(caught.value).splitlines()[1:] == [
        f"  {contracts}: line {more}: the row has more fields than the header; a value with a comma needs "
        "quotes",
        f"  {services}: line {fewer}: the row 'Msg 1205' has fewer fields than the header; a row must stand "
        "on one line (sqlcmd -w 65535), and a value with a line end needs quotes",
        f"  {tmp_path}/any/conversation_priorities.csv: service_contract_id of 'Base' is 0, which "
        "service_contracts lacks; ANY is an empty field",
        f"  {tmp_path}/any/conversation_priorities.csv: local_service_id of 'Base' is 9, which "
        "services lacks; ANY is an empty field",
    ]


def test_two_snapshots_of_one_moment_are_refused(tmp_path: Path) -> None:
    write_views(tmp_path / "snap", views(), "parquet")
    with pytest.raises(ConfigError, match=r"SQL1\.B has another snapshot of that moment, on line"):
        load_settings(settings_of(tmp_path, {"path": "snap"}, {"path": "snap"}))


def test_without_snapshots_inputs_and_catalog_are_needed(tmp_path: Path) -> None:
    (tmp_path / "settings.yaml").write_text("warehouse: w\nsnapshots: []\n")
    with pytest.raises(ConfigError, match="inputs: is missing") as caught:
        load_settings(tmp_path / "settings.yaml")
    assert "catalog: is missing" in str(caught.value)


def test_spellings_of_a_servers_tools_are_read(session: SparkSession, tmp_path: Path) -> None:
    """Braces, lower case, bits as words, blanks behind the state, upper-case headers, long fractions."""
    server = Server(tmp_path)
    given = views(conversation_endpoints=[], dbo_TargetQueue=[])
    endpoint = {
        **shown(1, False, priority=" 7"),
        "conversation_handle": "{" + handle(1, False).lower() + "}",
        "conversation_id": conversation(1).lower(),
        "is_initiator": "False",
        "state": "CO  ",
        "lifetime": "2094-12-08 14:14:07.003",
    }
    message = {**ready(1, False, 0), "message_enqueue_time": "2026-11-20 11:30:00.1234567", "status": "1"}
    for view, rows in given.items():
        folder = tmp_path / "text"
        folder.mkdir(exist_ok=True)
        if rows:
            write_csv(folder / f"{view}.csv", rows)
    write_csv(tmp_path / "text" / "conversation_endpoints.csv", [{k.upper(): v for k, v in endpoint.items()}])
    write_csv(tmp_path / "text" / "dbo.TargetQueue.csv", [message])
    snapshot = {"path": "text", "instance": "SQL1", "database": "B", "format": "csv"}
    server.settings["snapshots"] = [{**snapshot, "taken_at": "2026-11-20T12:00:00"}]
    server.path.write_text(yaml.safe_dump(server.settings))
    server.project.run(session, NOON)
    [row] = server.project.table("receive_schedule")
    assert row["message_id"] == f"{conversation(1)}/initiator/0"
    assert row["arrived_at"] == at(-30).replace(microsecond=123456)
    [known] = server.project.table("endpoints")
    assert (known["conversation_handle"], known["priority"]) == (handle(1, False), 7)
    assert (known["created_by"], known["created_at"]) == ("lifetime", at(-60).replace(microsecond=3000))


def rejected(server: Server) -> set[tuple[str, str]]:
    return {(row["reason"], row["event_id"]) for row in server.project.table("rejected_events")}


def test_rows_that_fit_nothing_are_rejected_with_reasons(session: SparkSession, tmp_path: Path) -> None:
    server = Server(tmp_path, quality={"max_rejected_share": 1.0})
    endpoints = [
        shown(1, False),
        shown(2, False),
        shown(3, True, conversation_handle=handle(2, False)),
        shown(4, False, state="XX"),
        shown(5, False, priority=11),
        shown(6, False, service_id=99),
        shown(7, False, conversation_id=None),
    ]
    server.snapshot(views(conversation_endpoints=endpoints), NOON)
    server.project.run(session, NOON)
    where = "SQL1/B/2026-11-20T12:00:00Z/conversation_endpoints"
    assert rejected(server) == {
        ("repeated_handle", where),
        ("unknown_state", where),
        ("priority_out_of_range", where),
        ("unknown_service", where),
        ("missing_conversation_id", where),
    }
    assert {row["conversation_id"] for row in server.project.table("endpoints")} == {conversation(1)}
    [batch] = [row for row in server.project.table("batches") if row["source"] == "snapshots"]
    assert (batch["events"], batch["accepted"], batch["rejected"]) == (9, 3, 6)


def test_texts_that_are_no_values_are_rejected(session: SparkSession, tmp_path: Path) -> None:
    server = Server(tmp_path, quality={"max_rejected_share": 1.0})
    good = {key: value for key, value in ready(1, False, 0).items() if key != "message_enqueue_time"}
    folder = tmp_path / "text"
    write_views(folder, views(conversation_endpoints=[shown(1, False)]), "csv")
    with (folder / "dbo.TargetQueue.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([good, good.values(), {**good, "status": "one"}.values(), ["1", "2"]])
    snapshot: dict[str, Any] = {"path": "text", "instance": "SQL1", "database": "B", "format": "csv"}
    server.settings["snapshots"] = [{**snapshot, "taken_at": NOON.isoformat()}]
    server.path.write_text(yaml.safe_dump(server.settings))
    server.project.run(session, NOON)
    where = "SQL1/B/2026-11-20T12:00:00Z/dbo.TargetQueue"
    assert rejected(server) == {("unreadable_status", where), ("broken_row", where)}
    assert server.received() == [f"{conversation(1)}/initiator/0"]
    [row] = server.project.table("receive_schedule")
    assert row["conversation_group_id"] == GROUP.format(0, 1)


def test_nanoseconds_are_listed_as_another_type(tmp_path: Path) -> None:
    """As in event files. Old writers' times in 96 bits only look like them."""
    write_views(tmp_path / "snap", views(dbo_TargetQueue=[ready(1, False, 0)]), "parquet")
    file = tmp_path / "snap" / "dbo.TargetQueue.parquet"
    table = pq.read_table(file)
    place = table.schema.get_field_index("message_enqueue_time")
    fine = pa.field("message_enqueue_time", pa.timestamp("ns"))
    pq.write_table(table.cast(table.schema.set(place, fine)), file)
    path = settings_of(tmp_path, {"path": "snap"})
    with pytest.raises(InputError) as caught:
        load_settings(path)
    assert str(caught.value).splitlines()[1:] == [
        f"  {file}: column message_enqueue_time is timestamp[ns]; it must be a time in microseconds"
    ]
    pq.write_table(table, file, use_deprecated_int96_timestamps=True)
    load_settings(path)


def test_parquet_of_other_writers_is_read(session: SparkSession, tmp_path: Path) -> None:
    """Texts in dictionaries, and times without a zone, in 96 bits too."""
    server = Server(tmp_path)
    server.snapshot(
        views(
            conversation_endpoints=[shown(number, False) for number in (1, 2, 3)],
            dbo_TargetQueue=[ready(1, False, 0)],
            dbo_Second=[ready(2, False, 0)],
            dbo_Third=[ready(3, False, 0)],
        ),
        NOON,
    )
    for name in ("conversation_endpoints", "dbo.TargetQueue", "services"):
        file = tmp_path / "snap0" / f"{name}.parquet"
        table = pq.read_table(file)
        texts = {field.name for field in table.schema if field.type == pa.string()}
        words = pa.dictionary(pa.int32(), pa.string())
        types = [field.with_type(words) if field.name in texts else field for field in table.schema]
        pq.write_table(table.cast(pa.schema(types)), file)
    for name, is_old in (("dbo.Second", True), ("dbo.Third", False)):
        file = tmp_path / "snap0" / f"{name}.parquet"
        table = pq.read_table(file)
        zoneless = [
            field.with_type(pa.timestamp("us")) if field.type == pa.timestamp("us", "UTC") else field
            for field in table.schema
        ]
        pq.write_table(table.cast(pa.schema(zoneless)), file, use_deprecated_int96_timestamps=is_old)
    server.project.run(session, NOON)
    arrived = {row["message_id"]: row["arrived_at"] for row in server.project.table("receive_schedule")}
    assert arrived == {f"{conversation(number)}/initiator/0": at(-30) for number in (1, 2, 3)}


def spoil(file: Path) -> None:
    """Damage the first page of a Parquet file; its footer is whole."""
    whole = file.read_bytes()
    file.write_bytes(whole[:4] + bytes(each ^ 0xFF for each in whole[4:30]) + whole[30:])


def test_small_views_that_can_not_be_read_are_named(tmp_path: Path) -> None:
    write_views(tmp_path / "snap", views(), "parquet")
    spoil(tmp_path / "snap" / "services.parquet")
    write_views(tmp_path / "text", views(), "csv")
    contracts = tmp_path / "text" / "service_contracts.csv"
    contracts.write_bytes(contracts.read_bytes().replace(b"Contract", b"Contr\xffct"))
    path = settings_of(tmp_path, {"path": "snap"}, {"path": "text", "format": "csv", "database": "C"})
    with pytest.raises(InputError) as caught:
        load_settings(path)
    [head, of_parquet, of_text] = str(caught.value).splitlines()
    assert head == "snapshots break their contract; export these again:"
    assert of_parquet.startswith(f"  {tmp_path}/snap/services.parquet: is not readable as parquet (")
    assert of_text == (
        f"  {contracts}: line 2 is no UTF-8: it is '7,Contrÿct' if the file is in code page 1252; save it as "
        "UTF-8 (sqlcmd -f 65001, bcp -C 65001, Export-Csv -Encoding utf8)"
    )


@pytest.mark.parametrize("view", ["conversation_endpoints", "dbo.TargetQueue"])
def test_a_large_view_that_can_not_be_read_is_named(session: SparkSession, tmp_path: Path, view: str) -> None:
    # The embedded engine takes a column with one value from the footer.
    given = views(
        conversation_endpoints=[shown(1, False), shown(2, False)],
        dbo_TargetQueue=[ready(1, False, 0, status=0), ready(2, False, 0)],
    )
    write_views(tmp_path / "snap", given, "parquet")
    spoil(tmp_path / "snap" / f"{view}.parquet")
    settings = load_settings(settings_of(tmp_path, {"path": "snap"}))
    warehouse = Warehouse(session, settings.warehouse)
    with pytest.raises(InputError) as caught, warehouse.materializing() as materialize:
        ingest_new_input(
            warehouse, settings, run_id="r", started_at=datetime.now(UTC), materialize_state=materialize
        )
    [head, *lines] = str(caught.value).splitlines()
    assert head == "snapshots break their contract; export these again:"
    assert [line.startswith(f"  {tmp_path}/snap/{view}.parquet: ") for line in lines] == [True]


def test_a_nul_in_a_small_csv_view_is_an_empty_text(tmp_path: Path) -> None:
    """bcp writes an empty text so."""
    queue = {"object_id": 1, "name": "Q", "is_receive_enabled": 1, "is_enqueue_enabled": 1}
    given = views(service_queues=[{**queue, "activation_procedure": "\0", "is_activation_enabled": 0}])
    write_views(tmp_path / "snap", given, "csv")
    settings = load_settings(settings_of(tmp_path, {"path": "snap", "format": "csv"}))
    [row] = settings.snapshots[0].small["service_queues"]
    assert (row["name"], row["activation_procedure"]) == ("Q", None)
