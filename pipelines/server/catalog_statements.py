"""Statements of a DDL log about queues, services and contracts: what each changes in the catalog."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pipelines.config.errors import ConfigError
from pipelines.config.queue_filter import queue_text
from pipelines.rules.existence_checks import text_of
from pipelines.rules.rule_grammar import NAMES, short
from pipelines.rules.script_tokens import RESERVED, Token
from pipelines.rules.sqlcmd import read_tokens
from pipelines.rules.statements import CatalogChange, SourceLocation, StatementType
from pipelines.server.snapshots.names import DEFAULT_SCHEMA

KINDS = ("QUEUE", "SERVICE", "CONTRACT")
NEW_QUEUE: Mapping[str, str | None] = {
    "on": "on",
    "activation": "off",
    "procedure": None,
    "max_readers": None,
}
"""A queue as CREATE QUEUE without options makes it."""
NO_ACTIVATION = {name: value for name, value in NEW_QUEUE.items() if name != "on"}
_SCHEMA = "schema"


@dataclass
class _Cursor:
    """The tokens of a statement, and the place in them."""

    tokens: Sequence[Token]
    at: int = 0

    def word(self, ahead: int = 0) -> str:
        """The word at the place, in capitals; empty for anything else."""
        place = self.at + ahead
        return self.tokens[place].word if place < len(self.tokens) else ""

    def text(self) -> str:
        """What stands at the place; empty at the end."""
        return self.tokens[self.at].text if self.at < len(self.tokens) else ""

    def takes(self, *words: str) -> bool:
        """Go on behind these words, if they stand here."""
        is_there = all(self.word(ahead) == word for ahead, word in enumerate(words))
        self.at += len(words) if is_there else 0
        return is_there

    def takes_symbol(self, symbol: str) -> bool:
        """Go on behind a symbol, if it stands here."""
        is_there = self.text() == symbol
        self.at += is_there
        return is_there

    def name(self) -> list[str]:
        """The parts of a name between dots.

        Raises:
            ValueError: there is none.
        """
        parts = [self._part()]
        while self.takes_symbol("."):
            parts.append("" if self.text() == "." else self._part())
        return parts

    def _part(self) -> str:
        token = self.tokens[self.at] if self.at < len(self.tokens) else None
        if token is None or token.kind not in NAMES or token.word in RESERVED:
            raise ValueError(f"expected a name, found {short(self.text()) or 'the end'}")
        self.at += 1
        return text_of(token)

    def choice(self, *words: str) -> str:
        """Take the next word, which must be one of `words`.

        Raises:
            ValueError: the next word is another one.
        """
        word = self.word()
        if word not in words:
            raise ValueError(f"expected {' or '.join(words)}, found {short(self.text()) or 'the end'}")
        self.at += 1
        return word


def is_about_catalog(text: str) -> bool:
    """Whether a text may be such a statement."""
    upper = text.upper()
    return any(kind in upper for kind in KINDS)


def read_catalog_change(
    place: SourceLocation, text: str, *, moment: datetime, instance: str, database: str | None
) -> CatalogChange | None:
    """Read the text of a statement that was carried out; None if it is about something else.

    Args:
        place: the row of the log.
        text: one statement.
        moment: when it was carried out.
        instance: of the log.
        database: in which it was carried out.

    Raises:
        ConfigError: it is no such statement as the server takes, or its database is not known.
    """
    cursor = _Cursor([each for each in read_tokens(place.file, text, {}).tokens if each.text != ";"])
    verb, kind = cursor.word(), cursor.word(1)
    if verb not in StatementType.__members__ or kind not in KINDS:
        return None
    cursor.at = 2
    try:
        of, schema, name = _places(cursor.name())
        values = dict(_VALUES[kind](cursor, StatementType(verb)))
    except ValueError as error:
        raise ConfigError(f"{place}: {error}") from None
    if not (of := of or database or ""):
        raise ConfigError(f"{place}: its database is not known")
    schema = values.pop(_SCHEMA, schema) or DEFAULT_SCHEMA
    return CatalogChange(StatementType(verb), moment, instance, of, kind.lower(), name, schema, values, place)


def _places(parts: list[str]) -> tuple[str, str, str]:
    """Database (empty without one), schema and last part of a name of one to three parts."""
    if len(parts) > 3:
        raise ValueError(f"the name {'.'.join(parts)} has more than three parts")
    database, schema, name = [""] * (3 - len(parts)) + parts
    return database, schema or DEFAULT_SCHEMA, name


def _switch(cursor: _Cursor) -> str:
    _equals(cursor)
    return cursor.choice("ON", "OFF").lower()


def _equals(cursor: _Cursor) -> None:
    if not cursor.takes_symbol("="):
        raise ValueError(f"expected =, found {short(cursor.text()) or 'the end'}")


def _pass_over_group(cursor: _Cursor) -> None:
    depth = 1
    while depth and cursor.at < len(cursor.tokens):
        depth += {"(": 1, ")": -1}.get(cursor.text(), 0)
        cursor.at += 1


def _of_queue(cursor: _Cursor, verb: StatementType) -> Iterator[tuple[str, str | None]]:
    """The attributes that options of a queue set; what ALTER QUEUE leaves out stays."""
    if verb is StatementType.CREATE:
        yield from NEW_QUEUE.items()
    if verb is StatementType.DROP or not cursor.takes("WITH"):
        return
    while cursor.at < len(cursor.tokens):
        if cursor.takes("STATUS"):
            yield "on", _switch(cursor)
        elif cursor.takes("ACTIVATION"):
            yield from _of_activation(cursor, verb)
        elif cursor.takes_symbol("("):
            _pass_over_group(cursor)
        else:
            cursor.at += 1


def _of_activation(cursor: _Cursor, verb: StatementType) -> Iterator[tuple[str, str | None]]:
    if not cursor.takes_symbol("("):
        raise ValueError(f"expected ( behind ACTIVATION, found {short(cursor.text()) or 'the end'}")
    if verb is StatementType.CREATE:
        yield "activation", "on"
    while not cursor.takes_symbol(")"):
        if cursor.at >= len(cursor.tokens):
            raise ValueError("the ( of ACTIVATION is never closed")
        if cursor.takes("DROP"):
            yield from NO_ACTIVATION.items()
        elif cursor.takes("STATUS"):
            yield "activation", _switch(cursor)
        elif cursor.takes("PROCEDURE_NAME"):
            _equals(cursor)
            yield "procedure", queue_text(cursor.name())
        elif cursor.takes("MAX_QUEUE_READERS"):
            _equals(cursor)
            if not cursor.text().isdecimal():
                raise ValueError(f"expected a number of readers, found {short(cursor.text()) or 'the end'}")
            yield "max_readers", str(int(cursor.text()))
            cursor.at += 1
        else:
            cursor.at += 1


def _of_service(cursor: _Cursor, verb: StatementType) -> Iterator[tuple[str, str | None]]:
    """The queue of a service."""
    if verb is StatementType.DROP:
        return
    if cursor.takes("AUTHORIZATION"):
        cursor.name()
    if cursor.takes("ON", "QUEUE"):
        _, schema, queue = _places(cursor.name())
        yield from (("queue", queue), (_SCHEMA, schema))
    elif verb is StatementType.CREATE:
        raise ValueError(f"expected ON QUEUE, found {short(cursor.text()) or 'the end'}")


def _of_contract(cursor: _Cursor, verb: StatementType) -> Iterator[tuple[str, str | None]]:
    if verb is StatementType.CREATE:
        yield "exists", "true"


_VALUES = {"QUEUE": _of_queue, "SERVICE": _of_service, "CONTRACT": _of_contract}
