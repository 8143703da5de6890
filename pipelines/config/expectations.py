"""What the settings expect of each as_of: entries with one measure, a limit and filters."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema

from pipelines.config.catalog import Catalog
from pipelines.config.errors import ConfigError
from pipelines.config.nearest import suggest_nearest
from pipelines.config.queue_filter import KnownQueues, name_parts
from pipelines.config.shape import Shape, problem
from pipelines.config.yaml_file import Loc, YamlFile
from schemas.keys import QUEUE

OLDEST_WAIT, P95_WAIT, TRANSMISSION_AGE = "oldest_wait", "p95_wait", "transmission_age"
LEVEL_AT_LEAST, UNRESOLVED, LEAKED = "level_at_least", "unresolved", "leaked_conversations"
DATA_AGE = "data_age"
PLACE, SERVICES = ("instance", "database"), ("contract", "service", "remote_service")
OF_MESSAGES = ("min_messages",)
FURTHER_KEYS = {
    OLDEST_WAIT: ("queue", *PLACE, *SERVICES, "level", *OF_MESSAGES),
    P95_WAIT: ("queue", *PLACE, *SERVICES, "level", *OF_MESSAGES),
    TRANSMISSION_AGE: ("instance", *SERVICES, "level", *OF_MESSAGES),
    LEVEL_AT_LEAST: ("queue", *PLACE, *SERVICES, "share", *OF_MESSAGES),
    UNRESOLVED: OF_MESSAGES,
    LEAKED: (*PLACE, *SERVICES, "days"),
    DATA_AGE: PLACE,
}
"""The measures, and the keys that each takes beside `name`."""
UNITS = {"s": 1, "min": 60, "h": 3_600, "d": 86_400}
"""Units of a duration, in seconds."""
LONGEST = 1_000_000_000
"""Seconds of the longest duration."""
LEAK_DAYS = 7.0
"""Days without traffic that make a leak unless given, as of `leaks`."""
MOST_DAYS = 36_525
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+) ?([^\W\d_]+)")
_NUMBER = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")
_FORM = "write a number and a unit (s, min, h or d), like 10 min"


def parse_duration(value: object) -> float:
    """The seconds of a duration, such as `5 min` or `5min`.

    Raises:
        PydanticCustomError: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise problem(f"is no duration; {_FORM}")
    text = str(value)
    if _NUMBER.fullmatch(text.strip()):
        raise problem(f"is {text}, without a unit; {_FORM}")
    found = _DURATION.fullmatch(text)
    if found is None:
        raise problem(f"{text!r} is no duration; {_FORM}")
    number, unit = found.groups()
    if unit not in UNITS:
        raise problem(f"{text!r} has an unknown unit; {suggest_nearest(unit, UNITS)}")
    seconds = Decimal(number) * UNITS[unit]
    if seconds > LONGEST:
        raise problem(f"is {text!r}; write {LONGEST} s or less")
    return float(seconds)


Duration = Annotated[
    float,
    BeforeValidator(parse_duration),
    WithJsonSchema(
        {"type": "string", "pattern": r"^([0-9]+(\.[0-9]*)?|\.[0-9]+) ?(s|min|h|d)$", "examples": ["10 min"]}
    ),
]
"""A number with the unit s, min, h or d, one blank or none between; as seconds."""
Name = Annotated[str, Field(min_length=1)]
Level = Annotated[int, Field(strict=True, ge=1, le=10)]
Number = Annotated[int, Field(strict=True, ge=0, le=10**15)]


def _one_measure(schema: dict[str, Any]) -> None:
    """Say which keys go with which measure; null is the same as absent."""
    nothing = {"type": "null"}
    schema["oneOf"] = [
        {
            "required": [measure],
            "properties": {
                measure: {"not": nothing},
                **{key: nothing for key in schema["properties"] if key not in ("name", measure, *keys)},
            },
        }
        for measure, keys in FURTHER_KEYS.items()
    ]


class ExpectEntry(Shape):
    """An expectation: one measure with its limit; the other keys filter, and all hold together."""

    model_config = ConfigDict(json_schema_extra=_one_measure)

    name: Name | None = None
    oldest_wait: Duration | None = None
    p95_wait: Duration | None = None
    transmission_age: Duration | None = None
    level_at_least: Level | None = None
    unresolved: Number | None = None
    leaked_conversations: Number | None = None
    data_age: Duration | None = None
    queue: Name | None = None
    instance: Name | None = None
    database: Name | None = None
    contract: Name | None = None
    service: Name | None = None
    remote_service: Name | None = None
    level: Level | None = None
    share: Annotated[float, Field(strict=True, ge=0, le=1)] | None = None
    days: Annotated[float, Field(strict=True, gt=0, le=MOST_DAYS)] | None = None
    min_messages: Number | None = None

    @property
    def given(self) -> dict[str, Any]:
        """The keys that have a value, without the name."""
        return {key: value for key, value in self.model_dump(exclude={"name"}).items() if value is not None}


@dataclass(frozen=True)
class Expectation:
    """An expectation that is right.

    Attributes:
        name: unique in the settings.
        measure: a key of FURTHER_KEYS.
        entry: the limit and the filters.
    """

    name: str
    measure: str
    entry: ExpectEntry

    @property
    def limit(self) -> float:
        """What the value is compared with: seconds, a share or a count."""
        if self.measure == LEVEL_AT_LEAST:
            return 1.0 if self.entry.share is None else self.entry.share
        return float(getattr(self.entry, self.measure))

    @property
    def days(self) -> float:
        """Days without traffic that make a leak."""
        return LEAK_DAYS if self.entry.days is None else self.entry.days

    def is_met(self, value: float | None, messages: int | None) -> bool:
        """Whether a value meets the limit, and enough messages were measured; a value of None meets it."""
        if (messages or 0) < (self.entry.min_messages or 0):
            return False
        if value is None:
            return True
        if self.measure == LEVEL_AT_LEAST:
            return value >= self.limit
        return value <= self.limit

    def describe(self) -> dict[str, Any]:
        """Return the name, the measure and the keys, for the settings in `runs`."""
        return {"name": self.name, "measure": self.measure, **self.entry.given}


def read_expectations(file: YamlFile, entries: Sequence[ExpectEntry]) -> tuple[Expectation, ...]:
    """Return the expectations of a settings file in their order, each with its measure and name.

    Raises:
        ConfigError: an entry has no measure or two, a key that its measure does not take, or the name of
            another one.
    """
    problems: list[str] = []
    found: list[Expectation] = []
    lines: dict[str, int] = {}
    for number, entry in enumerate(entries):
        loc: Loc = ("expect", number)
        wrong = _describe_wrong_keys(file, loc, entry)
        if wrong:
            problems += wrong
            continue
        name = entry.name or _written(file, number, entry)
        place: Loc = (*loc, "name") if entry.name else loc
        if name in lines:
            message = f"{name!r} is the name of the entry on line {lines[name]}, too; write another name"
            problems.append(file.problem(place, message))
        lines.setdefault(name, file.position(place).line)
        found.append(Expectation(name, _measures_of(entry)[0], entry))
    ConfigError.raise_any(problems)
    return tuple(found)


def unknown_queues(file: YamlFile, entries: Sequence[ExpectEntry], catalog: Catalog) -> list[str]:
    """Return a line for each queue that a catalog does not have, where nothing else names queues."""
    known = KnownQueues.of(catalog)
    return [
        file.problem(
            ("expect", number, "queue"),
            f"{entry.queue!r} is no queue of the catalog; {known.nearest(entry.queue)}",
        )
        for number, entry in enumerate(entries)
        if entry.queue is not None and not any(is_named(entry.queue, queue) for queue in known.queues)
    ]


def queue_names(name: str) -> tuple[set[str], tuple[str, str, str] | None]:
    """Return the queues' own names that a name may mean, and the one queue that it may name in full."""
    parts = name_parts(name)
    own = {name, *(parts if len(parts) == 1 else ())}
    whole = (parts[0], parts[1], parts[2]) if len(parts) == len(QUEUE) else None
    return own, whole


def is_named(name: str, queue: tuple[str, str, str]) -> bool:
    """Whether a name is that of a queue: its own, or INSTANCE.DATABASE.QUEUE."""
    own, whole = queue_names(name)
    return queue[2] in own or queue == whole or ".".join(queue) == name


def _measures_of(entry: ExpectEntry) -> list[str]:
    return [measure for measure in FURTHER_KEYS if measure in entry.given]


def _describe_wrong_keys(file: YamlFile, loc: Loc, entry: ExpectEntry) -> list[str]:
    """A line for each key that makes the entry no expectation of one measure."""
    measures = _measures_of(entry)
    if not measures:
        return [file.problem(loc, f"has no measure; add one of {', '.join(FURTHER_KEYS)}")]
    measure, *others = sorted(measures, key=lambda key: file.position((*loc, key), key=True))
    if others:
        message = f"is a second measure beside {measure}; write an entry for each"
        return [file.problem((*loc, other), message, key=True) for other in others]
    takes = FURTHER_KEYS[measure]
    message = f"does not go with {measure}; remove it, or write one of {', '.join(takes)}"
    wrong = [key for key in entry.given if key not in (measure, *takes)]
    return [file.problem((*loc, key), message, key=True) for key in wrong]


def _written(file: YamlFile, number: int, entry: ExpectEntry) -> str:
    """The entry as it is written: `key: value`, in the order of the file."""
    data: Any = file.data
    keys = [key for key in data["expect"][number] if key in entry.given]
    return ", ".join(f"{key}: {file.text(('expect', number, key))}" for key in keys)
