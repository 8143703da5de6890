"""The two inputs of the suite: folders with settings, and with what arrives before each of two nights."""

import gzip
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import yaml
from deltalake import write_deltalake

from tests.support.captures import write_captures
from tests.support.factories import (
    INITIATOR,
    TARGET,
    Events,
    Row,
    at,
    catalog,
    database,
    endpoint_event,
    message_event,
    queue_event,
)
from tests.support.harness import SOURCES, marked, one_log
from tests.support.inputs import arrow_schema, write_rows
from tests.support.model.rules import rule_history
from tests.support.nights import DAYS, nights, stretched
from tests.support.packing import BEGIN, CONF, packing_rows
from tests.support.random_logs import drawn, random_logs
from tests.support.server import server_views, state_of, with_guids
from tests.support.strategies import Log
from tests.support.strategies.dirty import dirty_batches
from tests.support.strategies.monitored import AS_OF as MONITORED_AT, TIMINGS, monitored_logs
from tests.support.strategies.spellings import spelled

ROOT = Path(__file__).resolve().parents[2]
ARRIVED = datetime(2026, 11, 25, tzinfo=UTC).timestamp()
"""When all files were last changed, so that the table of files is the same on both engines."""
EXPECT = [
    {"name": "waits", "p95_wait": "5 min"},
    {"oldest_wait": "1 h", "level": 5},
    {"level_at_least": 6, "share": 0.25},
    {"transmission_age": "10 min"},
    {"unresolved": 3},
    {"leaked_conversations": 1, "days": 0.5},
]
"""One of each measure; some hold and some do not."""


@dataclass(frozen=True)
class Input:
    """What is played.

    Attributes:
        make: writes `project`, the folder with the settings, and `1` and `2`, what the nights find there.
        first, second: the as_ofs of the two nights.
        backfill: an earlier as_of, which is made last.
        period: what replay plays, and of which endpoints reassign decides again.
        change: a rule that the backlog gets behind the nights.
        is_older: an older version has made the tables of the first night.
        is_large: Apache Spark takes the backfill for much work; see `pipelines/engine/small_jobs.py`.
    """

    make: Callable[[Path], None]
    first: datetime
    second: datetime
    backfill: datetime
    period: tuple[datetime, datetime]
    change: Row
    is_older: bool = False
    is_large: bool = False

    @property
    def moments(self) -> dict[str, str]:
        """The moments by name, as a command line has them."""
        found = {"first": self.first, "second": self.second, "backfill": self.backfill}
        found |= dict(zip(("since", "until"), self.period, strict=True))
        return {name: moment.isoformat() for name, moment in found.items()}


def make_inputs(folder: Path, names: Iterable[str]) -> None:
    """Write the inputs of these names."""
    for name in names:
        each = folder / name
        for part in ("project", "1", "2"):
            (each / part).mkdir(parents=True)
        INPUTS[name].make(each)
        change = {"effective_from": LONG_AGO, **INPUTS[name].change}
        (each / "project" / "change.yaml").write_text(yaml.safe_dump([change]))


def arrive(project: Path, source: Path) -> None:
    """Copy what comes before a night into the project; all files have one time of change."""
    shutil.copytree(source, project, dirs_exist_ok=True)
    for path in source.rglob("*"):
        if path.is_file():
            os.utime(project / path.relative_to(source), (ARRIVED, ARRIVED))


def change_rules(project: Path) -> None:
    """Add the change to the rules."""
    path = project / "settings.yaml"
    settings = yaml.safe_load(path.read_text())
    settings["rules"] = [*settings.get("rules", []), {"path": "change.yaml"}]
    path.write_text(yaml.safe_dump(settings))


# A nasty random log

LOGS, MONITORED, DIRTY, PACKING_MINUTES, SEED = 6, 3, 10, 40, 7
ODD_TIMES = (
    "1899-12-31T23:59:59.999999",
    "1969-12-31T23:59:59.999999",
    "2026-03-29T01:30:00.000001",
    "2026-11-20T13:00:00.123456",
    "9999-12-31T23:59:59.999999",
)
"""Before all times and behind them, before the epoch, at a change of the clocks, of a microsecond."""
ODD_NAMES = ('it\'s "so", \\ ', "tab\there", "100%25", "null", "\U0001f600 \uff5e", "STRASSE", "stra\u00dfe")
FORMATS = {"endpoint_events": "csv", "message_events": "json", "queue_events": "delta"}
GUIDS = "guids"
"""The second source of messages, in CSV: all of its ids are GUIDs, and differ in nothing but their case."""
GUID_OF = "{:08x}-00ab-4c00-8d00-0000000000ef"


def _make_nasty(folder: Path) -> None:
    log = one_log(
        [
            _packing(),
            *(stretched(each, 3) for each in random_logs(LOGS, SEED)),
            *drawn(monitored_logs(), MONITORED, SEED),
        ]
    )
    project = folder / "project"
    log.catalog["instances"] += catalog({"ODD1": _odd_databases()})["instances"][-1:]
    inputs: dict[str, Any] = {source: {"path": source, "format": FORMATS[source]} for source in SOURCES}
    inputs["message_events"] = [
        {"name": "log", **inputs["message_events"]},
        {"name": GUIDS, "path": GUIDS, "format": "csv"},
    ]
    settings = {
        "warehouse": "warehouse",
        "inputs": inputs,
        "catalog": "catalog.yaml",
        "rules": [{"path": "rules.yaml"}],
        "receive": {"top": 2},
        "transmission": {
            "starvation": {"after_seconds": 5 * 3600, "raise_by": 2},
            "blocks": {"fragment_bytes": 100, "fragments": 3},
        },
        "activation": TIMINGS[1].settings,
        "quality": {"max_rejected_share": 1.0},
        "expect": EXPECT,
    }
    proposed = {**settings, "receive": {"top": 1}, "transmission": {"starvation": None, "blocks": None}}
    for name, content in (
        ("settings", settings),
        ("proposed", proposed),
        ("catalog", log.catalog),
        ("rules", log.rules),
    ):
        (project / f"{name}.yaml").write_text(yaml.safe_dump(content, allow_unicode=True))
    random = Random(SEED)
    found = nights(log.events, random, days=(DAYS[0], DAYS[2]))
    for number, example in enumerate(drawn(dirty_batches(), DIRTY, SEED)):
        for night, batch in zip(found, example, strict=False):
            for source, rows in batch.items():
                night[source] += [marked(row, f"d{number}.") for row in rows]
    for source, rows in _odd().items():
        found[0][source] += rows[::2]
        found[1][source] += rows[1::2]
    for day, events in enumerate(found, start=1):
        for source, rows in events.items():
            _write(folder, day, source, [spelled(row, random) for row in rows])
        schema = arrow_schema("message_events")
        write_rows(folder / str(day) / GUIDS / f"{day}.csv", _unnumbered(day), schema)


def _packing() -> Log:
    """The first minutes of the packing station of the sample, whose readers do not follow the order."""
    until = BEGIN + timedelta(minutes=PACKING_MINUTES)
    catalog, rules = (
        yaml.safe_load((CONF / name).read_text()) for name in ("catalog.yaml", "rules/company.yaml")
    )
    rows = {
        source: [row for row in found if row["event_time"] < until]
        for source, found in packing_rows().items()
    }
    [log] = random_logs(1, SEED)
    return replace(log, **rows, catalog=catalog, rules=rules)


def _odd() -> Events:
    """Conversations of odd names and times, between services that no catalog has."""
    found: Events = {source: [] for source in SOURCES}
    for number, name in enumerate(ODD_NAMES):
        rows = [{"conversation": f"{name}{number}", "contract": name, "remote_service": name}]
        found["endpoint_events"] += [endpoint_event(**row) for row in rows]
        found["message_events"].append(message_event("DELIVERED", f"{name}{number}/0", message_type=name))
    for time in ODD_TIMES:
        moment = datetime.fromisoformat(time).replace(tzinfo=UTC)
        found["endpoint_events"].append(endpoint_event(conversation=time, event_time=moment))
        found["message_events"].append(message_event("DELIVERED", f"{time}/0", event_time=moment))
    for number in (1, 2):
        ids = {"conversation": GUID_OF.format(number), "conversation_group_id": GUID_OF.format(number + 10)}
        found["endpoint_events"] += [
            endpoint_event(type, instance="ODD1", **ids) for type in ("BEGIN_DIALOG", "DIALOG_CREATED")
        ]
    found["queue_events"] += [
        queue_event(
            "QUEUE_ALTERED", f"{status} {minute}", event_time=at(minute), instance="ODD1", queue_status=status
        )
        for minute, status in enumerate(("on", "off"))
    ]
    return found


def _odd_databases() -> list[Row]:
    return [database("A", INITIATOR, "InitiatorQueue"), database("B", TARGET, "TargetQueue")]


def _unnumbered(day: int) -> list[Row]:
    """Messages of ODD1; the first one in the queue, and the first one that was sent, have no number."""
    id, upper = GUID_OF.format(day), GUID_OF.format(day).upper()
    return [
        message_event(
            type,
            f"{conversation}/{number}",
            event_id=f"{type} {day}.{number}",
            event_time=at(minute),
            instance="ODD1",
            message_id=GUID_OF.format(number + 20 + 40 * day),
            message_sequence_number=None if minute == 1 else number,
        )
        for type, minute, number, conversation in (
            ("DELIVERED", 1, 2, upper),
            ("DELIVERED", 2, 1, id),
            ("SENT", 1, 4, id),
            ("SENT", 2, 3, upper),
        )
    ]


def _write(folder: Path, day: int, source: str, rows: Sequence[Row]) -> None:
    """Write what comes of an input on a day; of a Delta table that is the table with one version more."""
    path, format = folder / str(day) / source, FORMATS[source]
    if format == "delta":
        before = folder / str(day - 1) / source
        if before.exists():
            shutil.copytree(before, path)
        write_deltalake(path, pa.Table.from_pylist(rows, arrow_schema(source)), mode="append")
        return
    file = write_rows(path / f"{day}.{format}", rows, arrow_schema(source) if format == "csv" else None)
    if format == "json":
        (path / f"{day}.json.gz").write_bytes(gzip.compress(file.read_bytes(), mtime=0))
        file.unlink()


# Captures of two servers: that of the sample, and one that was made up

CAPTURES = ROOT / "pipelines" / "capture" / "sample"
MADE_UP = 5
"""Its log has messages in queues and on their way."""
MADE_UP_AT = (datetime(2026, 11, 20, 22, tzinfo=UTC), datetime(2026, 11, 20, 23, tzinfo=UTC))


def _make_captures(folder: Path) -> None:
    settings = {"warehouse": "warehouse", "snapshots": [{"path": "captures"}], "expect": EXPECT}
    (folder / "project" / "settings.yaml").write_text(yaml.safe_dump(settings))
    log = _as_servers_have_it(one_log(random_logs(2, MADE_UP)[1:]))
    for night, day, moment in zip(("1", "2"), (23, 24), MADE_UP_AT, strict=True):
        captures = folder / night / "captures"
        captures.mkdir()
        shutil.copy(CAPTURES / f"SQL1-202611{day}T073000Z.jsonl", captures)
        state = state_of(log.events, log.catalog, log.rules, moment)
        rules = [
            rule
            for rule in rule_history(log.rules)
            if rule.valid_from <= moment and (rule.valid_to is None or moment < rule.valid_to)
        ]
        write_captures(captures, server_views(state, rules), moment)


def _as_servers_have_it(log: Log) -> Log:
    """The log with ids of conversations and groups that are GUIDs, and no queue events."""
    endpoint_events, message_events = map(with_guids, (log.endpoint_events, log.message_events))
    return replace(log, endpoint_events=endpoint_events, message_events=message_events, queue_events=None)


def _rule(instance: str, database: str, **criteria: Any) -> Row:
    return {
        "instance": instance,
        "database": database,
        "create": {"name": "Tried", "level": 10, **criteria},
    }


LONG_AGO = "2026-01-01T00:00:00Z"
INPUTS = {
    "nasty": Input(
        _make_nasty,
        first=DAYS[0],
        second=DAYS[2],
        backfill=MONITORED_AT,
        period=(DAYS[0] - timedelta(hours=20), DAYS[1]),
        change=_rule("00.ERP1", "StockDB", contract="StandardPackingContract"),
        is_large=True,
    ),
    "captures": Input(
        _make_captures,
        first=datetime(2026, 11, 23, 7, 30, tzinfo=UTC),
        second=datetime(2026, 11, 24, 7, 30, tzinfo=UTC),
        backfill=MADE_UP_AT[1],
        period=(datetime(2026, 11, 23, tzinfo=UTC), datetime(2026, 11, 24, 7, 30, tzinfo=UTC)),
        change=_rule("SQL1", "Claims", remote_service="//acme/portal/Gold"),
        is_older=True,
    ),
}
