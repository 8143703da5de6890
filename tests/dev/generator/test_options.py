"""Each option does what it says."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest
import yaml
from deltalake import DeltaTable

from dev import generate_log
from dev.generator import synthetic
from dev.generator.draws import Draws
from pipelines.config.catalog import load_catalog
from pipelines.config.errors import ConfigError
from pipelines.config.load import load_settings
from schemas.events import CONTRACTS
from tests.dev.generator.conftest import DAYS, JSON, SKEWED, UNIFORM

LIKE_LOG = ("--messages", "4000", "--files", "3")


def kinds(log) -> pd.DataFrame:
    begun = log["endpoint_events"].query("event_type == 'BEGIN_DIALOG'")
    return begun[["conversation_id", "contract", "local_service", "remote_service"]]


def share_not_received(log) -> float:
    messages = set(log["message_events"].message_id)
    return 1 - len(log.received()) / len(messages)


@pytest.mark.parametrize(
    ("options", "backlog"),
    [
        pytest.param(DAYS, 0, id="none"),
        pytest.param(SKEWED, 0.3, id="some"),
        pytest.param(UNIFORM, 0.6, id="most"),
    ],
)
def test_backlog(make_log, options, backlog):
    # What is on its way at midnight comes on top.
    assert share_not_received(make_log(*options)) == pytest.approx(backlog, abs=0.04)


def test_some_of_the_backlog_waits_for_transmission(make_log):
    events = make_log(*UNIFORM)["message_events"]
    sent = set(events[events.event_type == "SENT"].message_id)
    arrived = set(events[events.event_type.isin(["DELIVERED", "RECEIVED"])].message_id)
    assert 0.05 < len(sent - arrived) / len(sent) < 0.3


def test_queue_skew_and_group_skew(make_log):
    log = make_log(*SKEWED)
    messages = log["message_events"].drop_duplicates("message_id")
    events = messages.merge(kinds(log), on="conversation_id")
    hot = events.sent_by_initiator & (events.remote_service == "Service00000")
    assert hot.mean() == pytest.approx(0.5, abs=0.05)
    # The skewed queue is no monoculture: its conversations are of several kinds.
    assert events[hot].contract.nunique() > 2
    created = log["endpoint_events"].query("event_type == 'DIALOG_CREATED'")
    sent = log["message_events"].query("sent_by_initiator").drop_duplicates("message_id")
    groups = sent.merge(created, on="conversation_id").conversation_group_id.value_counts()
    assert groups.iloc[0] / len(messages) == pytest.approx(0.4, abs=0.05)
    assert groups.iloc[1] / len(messages) < 0.01


def test_kinds_and_services(make_log):
    log, popular = make_log(*UNIFORM), kinds(make_log(*DAYS))
    # Skew makes some kinds popular.
    assert popular.contract.value_counts(normalize=True).iloc[0] > 0.3
    assert kinds(log).contract.value_counts(normalize=True).iloc[0] < 0.12
    # Uniform, nearly all of the 80 kinds occur; never more.
    found = kinds(log).drop(columns="conversation_id").drop_duplicates()
    assert 75 <= len(found) <= 80
    assert len(set(found.local_service) & set(found.remote_service)) > 5, "services are at both ends"
    assert set(log["message_events"].instance) == {"SQL01", "SQL02", "SQL03"}


def test_rules_per_database(log):
    settings = load_settings(log.folder / "settings.yaml")
    keys = ["instance", "database", "name"]
    versions = pd.DataFrame(
        [[getattr(rule, key) for key in keys] for rule in settings.rule_history], columns=keys
    )
    begun = versions.drop_duplicates()
    assert set(begun.groupby(["instance", "database"]).size()) == {12}
    assert len(versions) > len(begun), "some rules change"


def test_every_endpoint_is_in_the_catalog(log):
    catalog = load_catalog(str(log.folder / "catalog.yaml"))
    known = {
        (instance.name, database.name, service.name)
        for instance in catalog.instances
        for database in instance.databases
        for service in database.services
    }
    events = log["endpoint_events"].dropna(subset="local_service")
    assert set(zip(events.instance, events.database, events.local_service, strict=True)) <= known


def test_start_days_and_files(make_log, log):
    events = make_log(*DAYS)["message_events"]
    assert set(events.event_time.dt.strftime("%Y-%m-%d")) == {"2026-03-01", "2026-03-02", "2026-03-03"}
    # Conversations span nights.
    days = events.event_time.dt.date.groupby(events.conversation_id).nunique()
    assert (days > 1).any()
    names = [file.name for file in sorted((log.folder / "message_events").iterdir())]
    assert names == [f"part-0000{part}.parquet" for part in range(3)]


def test_a_night_holds_its_day(make_log):
    whole, nightly = make_log(*DAYS), make_log(*DAYS, "--history", "daily")
    for source in CONTRACTS:
        for day in ("2026-03-01", "2026-03-02", "2026-03-03"):
            files = sorted((nightly.folder / f"night={day}" / source).iterdir())
            assert all(file.name.startswith(day) for file in files)
            night = pd.concat([pd.read_parquet(file) for file in files])
            assert set(night.event_time.dt.strftime("%Y-%m-%d")) == {day}
        assert set(nightly[source].event_id) == set(whole[source].event_id)
        assert (nightly.folder / source).is_dir(), "the folder to copy the nights to"


def test_the_same_seed_gives_the_same_bytes(make_log):
    first, again, other = (
        make_log(*JSON, "--files", "3", "--seed", *seed).contents()
        for seed in (["7"], ["7", "--days", "1"], ["8"])
    )
    assert first == again
    assert first["message_events/part-00000.json"] != other["message_events/part-00000.json"]


def assert_same(rows: pd.DataFrame, expected: pd.DataFrame) -> None:
    """The same rows in the same order; text has fewer types and one kind of null."""
    one, other = (frame.reset_index(drop=True).fillna(float("nan")) for frame in (rows, expected))
    pd.testing.assert_frame_equal(one, other, check_dtype=False)


def read_json(file: Path, source: str) -> pd.DataFrame:
    return pd.DataFrame(map(json.loads, file.read_text().splitlines()), columns=CONTRACTS[source].names)


def read_csv(file: Path, source: str) -> pd.DataFrame:
    return pd.read_csv(file)


@pytest.mark.parametrize("source", list(CONTRACTS))
@pytest.mark.parametrize("read", [read_csv, read_json])
def test_text_holds_the_same_rows(log, make_log, source, read):
    folder = make_log(*LIKE_LOG, "--format", read.__name__.removeprefix("read_")).folder / source
    rows = pd.concat([read(file, source) for file in sorted(folder.iterdir())])
    rows["event_time"] = pd.to_datetime(rows.event_time, format="ISO8601")
    assert_same(rows, log[source])


@pytest.mark.parametrize("source", list(CONTRACTS))
def test_delta_holds_the_same_rows(log, make_log, source):
    folder = make_log(*LIKE_LOG, "--format", "delta").folder / source
    rows = DeltaTable(folder).to_pyarrow_table(columns=["event_id"])
    assert sorted(rows["event_id"].to_pylist()) == sorted(log[source].event_id)


def test_rules_of_the_same_level() -> None:
    size = synthetic.Size(instances=2, services=20, kinds=300, rules=100, same_level=0.9)
    made = synthetic.world(size, draws=Draws(1), start=datetime(2026, 11, 20, tzinfo=UTC), days=1)
    levels = [rule["create"]["level"] for rule in yaml.safe_load(made.rules) if "create" in rule]
    assert len(levels) == 400
    assert 0.85 < levels.count(5) / len(levels) < 0.96
    assert set(levels) == set(range(1, 11))


SMALLEST = ("--messages", "10", "--services", "4", "--kinds", "2", "--rules", "0")


@pytest.mark.parametrize(
    "name", ["endpoint_events", "night=2026-11-20", "settings.yaml", "catalog.yaml", "documentation.sql"]
)
def test_files_of_somebody_else_stay(tmp_path, name):
    theirs = tmp_path / name
    if "." not in name:
        theirs.mkdir()
        theirs = theirs / "1.jsonl"
    theirs.write_text("theirs")
    with pytest.raises(ConfigError, match=f"{name} is there and was not written by this job"):
        generate_log.main(["--out", str(tmp_path), *SMALLEST])
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert theirs.read_text() == "theirs"


def test_a_log_is_replaced_and_what_lies_beside_it_stays(tmp_path):
    (tmp_path / "notes.txt").write_text("theirs")
    for seed in ("1", "2"):
        options = ["--out", str(tmp_path), *SMALLEST, "--seed", seed]
        assert generate_log.main(options) == 0
    again = tmp_path.parent / f"{tmp_path.name}-again"
    assert generate_log.main(["--out", str(again), *SMALLEST, "--seed", "2"]) == 0
    for source in CONTRACTS:
        left, right = (sorted((folder / source).iterdir()) for folder in (tmp_path, again))
        assert [path.read_bytes() for path in left] == [path.read_bytes() for path in right]
    assert (tmp_path / "notes.txt").read_text() == "theirs"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ("--backlog 1.5", "'1.5' is not a number from 0 to 1"),
        ("--messages 0", "'0' is not a whole number of 1 or more"),
        ("--start soon", "'soon' is not a moment in time"),
        ("--preset huge", "invalid choice: 'huge'"),
        ("--preset sample --instances 9", "argument --instances: not with --preset"),
        ("--preset sample --same-level 0", "argument --same-level: not with --preset"),
        ("--start 1899-12-31", "the log must lie in the years 1900 to 9998"),
        ("--start 9998-12-31 --days 2", "the log must lie in the years 1900 to 9998"),
        ("--start 9998-06-01 --days 800", "the log must lie in the years 1900 to 9998"),
        ("--days 100000", "is not a whole number from 1 to 3660"),
    ],
)
def test_options_that_can_not_be(tmp_path, options, complaint):
    with pytest.raises(ConfigError, match=complaint):
        generate_log.main(["--out", str(tmp_path / "log"), *options.split()])
    assert not (tmp_path / "log").exists()


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="name a folder that can be written"):
        generate_log.main(["--out", str(tmp_path / "file"), *SMALLEST])
