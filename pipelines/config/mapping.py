"""The mapping of a source: which of its columns, or which constant, each column of the contract is."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, available_timezones

from pydantic import AfterValidator, Field, PlainValidator, TypeAdapter, ValidationInfo, model_validator

from pipelines.config.nearest import suggest_nearest
from pipelines.config.shape import Shape, problem
from pipelines.config.yaml_file import UnquotedTimestamp, value_text
from schemas.events import CONTRACTS, EventContract

HANDLE = "conversation_handle"
"""In message_events it stands for conversation_id and sent_by_initiator."""
TIMES = ("event_time",)
OFFSET = re.compile(r"([+-])(0\d|1[0-4]):([0-5]\d)")
_INTEGER = re.compile(r"[+-]?\d{1,18}")
_BOOLEANS = ("true", "false", "1", "0")
_COLUMN = "write the name of a column of the file, {from: COLUMN} or {value: CONSTANT}"


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise problem(
            f"{name!r} is no zone; {suggest_nearest(name, sorted(available_timezones()))}"
        ) from None
    return name


def _offset(text: str) -> str:
    if not OFFSET.fullmatch(text):
        raise problem(f"{text!r} is no offset; write hours and minutes in quotes, like '+02:00'")
    return text


def offset_seconds(offset: str) -> int:
    """The seconds by which local times with an offset are ahead of UTC."""
    sign, hours, minutes = OFFSET.fullmatch(offset).groups()  # type: ignore[union-attr]
    return (-1 if sign == "-" else 1) * (int(hours) * 3600 + int(minutes) * 60)


def _constant(value: object) -> str:
    if isinstance(value, UnquotedTimestamp):
        return value.text
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return value_text(value)
    raise problem("is no constant; write a text, a number, true or false")


def _translations(given: object) -> dict[str, str | None]:
    if not isinstance(given, dict):
        raise problem("is no mapping; write the values and what they become: {1: ClaimRequest}")
    return {value_text(key): None if value is None else _constant(value) for key, value in given.items()}


def _choices(given: object) -> tuple[str, ...]:
    several = given if isinstance(given, list) else [given]
    if not several:
        raise problem("is an empty list; write a value")
    return tuple("" if each is None else value_text(_constant(each)) for each in several)


Zone = Annotated[str, AfterValidator(_zone)]
Offset = Annotated[str, AfterValidator(_offset)]
Scalar = str | bool | int | float
Constant = Annotated[str, PlainValidator(_constant, json_schema_input_type=Scalar)]
Translations = Annotated[
    dict[str, str | None], PlainValidator(_translations, json_schema_input_type=dict[str, Scalar | None])
]
"""What the texts of values become; the empty text stands for null."""
Choices = Annotated[
    tuple[str, ...],
    PlainValidator(_choices, json_schema_input_type=Scalar | None | list[Scalar | None]),
]


class LocalTimes(Shape):
    """The zone or the offset of times that name none."""

    zone: Zone | None = None
    offset: Offset | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> "LocalTimes":
        if self.zone is not None and self.offset is not None:
            raise problem("has zone and offset; write one of them")
        return self


class MappedColumn(LocalTimes):
    """Where the values of a column come from: a column of the file, or one constant."""

    from_: Annotated[Annotated[str, Field(min_length=1)] | None, Field(alias="from")] = None
    value: Constant | None = None
    values: Translations | None = None
    other: Constant | None = None
    length: Literal["bytes"] | None = None

    @model_validator(mode="after")
    def _is_column_or_constant(self) -> "MappedColumn":
        if (self.from_ is None) == (self.value is None):
            raise problem(f"needs one of from and value; {_COLUMN}")
        if self.value is not None and not self.value.strip():
            raise problem("has a blank value; write a constant, or remove the column, which is null then")
        if self.value is not None and self.model_fields_set != {"value"}:
            raise problem("is a constant, which nothing changes; leave value alone, or write from")
        if self.other is not None and self.values is None:
            raise problem("has other without values; write the values, too")
        if self.length is not None and self.values is not None:
            raise problem("has length and values; write one of them")
        return self


def _column(value: object, info: ValidationInfo) -> MappedColumn:
    if isinstance(value, str):
        value = {"from": value}
    if not isinstance(value, dict):
        raise problem(f"is no column; {_COLUMN}")
    return TypeAdapter(MappedColumn).validate_python(value, context=info.context)


MappedColumns = dict[
    str, Annotated[MappedColumn, PlainValidator(_column, json_schema_input_type=str | MappedColumn)]
]


class Condition(Shape):
    """Which rows count: those whose value is one of these, or none of them."""

    from_: Annotated[str, Field(alias="from", min_length=1)]
    is_: Annotated[Choices, Field(alias="is")] = ()
    is_not_: Annotated[Choices, Field(alias="is_not")] = ()

    @model_validator(mode="after")
    def _one_of_them(self) -> "Condition":
        if ("is_" in self.model_fields_set) == ("is_not_" in self.model_fields_set):
            raise problem("needs one of is and is_not; write the values that count")
        return self


def known_columns(contract: EventContract) -> list[str]:
    """The columns that a mapping may name."""
    handles = [HANDLE] if "conversation_id" in contract.names else []
    return list(dict.fromkeys([*contract.names, *handles]))


class MappedSource(LocalTimes):
    """What a source says of its mapping: zone and offset may stand beside the columns, for all its times."""

    columns: MappedColumns | None = None
    where: tuple[Condition, ...] = ()


def mapping_problems(table: str, source: MappedSource) -> Iterator[tuple[Sequence[str], str, bool]]:
    """What is wrong with a mapping by its contract.

    Args:
        table: the input.
        source: its source.

    Yields:
        The keys that lead to the problem's place, the problem, and whether it is about the last key.
    """
    contract, columns = CONTRACTS[table], source.columns
    if columns is None:
        return
    types = {column.name: column.type for column in contract.columns} | {HANDLE: "string"}
    known = known_columns(contract)
    for name, column in columns.items():
        if name not in known:
            yield [name], f"{table} has no such column; {suggest_nearest(name, known)}", True
            continue
        has_zone = column.zone is not None or column.offset is not None
        if has_zone and name not in TIMES:
            yield [name], "is no time and has no zone; remove zone or offset", False
        elif has_zone and (source.zone or source.offset):
            yield [name], "the source has zone or offset, too; write it in one place", False
        if column.length is not None and types[name] not in ("bigint", "int"):
            yield [name, "length"], f"is a number, and {name} is a {types[name]}; remove it", False
        for keys, constant in _constants(name, column):
            if wrong := _misfit(contract, name, types[name], constant):
                yield keys, wrong, False
    if missing := missing_columns(contract, columns):
        yield [], f"an event needs {' and '.join(missing)}; name the column, or a constant", False


def _constants(name: str, column: MappedColumn) -> Iterator[tuple[list[str], str]]:
    if column.value is not None:
        yield [name, "value"], column.value
    for key, value in (column.values or {}).items():
        if value is not None:
            yield [name, "values", key], value
    if column.other is not None:
        yield [name, "other"], column.other


def _misfit(contract: EventContract, name: str, type: str, constant: str) -> str:
    if name == "event_type" and constant not in contract.event_types:
        return f"is {constant!r}, no event type; {suggest_nearest(constant, contract.event_types)}"
    if type in ("bigint", "int") and not _INTEGER.fullmatch(constant):
        return f"is {constant!r}, but {name} is a whole number"
    if type == "boolean" and constant.lower() not in _BOOLEANS:
        return f"is {constant!r}, but {name} is true or false"
    return ""


def missing_columns(contract: EventContract, columns: Mapping[str, Any]) -> list[str]:
    """What an accepted event needs and a mapping lacks, and nothing makes up for."""
    instead = {"event_id": (), "message_id": ("message_sequence_number",)}
    if HANDLE in columns:
        instead |= dict.fromkeys(("conversation_id", "is_initiator", "sent_by_initiator"), (HANDLE,))
    needed = [column.name for column in contract.columns if not column.nullable]
    event_type = columns.get("event_type")
    needed += contract.required_for.get(getattr(event_type, "value", None) or "", ())
    missing = []
    for name in needed:
        others = instead.get(name, (name,))
        if name not in columns and others and not any(other in columns for other in others):
            others_said = [other for other in others if other != name]
            missing.append(" or ".join([name, *others_said]))
    if "conversation_id" in missing:
        missing[missing.index("conversation_id")] = f"conversation_id or {HANDLE}"
    return missing
