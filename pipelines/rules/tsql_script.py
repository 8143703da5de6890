"""A rule history as the T-SQL script that makes it."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import groupby
from operator import attrgetter

from pipelines.config.instants import format_instant
from pipelines.rules.history import RuleVersion
from pipelines.rules.rule_grammar import FIELDS
from pipelines.rules.script_tokens import DIRECTIVE

_ITEMS = tuple(FIELDS.items())


def format_script(history: Iterable[RuleVersion], instance: str) -> str:
    """Print the rules of one instance as a script, each statement with its moment of effect.

    Read again as a source of that instance, the script gives the same history. A change of a rule is an
    ALTER, unless another rule still holds the new triple at that moment: then it is a DROP and a CREATE.
    """
    parts = []
    own = sorted((version for version in history if version.instance == instance), key=attrgetter("database"))
    for database, versions in groupby(own, key=attrgetter("database")):
        parts.append(f"USE {quote_name(database)};\nGO\n")
        parts += _statements(list(versions))
    return "".join(parts)


def create_statement(version: RuleVersion) -> str:
    """Return the CREATE BROKER PRIORITY that makes a rule as it stands in this version."""
    return (
        f"CREATE BROKER PRIORITY {quote_name(version.name)}\n    FOR CONVERSATION\n{_set(version, _ITEMS)};\n"
    )


def quote_name(name: str) -> str:
    """Return a name as an identifier in brackets, whatever it contains."""
    return f"[{name.replace(']', ']]')}]"


def alter_criterion(rule: str, criterion: str, name: str) -> str:
    """Return the ALTER BROKER PRIORITY, on one line, that gives a criterion of a rule another name."""
    item = next(item for item, attribute in _ITEMS if attribute == criterion)
    return (
        f"ALTER BROKER PRIORITY {quote_name(rule)} FOR CONVERSATION SET ({item} = {_value(criterion, name)})"
    )


def alter_level(rule: str, level: int) -> str:
    """Return the ALTER BROKER PRIORITY, on one line, that gives a rule another level."""
    return f"ALTER BROKER PRIORITY {quote_name(rule)} FOR CONVERSATION SET (PRIORITY_LEVEL = {level})"


def quote_queue(queue: str, schema: str | None) -> str:
    """Return a queue as an identifier, with its schema if it is known.

    Where several schemas have a queue of one name, answers name it with its schema.
    """
    if schema is None:
        return quote_name(queue)
    return f"{quote_name(schema)}.{quote_name(queue.removeprefix(f'{schema}.'))}"


def _statements(versions: list[RuleVersion]) -> Iterator[str]:
    """The statements of one database by moment; in each, what frees names and triples comes first."""
    begins: dict[datetime, dict[str, RuleVersion]] = {}
    ends: dict[datetime, dict[str, RuleVersion]] = {}
    for version in versions:
        begins.setdefault(version.valid_from, {})[version.name] = version
        if version.valid_to is not None:
            ends.setdefault(version.valid_to, {})[version.name] = version
    standing: dict[tuple[str | None, str | None, str | None], str] = {}
    for moment in sorted(begins.keys() | ends.keys()):
        starting, ending = begins.get(moment, {}), ends.get(moment, {})
        altered = {
            name: (ending[name], version)
            for name, version in starting.items()
            if name in ending
            and standing.get(version.triple, name) in (name, *(ending.keys() - starting.keys()))
        }
        directive = f"-- {DIRECTIVE}: {format_instant(moment)}\n"
        for name in sorted(ending.keys() - altered.keys()):
            yield f"{directive}DROP BROKER PRIORITY {quote_name(name)};\n"
        for name in sorted(altered):
            yield directive + _alter(*altered[name])
        for name in sorted(starting.keys() - altered.keys()):
            yield directive + create_statement(starting[name])
        for version in ending.values():
            del standing[version.triple]
        for version in starting.values():
            standing[version.triple] = version.name


def _alter(before: RuleVersion, after: RuleVersion) -> str:
    changed = [item for item in _ITEMS if getattr(before, item[1]) != getattr(after, item[1])]
    items = _set(after, changed or _ITEMS[-1:])
    return f"ALTER BROKER PRIORITY {quote_name(after.name)}\n    FOR CONVERSATION\n{items};\n"


def _set(version: RuleVersion, items: Iterable[tuple[str, str]]) -> str:
    written = [f"{keyword} = {_value(field, getattr(version, field))}" for keyword, field in items]
    return "    SET (" + ",\n         ".join(written) + ")"


def _value(field: str, value: str | int | None) -> str:
    if value is None:
        return "ANY"
    if isinstance(value, int):
        return str(value)
    return "N'" + value.replace("'", "''") + "'" if field == "remote_service" else quote_name(value)
