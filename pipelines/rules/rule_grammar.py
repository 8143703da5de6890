"""The grammar of the statements that are read: CREATE, ALTER and DROP BROKER PRIORITY, and USE.

It follows the vendor's documentation of the four statements. Items of SET may come in any order.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from pipelines.rules.script_tokens import RESERVED, STARTERS, Token, Tokens
from pipelines.rules.statements import SourceLocation

NAMES = ("WORD", "BRACKETED", "QUOTED")
FIELDS = {
    "CONTRACT_NAME": "contract",
    "LOCAL_SERVICE_NAME": "local_service",
    "REMOTE_SERVICE_NAME": "remote_service",
    "PRIORITY_LEVEL": "level",
}
"""What the items of SET are called in statements of rules."""
KEYS = tuple(sorted(FIELDS))
END = "the end of the statement"
_A_NAME, _A_STRING, _A_LEVEL = "a name", "a string like N'TargetService'", "a level from 1 to 10"
_SHOWN = 40
_PARTS_WORDS = re.compile(r"[\s=(),;'\"\[\]]")
_NEEDS_BRACKETS = re.compile(r"[^\w.@$#]")


@dataclass
class Parsed:
    """A statement: its verb, the name that it is about, and the items of its SET by key."""

    verb: str
    name: Token
    items: list[tuple[Token, Token]] = field(default_factory=list)


class UnexpectedError(Exception):
    """What does not belong where it stands."""

    def __init__(self, place: SourceLocation, message: str) -> None:
        """Say where, and what was expected there."""
        super().__init__(message)
        self.place = place
        self.message = message


class UndefinedError(Exception):
    """A variable of sqlcmd without a value."""

    def __init__(self, token: Token) -> None:
        """Take the variable."""
        super().__init__(token.text)
        self.token = token


class Grammar:
    """Parses one statement after another."""

    def __init__(self, script: Tokens) -> None:
        """Take the script."""
        self._script = script
        self._tokens: Sequence[Token] = script.tokens
        self.at = 0

    def ends(self, at: int) -> bool:
        """Whether no statement goes on at an index: a semicolon, GO, a command or the end of the file."""
        if at >= len(self._tokens):
            return True
        token = self._tokens[at]
        return token.text == ";" or token.kind == "COMMAND" or (token.word == "GO" and token.starts_line)

    def parse(self, at: int) -> Parsed:
        """Parse the statement that begins at an index; `at` is behind it then, or at what is wrong.

        Raises:
            UnexpectedError: it is no such statement.
            UndefinedError: it has a variable without a value.
        """
        self.at = at
        verb = self._take("CREATE", "ALTER", "DROP", "USE").word
        if verb == "USE":
            parsed = Parsed(verb, self._take(_A_NAME))
        else:
            self._take("BROKER")
            self._take("PRIORITY")
            parsed = Parsed(verb, self._take(_A_NAME))
        if verb in ("CREATE", "ALTER"):
            self._take("FOR")
            self._take("CONVERSATION")
            if verb == "ALTER" or self._goes_on_with_set():
                self._take(*(("SET",) if verb == "ALTER" else ("SET", END)))
                self._take("(")
                parsed.items = self._items()
        if not self._ends_here():
            self._fail((END,))
        return parsed

    def _items(self) -> list[tuple[Token, Token]]:
        items: list[tuple[Token, Token]] = []
        expected: tuple[str, ...] = KEYS
        while True:
            key = self._take(*expected)
            if key.text == ")":
                return items
            if key.text == ",":
                key = self._take(*KEYS)
            self._take("=")
            match key.word:
                case "PRIORITY_LEVEL":
                    value = self._take("DEFAULT", _A_LEVEL)
                case "REMOTE_SERVICE_NAME":
                    value = self._take("ANY", _A_STRING)
                case _:
                    value = self._take("ANY", _A_NAME)
            items.append((key, value))
            expected = (*KEYS, ",", ")")

    def _goes_on_with_set(self) -> bool:
        """Whether a CREATE goes on behind FOR CONVERSATION; a SET there is its own, with or without (."""
        is_set = self.at < len(self._tokens) and self._tokens[self.at].word == "SET"
        return is_set or not self._ends_here()

    def _ends_here(self) -> bool:
        """Whether the statement may end here: another one begins."""
        if self.ends(self.at):
            return True
        word = self._tokens[self.at].word
        if word and self.at + 1 < len(self._tokens) and self._tokens[self.at + 1].text == ":":
            return True  # a label of GOTO
        return word in STARTERS and not (word == "SET" and self._has_parenthesis(self.at))

    def _has_parenthesis(self, at: int) -> bool:
        """SET with a parenthesis begins no statement: it belongs to a rule."""
        return at + 1 < len(self._tokens) and self._tokens[at + 1].text == "("

    def _take(self, *expected: str) -> Token:
        if self.ends(self.at):
            self._fail(expected)
        token = self._tokens[self.at]
        if token.kind == "VARIABLE":
            raise UndefinedError(token)
        if not any(self._is(token, each) for each in expected):
            self._fail(expected)
        self.at += 1
        return token

    def _is(self, token: Token, expected: str) -> bool:
        if token.word == expected or token.text == expected:
            return token.kind in ("WORD", "SYMBOL")
        if expected == _A_NAME:
            is_plain = token.kind == "WORD" and token.word not in RESERVED and token.text[0] not in "@#"
            return is_plain or token.kind in ("BRACKETED", "QUOTED")
        if expected == _A_STRING:
            return token.kind in ("STRING", "QUOTED")
        return expected == _A_LEVEL and token.kind == "NUMBER"

    def _fail(self, expected: Sequence[str]) -> None:
        wanted = [{",": "a comma"}.get(each, each) for each in expected]
        said = " or ".join(filter(None, [", ".join(wanted[:-1]), wanted[-1]]))
        if self.at >= len(self._tokens):
            raise UnexpectedError(self._script.end, f"expected {said}, found the end of the file")
        token = self._tokens[self.at]
        found, hint = short(token.text), ""
        following = self._tokens[self.at + 1].word if self.at + 1 < len(self._tokens) else ""
        if not self.ends(self.at):
            if token.word == "IF" and following == "EXISTS":
                found += " EXISTS, which rules do not have; take it away"
            elif token.word in RESERVED and _A_NAME in expected:
                found += f", a reserved word (as a name: [{token.text}])"
            else:
                begin, chunk = self._chunk(token, expected)
                if chunk:
                    found, hint = short(chunk), self._quoted(begin, chunk)
                    raise UnexpectedError(
                        self._script.source.location(begin), f"expected {said}, found {found}{hint}"
                    )
        raise UnexpectedError(self._script.location(token), f"expected {said}, found {found}")

    def _chunk(self, token: Token, expected: Sequence[str]) -> tuple[int, str]:
        """The name without brackets that the token is part of, and where it begins; empty if it is none."""
        before = self._tokens[self.at - 1]
        if _A_NAME in expected or _A_STRING in expected:
            first = token
        elif before.kind == "WORD" and before.end == token.start:
            first = before
        else:
            return token.start, ""
        text = self._script.source.text
        ending = _PARTS_WORDS.search(text, first.start)
        chunk = text[first.start : ending.start() if ending else len(text)]
        return first.start, chunk if _NEEDS_BRACKETS.search(chunk) and chunk != token.text else ""

    def _quoted(self, begin: int, chunk: str) -> str:
        index = next(number for number in range(self.at, -1, -1) if self._tokens[number].start <= begin)
        if index >= 2 and self._tokens[index - 2].word == "REMOTE_SERVICE_NAME":
            return f"; put the name in quotes: N'{chunk}'"
        return f"; put the name in brackets: [{chunk}]"


def short(text: str) -> str:
    """Return a text in one line of few characters."""
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
