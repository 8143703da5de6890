"""T-SQL scripts as statements: those about rules and USE are parsed, all others passed over."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from lark import Lark, Token, Tree

from config.rules.reserved_words import RESERVED, STARTERS
from config.rules.script_tokens import Comment, Tokens
from config.rules.statements import Origin

_GRAMMAR = Lark(
    files("config.rules").joinpath("statement.lark").read_text("utf-8"),
    parser="lalr",
    lexer="basic",
    maybe_placeholders=False,
)
_SYMBOLS = {"(": "LPAR", ")": "RPAR", ",": "COMMA", "=": "EQUALS"}
_EXPECTED: Mapping[str, str] = {
    "WORD": "a name",
    "STRING": "a string like N'TargetService'",
    "NUMBER": "a level from 1 to 10",
    "LPAR": "(",
    "EQUALS": "=",
    "COMMA": "a comma",
    "RPAR": ")",
    "$END": "the end of the statement",
}
_TERMINALS = {symbol.name for rule in _GRAMMAR.rules for symbol in rule.expansion if symbol.is_term}
_KEYWORDS = _TERMINALS - {*_EXPECTED, "BRACKETED", "QUOTED"}
_DEFINES_BODY = {"PROC", "PROCEDURE", "FUNCTION", "TRIGGER", "VIEW"}
_NO_BLOCK = {"TRAN", "TRANSACTION", "DISTRIBUTED", "DIALOG", "CONVERSATION"}
_SHOWN = 40


@dataclass(frozen=True)
class Statement:
    """A statement that is read: its syntax tree, its first token, and the directives before it."""

    tree: Tree[Token]
    first: Token
    directives: tuple[Comment, ...]


@dataclass(frozen=True)
class _Block:
    """BEGIN or CASE, and the word of control flow that it stands under."""

    is_case: bool
    condition: Token | None


class Statements:
    """The statements of a script.

    Iterate over it once for those that are read, in order; `passed_over` and `problems` are complete
    then. Words between semicolons, GO and the statements that are read count as one statement: telling
    others apart needs the whole of T-SQL. The body of a procedure, function, trigger or view is part of
    the statement that makes it.
    """

    def __init__(self, tokens: Tokens) -> None:
        """Take the tokens; nothing is parsed yet."""
        self.passed_over = 0
        self.problems: list[tuple[Origin, str]] = []
        self._script = tokens
        self._tokens = tokens.tokens
        self._at = 0
        self._blocks: list[_Block] = []
        self._condition: Token | None = None
        self._batch_has_rules = False
        self._used_directives: set[int] = set()

    def __iter__(self) -> Iterator[Statement]:
        """Go through the script."""
        while self._at < len(self._tokens):
            if self._is_go(self._at):
                self._go()
            elif self._tokens[self._at] == ";":
                self._at += 1
                self._condition = None
            elif self._is_read(self._at):
                yield from self._read()
            else:
                self._pass_over()
        unused = self._script.directives.keys() - self._used_directives
        lost = [comment.origin for index in unused for comment in self._script.directives[index]]
        for place in (*lost, *self._script.misplaced):
            self._problem(
                place,
                "a comment with a moment of effect stands alone in its line, directly before the CREATE, "
                "ALTER or DROP BROKER PRIORITY that it is for; move it there",
            )
        self.problems.sort()

    def _problem(self, place: Origin, message: str) -> None:
        self.problems.append((place, message))

    def _word(self, index: int) -> str:
        """The word at index in capitals; empty if there is none."""
        if index >= len(self._tokens) or self._tokens[index].type != "WORD":
            return ""
        return self._tokens[index].upper()

    def _is_go(self, index: int) -> bool:
        return self._word(index) == "GO" and self._script.starts_line(index)

    def _is_read(self, index: int) -> bool:
        word = self._word(index)
        if word in ("CREATE", "ALTER", "DROP"):
            words = [self._word(index + ahead) for ahead in (1, 2, 3)]
            return words[0] == "BROKER" or words == ["OR", "ALTER", "BROKER"]
        return word == "USE"

    def _ends_here(self) -> bool:
        return self._at >= len(self._tokens) or self._tokens[self._at] == ";" or self._is_go(self._at)

    def _go(self) -> None:
        """A batch ends; what it left open does not reach into the next one."""
        go = self._tokens[self._at]
        self._at += 1
        times = "1"
        if self._at < len(self._tokens) and not self._script.starts_line(self._at):
            token = self._tokens[self._at]
            self._at += 1
            if token.type == "NUMBER" and (
                self._at >= len(self._tokens) or self._script.starts_line(self._at)
            ):
                times = token.lstrip("0")
            else:
                self._problem(self._script.origin(token), "GO stands alone in its line; begin a new one")
        if times != "1" and self._batch_has_rules:
            message = f"GO {_short(times) or 0} repeats the rule statements of its batch; write GO"
            self._problem(self._script.origin(go), message)
        self._blocks, self._condition, self._batch_has_rules = [], None, False

    def _read(self) -> Iterator[Statement]:
        start, first = self._at, self._tokens[self._at]
        tree = self._parse()
        is_rule = self._word(start) != "USE"
        if is_rule:
            self._used_directives.add(start)
        if tree is not None and self._is_certain(first):
            self._batch_has_rules |= is_rule
            yield Statement(tree, first, tuple(self._directives(start, first)) if is_rule else ())
        self._condition = None

    def _directives(self, start: int, first: Token) -> Iterator[Comment]:
        if start not in self._script.directives:
            return
        for comment in self._script.directives[start]:
            if comment.starts_line or comment.end_line == first.line:
                yield comment
            else:
                message = "a comment with a moment of effect counts for the statement after it; put it there"
                self._problem(comment.origin, message)

    def _is_certain(self, first: Token) -> bool:
        """Whether a statement is carried out whatever the data are."""
        conditions = [block.condition for block in self._blocks if block.condition] + (
            [self._condition] if self._condition else []
        )
        if not conditions:
            return True
        word, line = conditions[0].upper(), conditions[0].line
        message = (
            f"stands under the {word} of line {line}, so the script alone can't say whether it is carried out"
        )
        way = "end the statement before it with ;, or write it" if self._condition else "write it"
        self._problem(self._script.origin(first), f"{message}; {way} without a condition")
        return False

    def _parse(self) -> Tree[Token] | None:
        """Parse the statement that begins here; after an error, go to where the next one may begin."""
        parser: Any = _GRAMMAR.parse_interactive()
        while not self._ends_here():
            token, choices = self._tokens[self._at], parser.choices()
            kind = _kind(token, choices)
            if kind not in choices:
                begins = self._word(self._at) in STARTERS and not self._is_stray_set(self._at)
                if begins and "$END" in choices:
                    break
                self._unexpected(parser.accepts(), token)
                return None
            parser.feed_token(Token.new_borrow_pos(kind, token, token))
            self._at += 1
        if "$END" not in parser.choices():
            self._unexpected(parser.accepts(), None)
            return None
        tree: Tree[Any] = parser.feed_eof().children[0]
        return tree

    def _unexpected(self, accepted: set[str], token: Token | None) -> None:
        wanted = [text for kind, text in _EXPECTED.items() if kind in accepted]
        wanted = sorted(accepted & _KEYWORDS) + wanted
        expected = " or ".join(filter(None, [", ".join(wanted[:-1]), wanted[-1]]))
        if token is not None:
            found = _short(token)
            if token.upper() == "IF" and self._word(self._at + 1) == "EXISTS":
                found += " EXISTS, which rules do not have; take it away"
            elif token.upper() in RESERVED and token.type == "WORD" and "WORD" in accepted:
                found += f", a reserved word (as a name: [{token}])"
            place = self._script.origin(token)
        elif self._at < len(self._tokens):
            found, place = self._tokens[self._at], self._script.origin(self._tokens[self._at])
        else:
            found, place = "the end of the file", self._script.end
        self._problem(place, f"expected {expected}, found {found}")
        while not self._ends_here() and not self._is_read(self._at):
            self._at += 1

    def _is_stray_set(self, index: int) -> bool:
        """SET with a parenthesis begins no statement: it belongs to a rule."""
        return self._word(index) == "SET" and self._tokens[index + 1 : index + 2] == ["("]

    def _pass_over(self) -> None:
        self.passed_over += 1
        start = self._at
        if self._is_stray_set(start):
            self._problem(
                self._script.origin(self._tokens[start]),
                "SET ( belongs to the CREATE or ALTER BROKER PRIORITY before it; take away what parts them",
            )
        if self._defines_body(start):
            while self._at < len(self._tokens) and not self._is_go(self._at):
                self._at += 1
            return
        depth = 0
        while not self._ends_here():
            word = self._word(self._at)
            if self._at > start and self._is_read(self._at) and (word != "USE" or depth == 0):
                return
            if word == "BROKER" and self._word(self._at + 1) == "PRIORITY":
                self._problem(
                    self._script.origin(self._tokens[start]),
                    "a statement about a BROKER PRIORITY begins with CREATE, ALTER or DROP, "
                    f"found {_short(self._tokens[start])}",
                )
            depth += {"(": 1, ")": -1}.get(self._tokens[self._at], 0)
            self._follow(word)
            self._at += 1

    def _defines_body(self, index: int) -> bool:
        words = [self._word(index + ahead) for ahead in range(4)]
        if words[:3] == ["CREATE", "OR", "ALTER"]:
            return words[3] in _DEFINES_BODY
        return words[0] in ("CREATE", "ALTER") and words[1] in _DEFINES_BODY

    def _follow(self, word: str) -> None:
        """Keep up with control flow."""
        in_case = bool(self._blocks) and self._blocks[-1].is_case
        here, after = self._tokens[self._at], self._word(self._at + 1)
        if word == "CASE":
            self._blocks.append(_Block(True, None))
        elif word == "BEGIN" and after not in _NO_BLOCK:
            self._blocks.append(_Block(False, here if after == "CATCH" else self._condition))
            self._condition = None
        elif word == "END" and after != "CONVERSATION" and self._blocks:
            if not self._blocks.pop().is_case:
                self._condition = None
        elif (word in ("WHILE", "ELSE") and not in_case) or (word == "IF" and not self._is_drop_if_exists()):
            self._condition = here

    def _is_drop_if_exists(self) -> bool:
        """DROP TABLE IF EXISTS name is no control flow; IF EXISTS (...) is."""
        opens = self._at + 2 < len(self._tokens) and self._tokens[self._at + 2] == "("
        return self._word(self._at + 1) == "EXISTS" and not opens


def _kind(token: Token, choices: Mapping[str, object]) -> str:
    """The terminal of statement.lark that a token is, given those that the parser can take."""
    if token.type == "SYMBOL":
        return _SYMBOLS.get(token, token)
    if token.type != "WORD":
        return token.type
    word = token.upper()
    if word in RESERVED or (word in _KEYWORDS and word in choices):
        return word
    return token if token.startswith(("@", "#")) else "WORD"


def _short(token: str) -> str:
    text = " ".join(token.split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
