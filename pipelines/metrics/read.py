"""Read the metrics of a published as_of."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any

from pyspark.sql import functions as F

from pipelines.engine.concurrency import run_concurrently
from pipelines.expectations.read import read_expectations
from pipelines.metrics.text import Family, Sample, write_text
from pipelines.questions.leaks import only_known, read_leaking
from pipelines.questions.transmission_status import kind_of_status
from pipelines.settings.load import Settings
from pipelines.storage.ages import read_ages
from pipelines.storage.collect import collect_rows
from pipelines.storage.published import read_published_runs, require_findings
from pipelines.storage.warehouse import Warehouse
from schemas.outputs import FINDINGS, TRANSMISSION_SCHEDULE, UNRESOLVED, WAITS

PLACE = ("kind", "instance", "database", "queue", "level")
MESSAGES = Family("messages", (*PLACE, "state"), "Messages in the schedules of the as_of.")
OLDEST = Family("oldest_wait_seconds", PLACE, "Longest wait so far of a message at the as_of.")
P95 = Family("p95_wait_seconds", PLACE, "95th percentile of the waits so far at the as_of.")
COUNTED = ("code", "severity", "instance", "database")
FOUND = Family("findings", COUNTED, "Findings: causes at places.")
STATUSES = Family(
    "transmission_status_messages", ("instance", "reason"), "Unsent messages by what the server says of them."
)
UNPLACED = Family("unresolved", (), "Open messages that are not matched to an endpoint or a queue.")
LEAKED = Family("leaked_conversations", (), "Conversations that are never ended.")
MET = Family("expectation_met", ("name",), "1 if the expectation was measured and is met, else 0.")
AGE = Family("data_age_seconds", ("instance", "database"), "Time from the newest fact to the as_of.")
DURATION = Family("run_duration_seconds", (), "Duration of the run that published the as_of.")
FINISHED = Family("run_finished_timestamp_seconds", (), "When that run ended, seconds since 1970 in UTC.")
FAMILIES = (MESSAGES, OLDEST, P95, FOUND, STATUSES, UNPLACED, LEAKED, MET, AGE, DURATION, FINISHED)

MOST_REASONS = 20
"""Different reasons of STATUSES; messages with others have the reason OTHER."""
OTHER = "other"
REASON_LENGTH = 80
"""Characters of a reason."""

Samples = dict[Family, Sequence[Sample]]
Read = Callable[[Warehouse, Settings, datetime], Samples]


def read_metrics(warehouse: Warehouse, settings: Settings, as_of: datetime) -> str:
    """The metrics of a published as_of as text; it depends on no clock.

    Raises:
        ConfigError: an older version published the as_of, without the tables `findings` and `waits`.
    """
    require_findings(warehouse, settings, as_of)
    runs = read_published_runs(warehouse, "as_of", "started_at", "finished_at")
    run = max((run for run in runs if run["as_of"] == as_of), key=itemgetter("started_at"))
    parts: tuple[Read, ...] = (_waits, _findings, _statuses, _counts, _expectations, _ages)

    def ask(part: Read) -> Callable[[], Samples]:
        return lambda: part(warehouse, settings, as_of)

    found: Samples = {
        DURATION: [((), (run["finished_at"] - run["started_at"]).total_seconds())],
        FINISHED: [((), run["finished_at"].timestamp())],
    }
    for answer in run_concurrently(warehouse.spark, *map(ask, parts)):
        found |= answer
    return write_text((family, found[family]) for family in FAMILIES)


def _waits(warehouse: Warehouse, _: Settings, as_of: datetime) -> Samples:
    rows = _sorted(collect_rows(warehouse.read_as_of(WAITS, as_of)), PLACE)
    return {
        MESSAGES: [((*_values(row, PLACE), s), row[s]) for row in rows for s in ("ready", "held") if row[s]],
        OLDEST: [(_values(row, PLACE), row["oldest_seconds"]) for row in rows],
        P95: [(_values(row, PLACE), row["p95_seconds"]) for row in rows],
    }


def _findings(warehouse: Warehouse, _: Settings, as_of: datetime) -> Samples:
    counted = warehouse.read_as_of(FINDINGS, as_of).groupBy(*COUNTED).count()
    return {FOUND: [(_values(row, COUNTED), row["count"]) for row in _sorted(collect_rows(counted), COUNTED)]}


def _statuses(warehouse: Warehouse, _: Settings, as_of: datetime) -> Samples:
    reason = F.substring(kind_of_status("why_still_here"), 1, REASON_LENGTH)
    told = warehouse.read_as_of(TRANSMISSION_SCHEDULE, as_of).where("why_still_here is not null")
    rows = collect_rows(told.groupBy("instance", reason.alias("reason")).count())
    totals = Counter[str]()
    for row in rows:
        totals[row["reason"]] += row["count"]
    named = set(sorted(totals, key=lambda each: (-totals[each], each))[:MOST_REASONS])
    counts = Counter[tuple[str, str]]()
    for row in rows:
        counts[row["instance"], row["reason"] if row["reason"] in named else OTHER] += row["count"]
    return {STATUSES: sorted(counts.items())}


def _counts(warehouse: Warehouse, _: Settings, as_of: datetime) -> Samples:
    leaking = only_known(read_leaking(warehouse, as_of))
    return {
        UNPLACED: [((), warehouse.read_as_of(UNRESOLVED, as_of).count())],
        LEAKED: [((), leaking.select("conversation_id").distinct().count())],
    }


def _expectations(warehouse: Warehouse, settings: Settings, as_of: datetime) -> Samples:
    rows = read_expectations(warehouse, settings, as_of)
    return {MET: [((row["name"],), int(row["met"] and row["value"] is not None)) for row in rows]}


def _ages(warehouse: Warehouse, settings: Settings, as_of: datetime) -> Samples:
    newest = read_ages(warehouse, settings, as_of).newest
    return {AGE: [(key, (as_of - newest[key]).total_seconds()) for key in sorted(newest)]}


def _values(row: dict[str, Any], names: Sequence[str]) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


def _sorted(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: [(value is not None, value) for value in _values(row, names)])
