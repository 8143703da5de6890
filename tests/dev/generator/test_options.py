"""Each option does what it says."""

import json
from collections import Counter
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
from pipelines.settings.load import load_settings
from schemas.events import CONTRACTS
from tests.dev.generator.conftest import BACKLOG, DAYS, UNIFORM

LIKE_LOG = ("--messages", "4000", "--files", "3")


def kinds(log) -> pd.DataFrame:
    begun = log["endpoint_events"].query("event_type == 'BEGIN_DIALOG'")
    return begun[["conversation_id", "contract", "local_service", "remote_service"]]


def share_not_received(log) -> float:
    messages = set(log["message_events"].message_id)
    return 1 - len(log.received()) / len(messages)


def test_backlog(make_log):
    """What is on its way at midnight comes on top; a part waits for transmission."""
    for options, backlog in ((DAYS, 0), (BACKLOG, 0.3), (UNIFORM, 0.6)):
        assert share_not_received(make_log(*options)) == pytest.approx(backlog, abs=0.04), options
    events = make_log(*UNIFORM)["message_events"]
    sent = set(events[events.event_type == "SENT"].message_id)
    arrived = set(events[events.event_type.isin(["DELIVERED", "RECEIVED"])].message_id)
    assert 0.05 < len(sent - arrived) / len(sent) < 0.3


def test_kinds_services_and_instances(make_log):
    """Skew makes some kinds popular; without it nearly all of the 80 occur."""
    log, popular = make_log(*UNIFORM), kinds(make_log(*DAYS))
    assert popular.contract.value_counts(normalize=True).iloc[0] > 0.3
    assert kinds(log).contract.value_counts(normalize=True).iloc[0] < 0.12
    assert 75 <= len(kinds(log).drop(columns="conversation_id").drop_duplicates()) <= 80
    assert set(log["message_events"].instance) == {"SQL01", "SQL02", "SQL03"}


def test_rules_and_services_of_each_database(log):
    rules = load_settings(log.folder / "settings.yaml").rule_history
    begun = {(rule.instance, rule.database, rule.name) for rule in rules}
    assert set(Counter((instance, database) for instance, database, _ in begun).values()) == {12}
    assert len(rules) > len(begun), "some rules change"
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
    days = events.event_time.dt.date.groupby(events.conversation_id).nunique()
    assert (days > 1).any(), "conversations span nights"
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


def read_rows(file: Path, source: str) -> pd.DataFrame:
    if file.suffix == ".csv":
        return pd.read_csv(file)
    return pd.DataFrame(map(json.loads, file.read_text().splitlines()), columns=CONTRACTS[source].names)


@pytest.mark.parametrize("format", ["csv", "json"])
def test_text_holds_the_same_rows(log, make_log, format):
    """In the same order; text has fewer types and one kind of null."""
    text = make_log(*LIKE_LOG, "--format", format)
    for source in CONTRACTS:
        rows = pd.concat([read_rows(file, source) for file in sorted((text.folder / source).iterdir())])
        rows["event_time"] = pd.to_datetime(rows.event_time, format="ISO8601")
        found, expected = (frame.reset_index(drop=True).fillna(float("nan")) for frame in (rows, log[source]))
        pd.testing.assert_frame_equal(found, expected, check_dtype=False)


def test_delta_holds_the_same_rows(log, make_log):
    folder = make_log(*LIKE_LOG, "--format", "delta").folder
    for source in CONTRACTS:
        rows = DeltaTable(folder / source).to_pyarrow_table(columns=["event_id"])
        assert sorted(rows["event_id"].to_pylist()) == sorted(log[source].event_id)


def test_rules_of_the_same_level() -> None:
    size = synthetic.Size(instances=2, services=20, kinds=300, rules=100, same_level=0.9)
    made = synthetic.world(size, draws=Draws(1), start=datetime(2026, 11, 20, tzinfo=UTC), days=1)
    levels = [rule["create"]["level"] for rule in yaml.safe_load(made.rules) if "create" in rule]
    assert len(levels) == 400
    assert 0.85 < levels.count(5) / len(levels) < 0.96
    assert set(levels) == set(range(1, 11))


SMALLEST = ("--messages", "10", "--services", "4", "--kinds", "2", "--rules", "0")


@pytest.mark.parametrize("name", ["night=2026-11-20", "documentation.sql"])
def test_files_of_somebody_else_stay(tmp_path, name):
    theirs = tmp_path / name
    if "." not in name:
        theirs.mkdir()
        theirs = theirs / "1.jsonl"
    theirs.write_text("theirs")
    with pytest.raises(ConfigError, match=f"{name} is there and was not written by this job"):
        generate_log.main(["--out", str(tmp_path), *SMALLEST])
    with pytest.raises(ConfigError, match="name a folder that can be written"):
        generate_log.main(["--out", str(theirs), *SMALLEST])
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert theirs.read_text() == "theirs"


def test_a_log_is_replaced_by_that_of_another_seed_and_what_lies_beside_it_stays(tmp_path):
    replaced, new = tmp_path / "replaced", tmp_path / "new"
    replaced.mkdir()
    (replaced / "notes.txt").write_text("theirs")
    contents = []
    for folder, seed in ((replaced, "1"), (replaced, "2"), (new, "2")):
        assert generate_log.main(["--out", str(folder), *SMALLEST, "--seed", seed]) == 0
        contents.append([path.read_bytes() for path in sorted(folder.glob("*_events/*"))])
    assert contents[0] != contents[1] == contents[2]
    assert (replaced / "notes.txt").read_text() == "theirs"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ("--backlog 1.5", "'1.5' is not a number from 0 to 1"),
        ("--messages 0", "'0' is not a whole number of 1 or more"),
        ("--start soon", "'soon' is not a moment in time"),
        ("--preset huge", "invalid choice: 'huge'"),
        ("--preset sample --instances 9", "argument --instances: not with --preset"),
        ("--start 1899-12-31", "'1899-12-31' is before 1900 or after 9998"),
        ("--start 9998-12-31 --days 2", "the log must lie in the years 1900 to 9998"),
        ("--days 100000", "is not a whole number from 1 to 3660"),
    ],
)
def test_options_that_can_not_be(tmp_path, options, complaint):
    with pytest.raises(ConfigError, match=complaint):
        generate_log.main(["--out", str(tmp_path / "log"), *options.split()])
    assert list(tmp_path.iterdir()) == []
