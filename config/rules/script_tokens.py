"""T-SQL scripts as tokens, and the comments that say when a statement takes effect."""

import re
from collections import defaultdict
from dataclasses import dataclass, field
from importlib.resources import files

from lark import Lark, Token

from config.errors import ConfigError
from config.rules.statements import Origin

DIRECTIVE = "effective_from"
"""A comment that begins with this word is a directive, whatever dashes and asterisks adorn it."""

_LEXER = Lark(files("config.rules").joinpath("script.lark").read_text("utf-8"), parser="lalr")
_BEGINS = re.compile(rf"^[\s*-]*{DIRECTIVE}\b", re.IGNORECASE | re.MULTILINE)
_CLOSED_BY = {"'": "'", '"': '"', "[": "]"}


@dataclass(frozen=True)
class Comment:
    """A comment that is a directive: what stands behind the word, and where it is."""

    text: str
    origin: Origin
    starts_line: bool
    end_line: int


@dataclass
class Tokens:
    """The tokens of a script without its comments, and the directives by the token that follows them.

    Attributes:
        misplaced: comments with a directive in a line after their first.
    """

    file: str
    end: Origin
    tokens: list[Token] = field(default_factory=list)
    misplaced: list[Origin] = field(default_factory=list)
    directives: dict[int, list[Comment]] = field(default_factory=lambda: defaultdict(list))

    def origin(self, token: Token) -> Origin:
        """Return where a token begins."""
        return Origin(self.file, token.line or 1, token.column or 1)

    def starts_line(self, index: int) -> bool:
        """Whether no other token stands before this one in its line."""
        return index == 0 or self.tokens[index - 1].end_line != self.tokens[index].line


def tokenize(file: str, text: str) -> Tokens:
    """Cut a script into tokens.

    Raises:
        ConfigError: A comment, a string or a name in quotes or brackets is never closed.
    """
    found = Tokens(file, Origin(file, text.count("\n") + 1, len(text) - text.rfind("\n")))
    opened: list[Token] = []
    for token in _LEXER.parse_interactive(text).iter_parse():
        if token.type == "OPEN":
            opened.append(token)
        elif token.type == "CLOSE":
            start = opened.pop()
            if not opened:
                _comment(found, start, token, text[(start.end_pos or 0) : token.start_pos])
        elif token.type == "LINE_COMMENT":
            _comment(found, token, token, token[2:])
        elif token.type == "UNCLOSED":
            message = f"what begins with {token} is never closed; add the closing {_CLOSED_BY[token]}"
            raise ConfigError(f"{found.origin(token)}: {message}")
        elif not opened:
            found.tokens.append(token)
    if opened:
        raise ConfigError(f"{found.origin(opened[0])}: this comment is never closed; add */ (comments nest)")
    return found


def _comment(found: Tokens, first: Token, last: Token, text: str) -> None:
    """Keep a comment if it is a directive."""
    begin = _BEGINS.search(text)
    if begin is None:
        return
    if text[: begin.start()].strip("*- \t\r\n"):
        if text[begin.end() :].lstrip().startswith(":"):
            found.misplaced.append(found.origin(first))
        return
    before = found.tokens[-1].end_line if found.tokens else 0
    comment = Comment(
        text[begin.end() :].rstrip("*- \t\r\n"),
        found.origin(first),
        before != first.line,
        last.end_line or last.line or 1,
    )
    found.directives[len(found.tokens)].append(comment)
