"""Checks the data of a YAML file against a pydantic shape; every problem becomes a line with its place."""

from collections.abc import Mapping
from datetime import datetime
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from pipelines.config.errors import ConfigError
from pipelines.config.instants import parse_instant
from pipelines.config.nearest import suggest_nearest
from pipelines.config.yaml_file import Loc, Position, UnquotedTimestamp, YamlFile

T = TypeVar("T")
INSTANT = r"^\d{4}-\d{2}-\d{2}"
"""What an editor asks of an instant: that it begins with a date."""


class Shape(BaseModel):
    """Base of everything read from YAML: frozen, without unknown keys, and null is the same as absent.

    Only where a value may be null and is not so by default, null is something to say.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, data: object) -> object:
        if not isinstance(data, dict):
            return data
        optional = {
            name
            for name, field in cls.model_fields.items()
            if not field.is_required() and not (field.default and NoneType in get_args(field.annotation))
        }
        return {key: value for key, value in data.items() if value is not None or key not in optional}


def problem(message: str) -> PydanticCustomError:
    """Return the error a validator raises; its message says what is wrong and what to write instead."""
    return PydanticCustomError("problem", "{message}", {"message": message})


def _switch(value: object) -> bool:
    word = value.lower() if isinstance(value, str) else value
    if word is True or word in ("on", "true"):
        return True
    if word is False or word in ("off", "false"):
        return False
    raise problem("must be on or off; write one of them")


def _instant(value: object) -> datetime:
    text = value.text if isinstance(value, UnquotedTimestamp) else value
    if not isinstance(text, str):
        raise problem("is not a moment in time; write it like 2026-01-01T00:00:00Z")
    try:
        return parse_instant(text)
    except ValueError as error:
        raise problem(str(error)) from error


Switch = Annotated[
    bool,
    BeforeValidator(_switch, json_schema_input_type=bool | Literal["on", "off"]),
]
"""on, off, true or false; quotes and case don't matter. (YAML 1.1 readers turn a plain `on` into true.)"""

Instant = Annotated[
    datetime,
    BeforeValidator(_instant),
    WithJsonSchema({"type": "string", "pattern": INSTANT, "examples": ["2026-01-01T00:00:00Z"]}),
]
"""A date or time, as an aware datetime in UTC."""


def check(shape: type[T], file: YamlFile, context: Mapping[str, str] | None = None) -> T:
    """Return the content of a file in its shape.

    Raises:
        ConfigError: Something is missing, unknown or of the wrong kind; one line for each.
    """
    try:
        return TypeAdapter(shape).validate_python(file.data, context=dict(context or {}))
    except ValidationError as error:
        lines = [_line(shape, file, detail) for detail in error.errors(include_url=False)]
        raise ConfigError(*(line for *_, line in sorted(lines))) from error


def _line(shape: Any, file: YamlFile, detail: ErrorDetails) -> tuple[Position, bool, str]:
    """The line of an error, with its place among the others: a missing key comes behind the present ones."""
    loc: Loc = detail["loc"]
    unknown = detail["type"] == "extra_forbidden"
    if unknown:
        message = f"unknown key; {suggest_nearest(str(loc[-1]), _keys_at(shape, loc[:-1]))}"
    else:
        message = _explain(detail, file.text(loc))
        is_switch = detail["type"] == "model_type" and isinstance(detail["input"], bool)
        if is_switch and NoneType in get_args(_shape_at(shape, loc)):
            message += ", or null for none"
        if detail["type"] == "tuple_type" and isinstance(_item_at(shape, loc), type(Shape)):
            message = message.replace("(- item)", "(- key: value)")
    is_missing = detail["type"] == "missing" and isinstance(detail["input"], dict) and bool(detail["input"])
    at = (*loc[:-1], [*detail["input"]][-1]) if is_missing else loc
    return file.position(at, key=unknown or is_missing), is_missing, file.problem(loc, message, key=unknown)


def _explain(detail: ErrorDetails, text: str | None) -> str:
    """Say what is wrong and what to write; text is the value as written, None for a list or mapping."""
    kind, context = detail["type"], detail.get("ctx", {})
    match detail["input"]:
        case None:
            written = text or "nothing"
        case list():
            written = "a list"
        case dict():
            written = "a mapping"
        case str():
            written = repr(text)
        case _:
            written = str(text)
    match kind:
        case "missing":
            return f"is missing; add {detail['loc'][-1]}: and its value" if detail["loc"] else "is missing"
        case "model_type" | "dict_type":
            return f"is {written}; write a mapping (key: value)"
        case "tuple_type" | "list_type":
            return f"is {written}; write a list (- item)"
        case "string_type" if text is None or detail["input"] is None:
            return f"is {written}; write one text"
        case "string_type":
            return f"{text} is not text to YAML; write it in quotes: '{text}'"
        case "string_too_short":
            return "is empty; write at least one character"
        case "int_type" | "int_from_float" | "int_parsing":
            return f"is {written}; write a whole number without quotes"
        case "float_type" | "float_parsing":
            return f"is {written}; write a number without quotes, like 5 or 0.5"
        case "greater_than":
            return f"is {written}; write a number above {_plain(context['gt'])}"
        case "greater_than_equal":
            return f"is {written}; write {_plain(context['ge'])} or more"
        case "less_than_equal":
            return f"is {written}; write {_plain(context['le'])} or less"
        case "literal_error":
            choices = context["expected"].replace("'", "").replace(" or ", ", ").split(", ")
            return f"is {written}; {suggest_nearest(text or '', choices)}"
        case _:
            return detail["msg"]


def _plain(number: float) -> str:
    return f"{number:f}".rstrip("0").rstrip(".")


def _keys_at(shape: Any, loc: Loc) -> list[str]:
    """Return the keys a mapping at loc may have."""
    fields = _bare(_shape_at(shape, loc), is_list=False).model_fields
    return [field.alias or name for name, field in fields.items()]


def _shape_at(shape: Any, loc: Loc) -> Any:
    """Return the shape of what is at loc."""
    if not loc:
        return shape
    is_item = isinstance(loc[0], int)
    shape = _bare(shape, is_list=is_item)
    if is_item or get_origin(shape) is dict:
        inner = get_args(shape)[0 if is_item else 1]
    else:
        inner = next(
            field.annotation for name, field in shape.model_fields.items() if loc[0] in (name, field.alias)
        )
    return _shape_at(inner, loc[1:])


def _item_at(shape: Any, loc: Loc) -> Any:
    """Return the shape of the items of the list that may be at loc."""
    return _bare(get_args(_bare(_shape_at(shape, loc), is_list=True))[0], is_list=False)


def _bare(shape: Any, *, is_list: bool) -> Any:
    """Take Annotated away, and of a union what may be a list, or a mapping."""
    if get_origin(shape) is Annotated:
        return _bare(get_args(shape)[0], is_list=is_list)
    if get_origin(shape) in (Union, UnionType):
        parts = [part for part in get_args(shape) if part not in (NoneType, str)]
        fitting = [part for part in parts if (get_origin(part) is tuple) == is_list]
        return _bare((fitting or parts)[0], is_list=is_list)
    return shape
