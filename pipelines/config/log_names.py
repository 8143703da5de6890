"""The names of ids in logs of servers: by the captures, and by what a source says."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pipelines.config.errors import ConfigError
from pipelines.config.log_mapping import built_in
from pipelines.config.model import LOGS, LogSource
from pipelines.config.snapshots.server import ServerSnapshot
from pipelines.config.snapshots.views import QUEUES
from pipelines.config.yaml_file import YamlFile


@dataclass(frozen=True)
class LogNames:
    """What captures call the things that logs name by ids; the newest capture counts.

    Attributes:
        instances: instances by their names in small letters.
        databases: (instance, id, database).
        queues: (instance, id of the database, id, queue).
    """

    instances: dict[str, str] = field(default_factory=dict)
    databases: tuple[tuple[str, str, str], ...] = ()
    queues: tuple[tuple[str, str, str, str], ...] = ()


def log_names(instances: Iterable[str], snapshots: Sequence[ServerSnapshot]) -> LogNames:
    """The names that snapshots give, in the order of their moments."""
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
    )


def require_names(file: YamlFile, logs: Iterable[LogSource], names: LogNames) -> None:
    """Require that something names the ids of logs.

    Raises:
        ConfigError: one line for each log of which neither captures nor the source name them.
    """
    problems = []
    for number, log in enumerate(logs):
        ids = built_in(log.mapping).ids
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
    if problems:
        raise ConfigError(*problems)
