"""Rules written as T-SQL: the scripts that create, alter and drop them on the server."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipelines.config.errors import ConfigError
from pipelines.config.instants import parse_instant
from pipelines.config.text_file import read_text
from pipelines.rules.existence_checks import text_of
from pipelines.rules.rule_grammar import FIELDS
from pipelines.rules.script_statements import Statement, Statements
from pipelines.rules.script_tokens import DIRECTIVE, Comment, Token, Tokens
from pipelines.rules.sqlcmd import VARIABLE, read_tokens
from pipelines.rules.statements import (
    ANY,
    CRITERION_LENGTH,
    DEFAULT_LEVEL,
    NAME_LENGTH,
    Criterion,
    HonorSetting,
    Note,
    NoteReason,
    RuleDefaults,
    RuleFile,
    RuleStatement,
    SourceLocation,
    StatementType,
    level_problem,
    name_problem,
)

_MOST_DIGITS = 18
"""No level has as many; Python refuses to read a number of thousands of digits."""
_FOREIGN_PLACEHOLDER = re.compile(r"[$#]\{\w[^}]*\}|\{\{[^{}]+\}\}|(?<!\w)\$\w+\$|<[^<>,]+,[^<>,]*,[^<>]*>")
"""Of Flyway and Octopus, of templates such as Jinja's, of DbUp, and of the templates of SSMS."""


def read_tsql_rules(path: str, defaults: RuleDefaults) -> RuleFile:
    """Read the statements about broker priorities of a T-SQL script, in its order.

    A script says nothing of its instance, so it is the source's. The database is that of the last USE, before
    the first one the source's. A statement takes effect at the moment of the comment directly before it
    (-- effective_from: ...), else at the source's. Variables of sqlcmd have the values that the script gives
    them, else those of `variables`. Other statements are counted and passed over.

    Raises:
        ConfigError: The file is no T-SQL, a name or level is out of bounds (the engine's errors 33301 and
            33302), or an instance, database, moment or value of a variable is missing; one line for each.
    """
    return read_tsql_text(path, read_text(path), defaults)


def read_tsql_text(path: str, text: str, defaults: RuleDefaults) -> RuleFile:
    """Do what `read_tsql_rules` does with a text that stands in a file."""
    return _Reader(path, read_tokens(path, text, defaults.variables), defaults).read()


@dataclass
class _Missing:
    """What statements lack: the first that does, and how many do."""

    first: SourceLocation
    statements: int = 0


class _Reader:
    def __init__(self, path: str, tokens: Tokens, defaults: RuleDefaults) -> None:
        self._path = path
        self._tokens = tokens
        self._instance = defaults.instance
        self._effective_from = defaults.effective_from
        self._database = defaults.database
        self._found = Statements(tokens, defaults.database, defaults.instance)
        self._problems: list[tuple[SourceLocation, str]] = []
        self._missing: dict[str, _Missing] = {}

    def read(self) -> RuleFile:
        read = {item.number: statement for item in self._found for statement in self._take(item)}
        problems = [*self._problems, *self._found.problems]
        for message, missing in self._missing.items():
            more = missing.statements - 1
            others = f" (and for {more} more {'statements' if more > 1 else 'statement'})" if more else ""
            problems.append((missing.first, message + others))
        if problems:
            raise ConfigError(*(f"{place}: {message}" for place, message in sorted(problems)))
        taken_back = self._found.transactions.taken_back
        statements = tuple(statement for number, statement in read.items() if number not in taken_back)
        return RuleFile(
            self._path,
            statements,
            self._found.passed_over,
            tuple(sorted(self._notes(read), key=lambda note: note.location)),
            tuple(self._honor_settings()),
            frozenset(self._created()),
        )

    # --- Statements -----------------------------------------------------------------------------------------

    def _take(self, item: Statement) -> Iterator[RuleStatement]:
        """Check a USE, or give the rule statement."""
        name = self._text(item.parsed.name, NAME_LENGTH)
        if item.parsed.verb == "USE":
            return
        location = self._tokens.location(item.first)
        said = self._items(item)
        moment = self._moment(item.directives)
        if self._instance is None:
            self._lacks(
                location, "a script can't name its instance; add instance: to the file's entry in rules:"
            )
        if item.database is None:
            self._lacks(
                location,
                "no USE before it names the database; write USE and its name above it, or add database: to "
                "the file's entry in rules:",
            )
        if moment is None:
            self._lacks(
                location,
                f"it has no moment of effect; write -- {DIRECTIVE}: 2026-01-01T00:00:00Z in the line before "
                f"it, or add {DIRECTIVE}: to the file's entry in rules:",
            )
        if self._instance is not None and item.database is not None and moment is not None:
            yield RuleStatement(
                kind=StatementType(item.parsed.verb),
                effective_from=moment,
                instance=self._instance,
                database=item.database,
                name=name,
                location=location,
                condition=item.condition,
                **said,
            )

    def _items(self, item: Statement) -> dict[str, Any]:
        said: dict[str, Any] = {}
        for key, value in item.parsed.items:
            field = FIELDS[key.word]
            if field in said:
                self._problem(key, f"{key.word} stands twice; keep one of the two")
            said[field] = self._level(value) if field == "level" else self._criterion(value)
        return said

    def _criterion(self, value: Token) -> Criterion:
        return ANY if value.word == "ANY" else self._text(value, CRITERION_LENGTH)

    def _level(self, value: Token) -> int:
        if value.word == "DEFAULT":
            return DEFAULT_LEVEL
        text = value.text
        if not (text.isascii() and text.isdigit()):
            message = f"expected a whole number from 1 to 10 or DEFAULT, found {text[:_MOST_DIGITS]}"
            self._problem(value, message)
            return DEFAULT_LEVEL
        level = int(text.lstrip("0")[:_MOST_DIGITS] or 0)
        if message := level_problem(level) or "":
            self._problem(value, message)
        return level

    def _text(self, token: Token, longest: int) -> str:
        """The name that a token says, without its quotes."""
        text = text_of(token)
        if VARIABLE.search(text):
            self._found.note_undefined(token)
        elif found := _FOREIGN_PLACEHOLDER.search(text):
            message = f"{found[0]} is a placeholder of another tool; write the name itself, or $(Variable)"
            self._problem(token, message)
        elif wrong := name_problem(text, longest):
            self._problem(token, f"the name {wrong}")
        return text

    def _moment(self, directives: tuple[Comment, ...]) -> datetime | None:
        if not directives:
            return self._effective_from
        for comment in directives[1:]:
            message = f"a second moment for one statement, see {directives[0].location}; keep one of the two"
            self._problems.append((comment.location, message))
        said, colon, moment = directives[0].text.partition(":")
        try:
            if said.strip() or not colon:
                raise ValueError(f"a comment that begins with {DIRECTIVE} gives a moment; add a colon and it")
            return parse_instant(moment.strip())
        except ValueError as error:
            self._problems.append((directives[0].location, str(error)))
            return datetime.max

    def _problem(self, token: Token, message: str) -> None:
        self._problems.append((self._tokens.location(token), message))

    def _lacks(self, location: SourceLocation, message: str) -> None:
        self._missing.setdefault(message, _Missing(location)).statements += 1

    # --- What does not count --------------------------------------------------------------------------------

    def _notes(self, read: Mapping[int, RuleStatement]) -> Iterator[Note]:
        for unread in self._found.unread:
            location = self._tokens.location(unread.token)
            yield self._note(NoteReason.NOT_READ, location, unread.message, unread.fix, unread.database)
        taken_back = self._found.transactions.taken_back
        for number, token in taken_back.items():
            if number in read:
                yield self._taken_back(read[number], token)
        for number, branch in self._found.assumed.items():
            if number in read and number not in taken_back:
                statement = read[number]
                line = self._tokens.location(branch.token).line
                yield self._note(
                    NoteReason.ASSUMED,
                    statement.location,
                    f"the {branch.token.word} of line {line} may keep the rule {statement.name!r} from being "
                    "carried out or take it back: read as if it does not",
                    "write the rules without it",
                    statement.database,
                    statement.name,
                )
        if not read.keys() - taken_back.keys():
            message = "the file has no rule statement that counts"
            yield self._note(
                NoteReason.NO_RULES, SourceLocation(self._path, 1, 1), message, "take it out of rules:"
            )

    def _taken_back(self, statement: RuleStatement, token: Token) -> Note:
        line = self._tokens.location(token).line
        why = f"the ROLLBACK of line {line} takes it back"
        if token.word != "ROLLBACK":
            why = f"the transaction of line {line} is never committed in this file"
        message = f"{statement.kind.value} {statement.name!r} does not count: {why}"
        fix = "write COMMIT, or take the statement away"
        location, database = statement.location, statement.database
        return self._note(NoteReason.ROLLED_BACK, location, message, fix, database, statement.name)

    def _note(
        self,
        kind: NoteReason,
        location: SourceLocation,
        message: str,
        fix: str,
        database: str | None = None,
        rule: str | None = None,
    ) -> Note:
        place = self._instance or "", database or self._database or ""
        return Note(kind, location, message, fix, *place, rule)

    def _honor_settings(self) -> Iterator[HonorSetting]:
        for honor in self._found.honors:
            database = honor.database if honor.database is not None else self._database
            if database is not None and self._instance is not None:
                location = self._tokens.location(honor.token)
                yield HonorSetting(self._instance, database, honor.is_on, location)

    def _created(self) -> Iterator[tuple[str, str, str]]:
        for database, name in self._found.created:
            yield self._instance or "", database or self._database or "", text_of(name)
