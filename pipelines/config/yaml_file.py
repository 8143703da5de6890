"""YAML files as plain Python data that remembers where every key and value stands."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

import yaml

from pipelines.config.errors import ConfigError, place_behind
from pipelines.config.text_file import read_text

Loc: TypeAlias = tuple[str | int, ...]
"""The way from the top of a file to a value: keys and list indexes."""

_TAG = "tag:yaml.org,2002:"
_BOOLEANS = {"yes": True, "no": False, "true": True, "false": False, "on": True, "off": False}
# YAML 1.1 also reads 010 (octal), 1_000, 0x1F and 1:30 (base 60) as numbers: too surprising to accept.
_PLAIN_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})")
_PLAIN_DECIMAL = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+)([eE][-+][0-9]{1,2})?")
_NO_TEXT = re.compile("[\\0\ud800-\udfff]")  # escapes can write these, but UTF-8 or a table can't hold them
_MOST_EXPANDED = 100_000
"""The most values that a file may have through aliases; without them it has fewer values than characters."""
_DEEPEST = 100
"""Lists and mappings in each other; what is read here has ten levels."""
_TOO_DEEP = f"nested too deeply to be read; write it with fewer than {_DEEPEST} levels"
_SHOWN = 40
_EXPLAINED = 200_000
"""Characters of a file that Python's parser reads once more to explain an error: some seconds."""
_TAB_INDENT = re.compile(r" *\t")
_OF_VALUES = ("values", "databases", "queues")
"""Mappings whose keys are values of a file: numbers, true, false and null among them, kept as text."""


@dataclass(frozen=True, order=True)
class Position:
    """A place in a file; both numbers count from 1."""

    line: int
    column: int


@dataclass(frozen=True)
class UnquotedTimestamp:
    """A date or time written without quotes, kept as written: no name, but an instant may be read from it."""

    text: str


@dataclass(frozen=True)
class YamlFile:
    """The content of one YAML file.

    `data` holds dicts with string keys (a null key is empty), lists, strings, booleans, ints, floats, None
    and UnquotedTimestamps.
    """

    path: str
    data: object
    _keys: Mapping[Loc, Position]
    _values: Mapping[Loc, Position]
    _texts: Mapping[Loc, str]

    def position(self, loc: Loc, *, key: bool = False) -> Position:
        """Return where the value (or its key) stands; for what is absent, where its parent does."""
        if key and loc in self._keys:
            return self._keys[loc]
        while loc and loc not in self._values:
            loc = loc[:-1]
        return self._values.get(loc, Position(1, 1))

    def text(self, loc: Loc) -> str | None:
        """Return a single value as it was written, without its quotes; None for lists and mappings."""
        return self._texts.get(loc)

    def problem(self, loc: Loc, message: str, *, key: bool = False) -> str:
        """Return the one line that reports a problem with the value (or key) at loc."""
        place = self.position(loc, key=key)
        field = field_path(loc)
        return f"{self.path}:{place.line}:{place.column}: {field + ': ' if field else ''}{message}"


def field_path(loc: Loc) -> str:
    """Write a loc as people do: instances[0].databases[1].name."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc).lstrip(".")


def load_yaml(path: str) -> YamlFile:
    """Read one YAML document; an empty file is None.

    Raises:
        ConfigError: The file can't be read or is not YAML; a key is repeated or is no text; a value has a
            tag of its own or is a number in a notation that only YAML 1.1 knows; lists and mappings are
            nested too deeply, or aliases make too much of them.
    """
    text = read_text(path)
    reader = _Reader(path, most_values=max(_MOST_EXPANDED, len(text)))
    root = _compose(path, text)
    data = None if root is None else reader.value(root, ())
    ConfigError.raise_any(reader.problems)
    return YamlFile(path, data, reader.keys, reader.values, reader.texts)


class _Depth:
    """Stops a loader before its recursion, which in libyaml's case ends the process."""

    path = ""
    depth = 0

    def descend_resolver(self, parent: yaml.Node | None, index: object) -> None:
        self.depth += 1
        if parent is not None and self.depth > _DEEPEST:
            place = _position(parent)
            raise ConfigError(f"{self.path}:{place.line}:{place.column}: {_TOO_DEEP}")

    def ascend_resolver(self) -> None:
        self.depth -= 1


def _compose(path: str, text: str) -> yaml.Node | None:
    # libyaml is seven times as fast: that counts for thousands of rules. Python's parser explains better.
    if yaml.__with_libyaml__:
        try:
            return yaml.compose(text, Loader=type("Loader", (_Depth, yaml.CSafeLoader), {"path": path}))
        except yaml.MarkedYAMLError as error:
            if len(text) > _EXPLAINED:
                _fail_syntax(path, text, error)
        except yaml.YAMLError:
            pass
    try:
        return yaml.compose(text, Loader=type("Loader", (_Depth, yaml.SafeLoader), {"path": path}))
    except yaml.reader.ReaderError as error:
        place = place_behind(text[: error.position])
        message = f"the character U+{ord(text[error.position]):04X} is not allowed in YAML; remove it"
        raise ConfigError(f"{path}:{place}: {message}") from error
    except yaml.MarkedYAMLError as error:
        _fail_syntax(path, text, error)


def _fail_syntax(path: str, text: str, error: yaml.MarkedYAMLError) -> NoReturn:
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line, mark.column) if mark else (0, 0)
    lines = text.split("\n")
    if line < len(lines) and (tab := _TAB_INDENT.match(lines[line])):
        message, column = "a tab indents the line; use spaces", tab.end() - 1
    else:
        context = f" ({error.context})" if error.context else ""
        message = f"is not YAML: {error.problem}{context}; correct the line or quote the value"
    raise ConfigError(f"{path}:{line + 1}:{column + 1}: {' '.join(message.split())}") from error


class _Reader:
    """Turns nodes into data, collects their positions, and lists what is wrong instead of stopping at it."""

    def __init__(self, path: str, *, most_values: int) -> None:
        self.path = path
        self.most_values = most_values
        self.keys: dict[Loc, Position] = {}
        self.values: dict[Loc, Position] = {}
        self.texts: dict[Loc, str] = {}
        self.problems: list[str] = []
        self._open: list[yaml.Node] = []

    def value(self, node: yaml.Node, loc: Loc) -> object:
        place = self.values[loc] = _position(node)
        if len(self.values) > self.most_values:
            raise ConfigError(
                f"{self.path}:{place.line}:{place.column}: aliases make more than {self.most_values:,} "
                "values of this file; write them out"
            )
        if len(loc) > _DEEPEST:  # by aliases of anchors with aliases
            raise ConfigError(f"{self.path}:{place.line}:{place.column}: {_TOO_DEEP}")
        try:
            if isinstance(node, yaml.ScalarNode):
                self.texts[loc] = node.value
                return _scalar(node)
            return self._collection(node, loc)
        except ValueError as error:
            self._problem(node, str(error))
            return None

    def _collection(self, node: yaml.Node, loc: Loc) -> object:
        if any(node is parent for parent in self._open):
            raise ValueError("an alias stands inside its own anchor; write the value out")
        self._open.append(node)
        try:
            if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
                return dict(self._items(node, loc))
            if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
                return [self.value(child, (*loc, index)) for index, child in enumerate(node.value)]
            raise ValueError(f"the tag {_short(node.tag)} means nothing here; remove it")
        finally:
            self._open.pop()

    def _items(self, node: yaml.MappingNode, loc: Loc) -> Iterator[tuple[str, object]]:
        first: dict[str, int] = {}
        for key, child in node.value:
            try:
                name = _key(key, are_values=bool(loc) and loc[-1] in _OF_VALUES)
            except ValueError as error:
                self._problem(key, str(error))
                continue
            place = _position(key)
            if name in first:
                self._problem(
                    key, f"the key {name!r} stands here twice, first on line {first[name]}; remove one"
                )
                continue
            first[name] = place.line
            self.keys[*loc, name] = place
            yield name, self.value(child, (*loc, name))

    def _problem(self, node: yaml.Node, message: str) -> None:
        place = _position(node)
        self.problems.append(f"{self.path}:{place.line}:{place.column}: {message}")


def _key(node: yaml.Node, *, are_values: bool) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise ValueError("a list or a mapping can't be a key; write a word")
    if node.tag == _TAG + "merge":
        raise ValueError("merge keys are not supported; write the keys out")
    name = _scalar(node)
    if are_values and (name is None or isinstance(name, int | float)):
        return value_text(name)
    if not isinstance(name, str):
        raise ValueError(f"the key {node.value} is not text to YAML; write it in quotes: {node.value!r}")
    return name


def value_text(value: str | float | None) -> str:
    """A value of a file as text that compares: without blanks around it, true and false in small letters.

    A number is as short as it can be. Null is empty.
    """
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value).strip(" ")
    return text.lower() if text.lower() in ("true", "false") else text


def _scalar(node: yaml.ScalarNode) -> object:
    text, tag = node.value, node.tag.removeprefix(_TAG)
    match tag:
        case "str" | "value" | "merge":
            if _NO_TEXT.search(text):
                raise ValueError("U+0000 and half a surrogate pair are no text; write the character itself")
            return text
        case "null":
            return None
        case "timestamp":
            return UnquotedTimestamp(text)
        case "bool" if text.lower() in _BOOLEANS:
            return _BOOLEANS[text.lower()]
        case "int" if _PLAIN_INTEGER.fullmatch(text):
            return int(text)
        case "float" if _PLAIN_DECIMAL.fullmatch(text):
            return float(text)
        case "int" | "float":
            raise ValueError(
                f"{text!r} is an unusual number; write plain digits, or quote it if it is a name"
            )
    raise ValueError(f"the tag {_short(node.tag)} does not fit {text!r}; remove it")


def _position(node: yaml.Node) -> Position:
    return Position(node.start_mark.line + 1, node.start_mark.column + 1)


def _short(tag: str) -> str:
    said = "!!" + tag.removeprefix(_TAG) if tag.startswith(_TAG) else tag
    return said if len(said) <= _SHOWN else said[: _SHOWN - 3] + "..."
