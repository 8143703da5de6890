"""Snapshots that are not as they should be: what stops a run is listed, what does not is recorded."""

import csv
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from pyspark.sql import SparkSession

from pipelines.config.errors import ConfigError, InputError
from pipelines.nightly.night import ingest_new_input
from pipelines.settings.load import load_settings
from pipelines.storage.warehouse import Warehouse
from tests.field.running import Case
from tests.support.factories import NOON, Row, at, catalog
from tests.support.harness import Project
from tests.support.server import write_csv, write_views
from tests.support.snapshot_views import GROUP, conversation, handle, ready, shown, views


def settings_of(folder: Path, *snapshots: Row) -> Path:
    base = {"instance": "SQL1", "database": "B", "taken_at": NOON.isoformat(), "format": "parquet"}
    content = {"warehouse": "warehouse", "snapshots": [{**base, **each} for each in snapshots]}
    path = folder / "settings.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def lines_of(folder: Path, error: InputError) -> list[str]:
    """The line of each fault, without the folder."""
    head, *lines = str(error).replace(f"{folder}/", "").splitlines()
    assert head == "snapshots break their contract; export these again:"
    return [line.removeprefix("  ") for line in lines]


def faults_of(folder: Path, *snapshots: Row) -> list[str]:
    with pytest.raises(InputError) as caught:
        load_settings(settings_of(folder, *snapshots))
    return lines_of(folder, caught.value)


def test_all_that_is_missing_or_mistyped_is_listed(tmp_path: Path) -> None:
    """Nanoseconds are another type, as in event files."""
    write_views(tmp_path / "snap", views(dbo_Fine=[ready(1, False, 0)]), "parquet")
    write_views(tmp_path / "text", views(), "csv")
    table = pq.read_table(tmp_path / "snap" / "dbo.TargetQueue.parquet")
    table = table.drop_columns(["message_sequence_number", "message_enqueue_time", "priority"])
    pq.write_table(
        table.append_column("Priority", pa.array([], pa.float64())), tmp_path / "snap" / "dbo.Q.parquet"
    )
    rewrite(tmp_path / "snap" / "dbo.Fine.parquet", pa.timestamp("us", "UTC"), pa.timestamp("ns"))
    (tmp_path / "snap" / "service_contracts.parquet").unlink()
    (tmp_path / "text" / "services.csv").write_text("service_id,label\n")
    (tmp_path / "text" / "databases.csv").write_text("name\n")
    assert faults_of(
        tmp_path,
        {"path": "snap", "complete": ["transmission_queue", "dbo.Nowhere"]},
        {"path": "text", "format": "csv", "database": "C"},
        {"path": "none", "database": "D"},
    ) == [
        "snap/dbo.Fine.parquet: column message_enqueue_time is timestamp[ns]; it must be a time in "
        "microseconds",
        "snap/dbo.Q.parquet: column Priority is double; it must be a whole number",
        "snap/dbo.Q.parquet: column message_sequence_number is missing",
        "snap: dbo.Nowhere.parquet is not there, though complete names it; export it, or take it out of "
        "complete",
        "snap: service_contracts.parquet is not there, and conversation_endpoints needs it for its names; "
        "export it",
        "text/databases.csv: column is_honor_broker_priority_on (or is_broker_priority_honored) is missing",
        "text/services.csv: column name is missing",
        "snapshots: none is not a folder; export the views into it, one file a view",
    ]


def test_what_small_views_can_not_mean_is_listed(tmp_path: Path) -> None:
    """A damaged file, a comma without quotes, another encoding, a line between the rows, and ANY as 0."""
    rule = {"name": "Base", "service_contract_id": 0, "local_service_id": 9, "remote_service_name": None}
    write_views(tmp_path / "snap", views(), "parquet")
    spoil(tmp_path / "snap" / "services.parquet")
    names = ("any", "code", "comma", "tool")
    for name in names:
        rules = [{**rule, "priority": 7}] if name == "any" else []
        write_views(tmp_path / name, views(conversation_priorities=rules), "csv")
    contracts = tmp_path / "code" / "service_contracts.csv"
    contracts.write_bytes(contracts.read_bytes().replace(b"Contract", b"Contr\xffct"))
    with (tmp_path / "comma" / "service_contracts.csv").open("a") as file:
        file.write("10,Simple,Contract\n")
    with (tmp_path / "tool" / "services.csv").open("a") as file:
        file.write("Msg 1205\n")
    [of_parquet, *others] = faults_of(
        tmp_path, {"path": "snap"}, *({"path": name, "format": "csv", "database": name} for name in names)
    )
    assert of_parquet.startswith("snap/services.parquet: is not readable as parquet (")
    assert others == [
        "any/conversation_priorities.csv: service_contract_id of 'Base' is 0, which service_contracts lacks; "
        "ANY is an empty field",
        "any/conversation_priorities.csv: local_service_id of 'Base' is 9, which services lacks; ANY is an "
        "empty field",
        "code/service_contracts.csv: line 2 is no UTF-8: it is '7,Contrÿct' if the file is in code page "
        "1252; save it as UTF-8 (sqlcmd -f 65001, bcp -C 65001, Export-Csv -Encoding utf8)",
        "comma/service_contracts.csv: line 3: the row has more fields than the header; a value with a comma "
        "needs quotes",
        "tool/services.csv: line 4: the row 'Msg 1205' has fewer fields than the header; a row must stand on "
        "one line (sqlcmd -w 65535), and a value with a line end needs quotes",
    ]


def test_two_snapshots_of_one_moment_are_refused(tmp_path: Path) -> None:
    write_views(tmp_path / "snap", views(), "parquet")
    with pytest.raises(ConfigError, match=r"SQL1\.B has another snapshot of that moment, on line"):
        load_settings(settings_of(tmp_path, {"path": "snap"}, {"path": "snap"}))


def test_without_snapshots_inputs_and_catalog_are_needed(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"(?s)catalog: is missing.*inputs: is missing"):
        load_settings(settings_of(tmp_path))


def rewrite(file: Path, type: pa.DataType, other: pa.DataType, **options: bool) -> None:
    """Give the columns of one type another type."""
    table = pq.read_table(file)
    types = [field.with_type(other) if field.type == type else field for field in table.schema]
    pq.write_table(table.cast(pa.schema(types)), file, **options)


def spoil(file: Path) -> None:
    """Damage the first page of a Parquet file; its footer is whole."""
    whole = file.read_bytes()
    file.write_bytes(whole[:4] + bytes(each ^ 0xFF for each in whole[4:30]) + whole[30:])


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
    [line] = lines_of(tmp_path, caught.value)
    assert line.startswith(f"snap/{view}.parquet: ")


def test_a_nul_in_a_small_csv_view_is_an_empty_text(tmp_path: Path) -> None:
    """bcp writes an empty text so."""
    queue = {"object_id": 1, "name": "Q", "is_receive_enabled": 1, "is_enqueue_enabled": 1}
    given = views(service_queues=[{**queue, "activation_procedure": "\0", "is_activation_enabled": 0}])
    write_views(tmp_path / "snap", given, "csv")
    settings = load_settings(settings_of(tmp_path, {"path": "snap", "format": "csv"}))
    [row] = settings.snapshots[0].small["service_queues"]
    assert (row["name"], row["activation_procedure"]) == ("Q", None)


@pytest.fixture(scope="module")
def night(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The schedules of the snapshots of four databases."""
    folder = tmp_path_factory.mktemp("night")
    project = Project(folder, catalog=catalog())
    writers = {"Tools": write_tools, "Rows": write_rows, "Texts": write_texts, "Parquet": write_parquet}
    for name, write in writers.items():
        write(folder / name)
    formats = {name: "csv" if name in ("Tools", "Texts") else "parquet" for name in writers}
    settings_of(folder, *({"path": name, "database": name, "format": formats[name]} for name in writers))
    Case(folder).configure(quality={"max_rejected_share": 1.0})
    project.schedule(session, NOON)
    return project


def of(project: Project, table: str, database: str) -> list[Row]:
    return [row for row in project.table(table) if row["database"] == database]


def rejected(project: Project, database: str) -> set[tuple[str, str]]:
    """Reasons and places, these without the moment of the snapshot."""
    where = f"SQL1/{database}/2026-11-20T12:00:00Z/"
    return {
        (row["reason"], row["event_id"].removeprefix(where))
        for row in project.table("rejected_events")
        if row["event_id"].startswith(where)
    }


def write_tools(folder: Path) -> None:
    """Braces, lower case, bits as words, blanks behind the state, upper-case headers, long fractions."""
    write_views(folder, views(), "csv")
    endpoint = {
        **shown(1, False, priority=" 7"),
        "conversation_handle": "{" + handle(1, False).lower() + "}",
        "conversation_id": conversation(1).lower(),
        "is_initiator": "False",
        "state": "CO  ",
        "lifetime": "2094-12-08 14:14:07.003",
    }
    message = {**ready(1, False, 0), "message_enqueue_time": "2026-11-20 11:30:00.1234567", "status": "1"}
    write_csv(folder / "conversation_endpoints.csv", [{k.upper(): v for k, v in endpoint.items()}])
    write_csv(folder / "dbo.TargetQueue.csv", [message])


@pytest.mark.slow
def test_spellings_of_a_servers_tools_are_read(night: Project) -> None:
    [row] = of(night, "receive_schedule", "Tools")
    assert row["message_id"] == f"{conversation(1)}/initiator/0"
    assert row["arrived_at"] == at(-30).replace(microsecond=123456)
    [known] = of(night, "endpoints", "Tools")
    assert (known["conversation_handle"], known["priority"]) == (handle(1, False), 7)
    assert (known["created_by"], known["created_at"]) == ("lifetime", at(-60).replace(microsecond=3000))


def write_rows(folder: Path) -> None:
    """Of nine endpoints one is there three times, two have one handle, and four break other rules."""
    endpoints = [
        *[shown(11, False)] * 3,
        shown(12, False),
        shown(13, True, conversation_handle=handle(12, False)),
        shown(14, False, state="XX"),
        shown(15, False, priority=11),
        shown(16, False, service_id=99),
        shown(17, False, conversation_id=None),
    ]
    write_views(folder, views(conversation_endpoints=endpoints), "parquet")


@pytest.mark.slow
def test_rows_that_fit_nothing_are_rejected_with_reasons(night: Project) -> None:
    """Equal rows, which a scan at READ UNCOMMITTED gives, count once."""
    reasons = "missing_conversation_id priority_out_of_range repeated_handle unknown_service unknown_state"
    assert rejected(night, "Rows") == {(each, "conversation_endpoints") for each in reasons.split()}
    assert {row["conversation_id"] for row in of(night, "endpoints", "Rows")} == {conversation(11)}
    [batch] = [row for row in night.table("batches") if row["source"] == "snapshots"]
    # Of the rows of Tools 4 of 4 are accepted, of Rows 3 of 11, of Texts 4 of 6, and of Parquet 8 of 8.
    counts = [batch[name] for name in ("events", "accepted", "duplicates", "rejected")]
    assert counts == [29, 19, 2, 8]


def write_texts(folder: Path) -> None:
    """A queue without times, with a status that is no number, and with a row of two fields."""
    good = {key: value for key, value in ready(21, False, 0).items() if key != "message_enqueue_time"}
    write_views(folder, views(conversation_endpoints=[shown(21, False)]), "csv")
    with (folder / "dbo.TargetQueue.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([good, good.values(), {**good, "status": "one"}.values(), ["1", "2"]])


@pytest.mark.slow
def test_texts_that_are_no_values_are_rejected(night: Project) -> None:
    assert rejected(night, "Texts") == {
        ("unreadable_status", "dbo.TargetQueue"),
        ("broken_row", "dbo.TargetQueue"),
    }
    [row] = of(night, "receive_schedule", "Texts")
    assert row["message_id"] == f"{conversation(21)}/initiator/0"
    assert row["conversation_group_id"] == GROUP.format(0, 21)


def write_parquet(folder: Path) -> None:
    """Texts in dictionaries, and times without a zone, in 96 bits too."""
    given = views(
        conversation_endpoints=[shown(number, False) for number in (31, 32, 33)],
        dbo_TargetQueue=[ready(31, False, 0)],
        dbo_Second=[ready(32, False, 0)],
        dbo_Third=[ready(33, False, 0)],
    )
    write_views(folder, given, "parquet")
    for name in ("conversation_endpoints", "dbo.TargetQueue", "services"):
        rewrite(folder / f"{name}.parquet", pa.string(), pa.dictionary(pa.int32(), pa.string()))
    for name, is_old in (("dbo.Second", True), ("dbo.Third", False)):
        zone, none = pa.timestamp("us", "UTC"), pa.timestamp("us")
        rewrite(folder / f"{name}.parquet", zone, none, use_deprecated_int96_timestamps=is_old)


@pytest.mark.slow
def test_parquet_of_other_writers_is_read(night: Project) -> None:
    arrived = {row["message_id"]: row["arrived_at"] for row in of(night, "receive_schedule", "Parquet")}
    assert arrived == {f"{conversation(number)}/initiator/0": at(-30) for number in (31, 32, 33)}
