"""IF conditions that ask whether a rule exists, as people and tools write them."""

from collections.abc import Sequence

from pipelines.rules.rule_grammar import NAMES, UndefinedError
from pipelines.rules.script_tokens import RESERVED, Token
from pipelines.rules.sqlcmd import VARIABLE
from pipelines.rules.statements import Exists, Not, Several, Test

VIEW = ("SYS", "CONVERSATION_PRIORITIES")
QUOTES = {"BRACKETED": "]", "QUOTED": '"', "STRING": "'"}


def text_of(token: Token) -> str:
    """The name that a token says, without its quotes."""
    mark = QUOTES.get(token.kind)
    if mark is None:
        return token.text
    begin = 2 if token.text[0] in "Nn" else 1
    return token.text[begin:-1].replace(mark * 2, mark)


_DEEPEST = 50
"""Parentheses within parentheses that a check has at most."""


class _OtherCheckError(Exception):
    """The condition asks for something else."""


class ExistenceCheck:
    """The condition of one IF.

    Read are EXISTS (SELECT ... FROM [database.]sys.conversation_priorities WHERE name = N'...'), NOT, AND, OR
    and parentheses. A name may stand left or right of =, or in a list of IN.
    """

    def __init__(self, tokens: Sequence[Token], at: int, database: str) -> None:
        """Take the tokens, where the condition begins, and the current database."""
        self._tokens = tokens
        self._database = database
        self._depth = 0
        self.at = at

    def read(self) -> Test | None:
        """Return the test, with `at` behind it; None if the condition asks for something else.

        Raises:
            UndefinedError: a variable in it has no value.
        """
        try:
            return self._any()
        except _OtherCheckError:
            return None

    def _any(self) -> Test:
        tests = [self._all()]
        while self._accept("OR"):
            tests.append(self._all())
        return tests[0] if len(tests) == 1 else Several(tuple(tests), every=False)

    def _all(self) -> Test:
        tests = [self._one()]
        while self._accept("AND"):
            tests.append(self._one())
        return tests[0] if len(tests) == 1 else Several(tuple(tests), every=True)

    def _one(self) -> Test:
        negations = 0
        while self._accept("NOT"):
            negations += 1
        if self._accept("EXISTS"):
            self._require("(")
            test: Test = self._select()
        else:
            self._require("(")
            test = self._any()
        self._require(")")
        return Not(test) if negations % 2 else test

    def _select(self) -> Test:
        self._require("SELECT")
        if self._accept("TOP"):
            in_parentheses = self._peek().text == "("
            if in_parentheses:
                self._require("(")
            if not self._take("NUMBER").text.strip("0"):
                raise _OtherCheckError
            if in_parentheses:
                self._require(")")
        while not self._accept("FROM"):
            # A function would make a row where there is none: EXISTS (SELECT COUNT(*) ...) always holds.
            if self._peek().text in ("(", ")", ";") or self._peek().kind == "COMMAND":
                raise _OtherCheckError
            self.at += 1
        database = self._view()
        rules = self._where() if self._accept("WHERE") else []
        return Exists(database, tuple(rules))

    def _view(self) -> str:
        path = self._path()
        if tuple(part.upper() for part in path[-2:]) != VIEW or len(path) > 3:
            raise _OtherCheckError
        if self._accept("AS"):
            self._take(*NAMES)
        elif self._peek().kind in NAMES and self._peek().word not in RESERVED:
            self.at += 1
        if self._accept("WITH") or (self._peek().text == "(" and self._peek(1).word == "NOLOCK"):
            self._require("(")
            self._require("NOLOCK")
            self._require(")")
        return path[0] if len(path) == 3 else self._database

    def _where(self) -> list[str]:
        rules = self._criterion()
        while self._accept("OR"):
            rules += self._criterion()
        return rules

    def _criterion(self) -> list[str]:
        if self._peek().text == "(":
            self._require("(")
            rules = self._where()
            self._require(")")
            return rules
        if self._peek().kind == "STRING":
            rules = [self._string()]
            self._require("=")
            self._column()
            return rules
        self._column()
        if self._accept("="):
            return [self._string()]
        self._require("IN")
        self._require("(")
        rules = [self._string()]
        while self._accept(","):
            rules.append(self._string())
        self._require(")")
        return rules

    def _column(self) -> None:
        if self._path()[-1].upper() != "NAME":
            raise _OtherCheckError

    def _string(self) -> str:
        token = self._take("STRING")
        name = text_of(token)
        if VARIABLE.search(name):
            raise UndefinedError(token)
        return name

    def _path(self) -> list[str]:
        path = [text_of(self._take(*NAMES))]
        while self._accept("."):
            path.append(text_of(self._take(*NAMES)))
        return path

    def _peek(self, ahead: int = 0) -> Token:
        if self.at + ahead >= len(self._tokens):
            raise _OtherCheckError
        return self._tokens[self.at + ahead]

    def _accept(self, text: str) -> bool:
        token = self._tokens[self.at] if self.at < len(self._tokens) else None
        if token is None or text not in (token.word, token.text) or token.kind not in ("WORD", "SYMBOL"):
            return False
        self.at += 1
        return True

    def _require(self, text: str) -> None:
        if not self._accept(text):
            raise _OtherCheckError
        self._depth += {"(": 1, ")": -1}.get(text, 0)
        if self._depth > _DEEPEST:
            raise _OtherCheckError

    def _take(self, *kinds: str) -> Token:
        token = self._peek()
        if token.kind not in kinds:
            if token.kind == "VARIABLE":
                raise UndefinedError(token)
            raise _OtherCheckError
        self.at += 1
        return token
