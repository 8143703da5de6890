"""Rules written as T-SQL: the scripts that create, alter and drop them on the server."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lark import Token, Tree

from config.errors import ConfigError
from config.instants import parse_instant
from config.rules.limits import CRITERION_LENGTH, NAME_LENGTH, level_problem, name_problem
from config.rules.rule_file import RuleFile
from config.rules.script_file import read_script
from config.rules.script_statements import Statement, Statements
from config.rules.script_tokens import DIRECTIVE, Comment, tokenize
from config.rules.statements import ANY, DEFAULT_LEVEL, Criterion, Kind, Origin, RuleStatement

_FIELDS = {
    "CONTRACT_NAME": "contract",
    "LOCAL_SERVICE_NAME": "local_service",
    "REMOTE_SERVICE_NAME": "remote_service",
    "PRIORITY_LEVEL": "level",
}
_QUOTES = {"BRACKETED": "]", "QUOTED": '"', "STRING": "'"}
_MOST_DIGITS = 18
"""No level has as many; Python refuses to read a number of thousands of digits."""


def read_tsql_rules(
    path: str, *, instance: str | None = None, effective_from: datetime | None = None
) -> RuleFile:
    """Read the statements about broker priorities of a T-SQL script, in its order.

    A script says nothing of its instance, so it is the source's; the database is that of the last USE. A
    statement takes effect at the moment of the comment directly before it (-- effective_from: ...), else
    at the source's. Other statements are counted and passed over.

    Raises:
        ConfigError: The file is no T-SQL, a name or level is out of bounds (the engine's errors 33301 and
            33302), or an instance, database or moment is missing; one line for each.
    """
    reader = _Reader(path, instance, effective_from)
    statements = reader.read(read_script(path))
    return RuleFile(path, tuple(statements), reader.passed_over)


@dataclass
class _Missing:
    """What statements lack: the first that does, and how many do."""

    first: Origin
    statements: int = 0


class _Reader:
    def __init__(self, path: str, instance: str | None, effective_from: datetime | None) -> None:
        self.passed_over = 0
        self._path = path
        self._instance = instance
        self._effective_from = effective_from
        self._database: str | None = None
        self._problems: list[tuple[Origin, str]] = []
        self._missing: dict[str, _Missing] = {}

    def read(self, text: str) -> list[RuleStatement]:
        found = Statements(tokenize(self._path, text))
        read = [statement for item in found for statement in self._take(item)]
        self.passed_over = found.passed_over
        self._problems += found.problems
        for message, missing in self._missing.items():
            others = f" (and for {missing.statements - 1} more statements)" if missing.statements > 1 else ""
            self._problems.append((missing.first, message + others))
        if self._problems:
            raise ConfigError(*(f"{place}: {message}" for place, message in sorted(self._problems)))
        return read

    def _take(self, item: Statement) -> Iterator[RuleStatement]:
        """Take a USE in, or give the rule statement."""
        verb, name = str(item.tree.data), _name(item.tree)
        if verb == "use":
            self._use(name)
            return
        origin = self._origin(item.first)
        said: dict[str, Any] = {
            "name": self._text(name, NAME_LENGTH),
            **self._items(item),
        }
        moment = self._moment(item.directives)
        if self._instance is None:
            self._lacks(
                origin, "a script can't name its instance; add instance: to the file's entry in rules:"
            )
        if self._database is None:
            self._lacks(origin, "no USE before it names the database; write USE and its name above it")
        if moment is None:
            self._lacks(
                origin,
                f"it has no moment of effect; write -- {DIRECTIVE}: 2026-01-01T00:00:00Z in the line before "
                f"it, or add {DIRECTIVE}: to the file's entry in rules:",
            )
        if self._instance is not None and self._database is not None and moment is not None:
            yield RuleStatement(
                kind=Kind(verb.upper()),
                effective_from=moment,
                instance=self._instance,
                database=self._database,
                origin=origin,
                **said,
            )

    def _use(self, name: Token) -> None:
        self._database = self._text(name, NAME_LENGTH)

    def _items(self, item: Statement) -> dict[str, Any]:
        said: dict[str, Any] = {}
        for part in item.tree.children:
            if isinstance(part, Token):
                continue
            key, _, value = part.children
            assert isinstance(key, Token)
            assert isinstance(value, Token)
            field = _FIELDS[key.type]
            if field in said:
                self._problems.append((self._origin(key), f"{key.type} stands twice; keep one of the two"))
            said[field] = self._level(value) if field == "level" else self._criterion(value)
        return said

    def _criterion(self, value: Token) -> Criterion:
        return ANY if value.type == "ANY" else self._text(value, CRITERION_LENGTH)

    def _level(self, value: Token) -> int:
        if value.type == "DEFAULT":
            return DEFAULT_LEVEL
        if not (value.isascii() and value.isdigit()):
            message = f"expected a whole number from 1 to 10 or DEFAULT, found {value[:_MOST_DIGITS]}"
            self._problems.append((self._origin(value), message))
            return DEFAULT_LEVEL
        level = int(value.lstrip("0")[:_MOST_DIGITS] or 0)
        if message := level_problem(level) or "":
            self._problems.append((self._origin(value), message))
        return level

    def _text(self, token: Token, longest: int) -> str:
        """The name that a token says, without its quotes."""
        text = str(token)
        if mark := _QUOTES.get(token.type):
            begin = 2 if text[0] in "Nn" else 1
            text = text[begin:-1].replace(mark * 2, mark)
        if message := name_problem(text, longest):
            self._problems.append((self._origin(token), f"the name {message}"))
        elif "$(" in text:
            message = "variables of sqlcmd are not replaced here; write the name itself"
            self._problems.append((self._origin(token), message))
        return text

    def _moment(self, directives: tuple[Comment, ...]) -> datetime | None:
        if not directives:
            return self._effective_from
        for comment in directives[1:]:
            message = f"a second moment for one statement, see {directives[0].origin}; keep one of the two"
            self._problems.append((comment.origin, message))
        said, colon, moment = directives[0].text.partition(":")
        try:
            if said.strip() or not colon:
                raise ValueError(f"a comment that begins with {DIRECTIVE} gives a moment; add a colon and it")
            return parse_instant(moment.strip())
        except ValueError as error:
            self._problems.append((directives[0].origin, str(error)))
            return datetime.max

    def _origin(self, token: Token) -> Origin:
        return Origin(self._path, token.line or 1, token.column or 1)

    def _lacks(self, origin: Origin, message: str) -> None:
        self._missing.setdefault(message, _Missing(origin)).statements += 1


def _name(tree: Tree[Token]) -> Token:
    """The name that the statement is about: the first of its tokens that is one."""
    return next(
        child
        for child in tree.children
        if isinstance(child, Token) and child.type in ("WORD", "BRACKETED", "QUOTED")
    )
