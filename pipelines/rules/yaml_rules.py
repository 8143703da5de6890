"""Rules written as YAML: a list of statements, each with its moment of effect."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from pipelines.config.errors import ConfigError, read_each
from pipelines.config.shape import Instant, Shape, check, problem
from pipelines.config.yaml_file import YamlFile, load_yaml
from pipelines.rules.statements import (
    ANY,
    CRITERION_LENGTH,
    NAME_LENGTH,
    UNSET,
    Criterion,
    RuleDefaults,
    RuleFile,
    RuleStatement,
    SourceLocation,
    StatementType,
    level_problem,
    name_problem,
)


def _rule_name(name: str) -> str:
    if message := name_problem(name, NAME_LENGTH):
        raise problem(message)
    return name


def _criterion(value: object) -> Criterion:
    if value == "ANY":
        return ANY
    name = value["name"] if isinstance(value, dict) and value.keys() == {"name"} else value
    if not isinstance(name, str):
        raise problem("is not a name; write ANY, a name (in quotes if need be) or {name: ...}")
    if message := name_problem(name, CRITERION_LENGTH):
        raise problem(message)
    return name


def _level(level: int) -> int:
    if message := level_problem(level):
        raise problem(message)
    return level


_RuleName = Annotated[str, AfterValidator(_rule_name)]
_Criterion = Annotated[
    Any, BeforeValidator(_criterion, json_schema_input_type=str | dict[Literal["name"], str])
]
_Level = Annotated[
    int,
    Field(strict=True),
    AfterValidator(_level),
    WithJsonSchema({"type": "integer", "minimum": 1, "maximum": 10}),
]
_Name = Annotated[str, Field(min_length=1)]
_WHERE_TO_ADD = "add it here or to the file's entry under rules: in the settings"


class _Rule(Shape):
    name: _RuleName
    contract: _Criterion = UNSET
    local_service: _Criterion = UNSET
    remote_service: _Criterion = UNSET
    level: _Level | None = None


class _Drop(Shape):
    name: _RuleName


class _Entry(Shape):
    effective_from: Instant | None = None
    instance: _Name | None = None
    database: _Name | None = None
    create: _Rule | None = None
    alter: _Rule | None = None
    drop: _Drop | None = None

    def bodies(self) -> Iterator[tuple[StatementType, _Rule | _Drop | None]]:
        yield StatementType.CREATE, self.create
        yield StatementType.ALTER, self.alter
        yield StatementType.DROP, self.drop


RuleEntries: TypeAlias = tuple[_Entry, ...]
"""The content of a file of rules."""


def read_yaml_rules(path: str, defaults: RuleDefaults) -> RuleFile:
    """Read the statements of a YAML file in its order; YAML has no variables.

    Raises:
        ConfigError: The file is not a list of statements, or an entry lacks an instance or a moment of
            effect, or has not exactly one of create, alter and drop, or alters nothing; one line for each.
    """
    file = load_yaml(path)
    entries = () if file.data is None else check(RuleEntries, file)
    statements = read_each(lambda each: _statement(file, *each, defaults), enumerate(entries))
    return RuleFile(path, tuple(statements))


def _statement(file: YamlFile, index: int, entry: _Entry, defaults: RuleDefaults) -> RuleStatement:
    instance = entry.instance or defaults.instance
    database = entry.database or defaults.database
    effective_from = entry.effective_from or defaults.effective_from
    bodies = [(kind, body) for kind, body in entry.bodies() if body is not None]
    problems = []
    if instance is None:
        problems.append(file.problem((index, "instance"), f"is missing; {_WHERE_TO_ADD}"))
    if database is None:
        problems.append(file.problem((index, "database"), f"is missing; {_WHERE_TO_ADD}"))
    if effective_from is None:
        problems.append(file.problem((index, "effective_from"), f"is missing; {_WHERE_TO_ADD}"))
    if len(bodies) != 1:
        found = " and ".join(kind.value.lower() for kind, _ in bodies) or "none"
        problems.append(file.problem((index,), f"write one of create, alter and drop; here is {found}"))
    elif entry.alter and entry.alter.model_fields_set == {"name"}:
        message = "changes nothing; add what is to change (contract, local_service, remote_service, level)"
        problems.append(file.problem((index, "alter"), message, key=True))
    if problems or instance is None or database is None or effective_from is None:
        raise ConfigError(*problems)
    kind, body = bodies[0]
    place = file.position((index,))
    return RuleStatement(
        kind=kind,
        effective_from=effective_from,
        instance=instance,
        database=database,
        location=SourceLocation(file.path, place.line, place.column),
        **dict(body),
    )
