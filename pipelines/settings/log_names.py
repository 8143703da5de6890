"""The names of ids in logs of servers: by the captures, and by what a source says."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from pipelines.config.clocks import OffsetPeriod, ShownClock, offset_periods
from pipelines.config.errors import ConfigError
from pipelines.config.log_mapping import built_in
from pipelines.config.model import LOGS, LogSource
from pipelines.config.yaml_file import YamlFile
from pipelines.server.snapshots.server import ServerSnapshot
from pipelines.server.snapshots.views import QUEUES

FIRST, LAST = datetime(1900, 1, 1), datetime(9999, 1, 1)
MOMENT = timedelta(microseconds=1)


@dataclass(frozen=True)
class LogNames:
    """What captures call the things that logs name by ids; the newest capture counts.

    Attributes:
        instances: instances by their names in small letters.
        databases: (instance, id, database).
        queues: (instance, id of the database, id, queue).
        offsets: (instance, first and last local time, seconds ahead of UTC); they do not overlap.
    """

    instances: dict[str, str] = field(default_factory=dict)
    databases: tuple[tuple[str, str, str], ...] = ()
    queues: tuple[tuple[str, str, str, str], ...] = ()
    offsets: tuple[tuple[str, datetime, datetime, int], ...] = ()


def log_names(
    instances: Iterable[str], snapshots: Sequence[ServerSnapshot], clocks: Sequence[ShownClock]
) -> LogNames:
    """The names that snapshots give, in the order of their moments, and the offsets of clocks."""
    databases: dict[tuple[str, str], str] = {}
    queues: dict[tuple[str, str, str], str] = {}
    for each in snapshots:
        if each.database_id is None:
            continue
        instance, id = each.declared.instance, str(each.database_id)
        databases[instance, id] = each.declared.database
        queues |= {(instance, id, str(object)): name for object, name in each.names(QUEUES).items()}
    named = dict.fromkeys([*instances, *(each.declared.instance for each in snapshots)])
    return LogNames(
        {name.lower(): name for name in named},
        tuple((*key, name) for key, name in databases.items()),
        tuple((*key, name) for key, name in queues.items()),
        tuple(row for name in named for row in _offsets(name, offset_periods(clocks, name))),
    )


def _offsets(instance: str, periods: Sequence[OffsetPeriod]) -> Iterator[tuple[str, datetime, datetime, int]]:
    """The periods of an instance without the times that are in two."""
    for before, period, after in zip((None, *periods), periods, (*periods[1:], None), strict=False):
        since, until = period.since or FIRST, period.until or LAST
        if before is not None and before.until is not None:
            since = max(since, before.until + MOMENT)
        if after is not None and after.since is not None:
            until = min(until, after.since - MOMENT)
        yield instance, since.replace(tzinfo=UTC), until.replace(tzinfo=UTC), period.minutes * 60


def require_names(file: YamlFile, logs: Iterable[LogSource], names: LogNames) -> None:
    """Require that something names the ids of logs, and says the offset of local times.

    Raises:
        ConfigError: one line for each log of which neither captures nor the source name them.
    """
    problems = []
    for number, log in enumerate(logs):
        ids = built_in(log.mapping).ids
        has_clock = log.zone or log.offset or names.offsets
        if built_in(log.mapping).times == "local" and not has_clock:
            said = "has local times, and no capture shows their offset"
            remedy = "add zone: Europe/Berlin, or offset: '+02:00'"
            problems.append(file.problem(("inputs", LOGS, number), f"{said}; {remedy}"))
        needed = {
            "databases": ids.database is not None and ids.database_name is None and not names.databases,
            "queues": ids.queue is not None and not names.queues,
        }
        problems += [
            file.problem(
                ("inputs", LOGS, number),
                f"has {key} by number, and no capture names them; add {key}: {{5: NAME}}",
            )
            for key, is_needed in needed.items()
            if is_needed and ids.are_needed and key not in log.model_fields_set
        ]
    ConfigError.raise_any(problems)
