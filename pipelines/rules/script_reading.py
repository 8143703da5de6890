"""What is known of a T-SQL script while it is read, also of text about rules in its strings."""

import re
from dataclasses import dataclass

from pipelines.rules.control_flow import Branch, ControlFlow
from pipelines.rules.rule_grammar import Grammar
from pipelines.rules.script_tokens import Token, Tokens
from pipelines.rules.sqlcmd import VARIABLE
from pipelines.rules.statements import SourceLocation
from pipelines.rules.transactions import Transactions

_RULE = re.compile(
    r"\bBROKER(?:\s|/\*.{0,200}?\*/|--[^\r\n]{0,200}+[\r\n])++PRIORITY\b", re.IGNORECASE | re.DOTALL
)
_HEAD = re.compile(r"\bBROKER\s*\Z", re.IGNORECASE)
_REST = re.compile(r"\s*PRIORITY\b", re.IGNORECASE)
_TAIL = 40
"""Characters of a string that the next one may go on from."""
_SAYS = ("PRINT", "RAISERROR", "THROW")


class HiddenRules:
    """Looks at the strings of a batch, one after another, also across the + between them."""

    def __init__(self) -> None:
        """Nothing was looked at."""
        self._tail = ""
        self._is_message = False

    def begin_statement(self, word: str) -> None:
        """A statement begins; what it prints is not carried out."""
        self._is_message = word in _SAYS

    def end_batch(self) -> None:
        """No string goes on behind GO."""
        self._tail, self._is_message = "", False

    def has_rule(self, token: Token) -> bool:
        """Whether text about a rule ends in this string."""
        if self._is_message:
            return False
        begin = 2 if token.text[0] in "Nn" else 1
        text = token.text[begin:-1]
        before, self._tail = self._tail, (self._tail + text[-_TAIL:])[-_TAIL:]
        if _HEAD.search(before) and _REST.match(text):
            return True  # CHAR(10) or a variable may stand between the two
        return any(match.end() > len(before) for match in _RULE.finditer(before + text))


@dataclass(frozen=True)
class Unread:
    """Text that is not read: where it stands, what it is, and what to do."""

    token: Token
    message: str
    fix: str
    database: str | None


@dataclass(frozen=True)
class Honor:
    """ALTER DATABASE ... SET HONOR_BROKER_PRIORITY; a database of None is the source's."""

    token: Token
    database: str | None
    is_on: bool


class ScriptReading:
    """The place in a script, what holds there, and what was found so far.

    Attributes:
        at: index of the next token.
        database: that of the last USE, else the source's; None without either.
        instance: the source's.
        flow: the conditions of the batch.
        hidden: the strings of the batch.
        count: how many rule statements were read.
        doubtful_exit: a condition that no script decides, under which the batch may have been left.
        doubtful_end: the same for all that is left of the script.
        doubtful_commit: a condition that no script decides and that has a COMMIT, and what that made final.
        switched_off: what keeps the server from carrying out anything, such as SET NOEXEC ON.
        problems: what is wrong, and where.
        unread: text about rules that is not read.
        assumed: conditions of RETURN and ROLLBACK that no script decides, by the number of the statement.
        honors: what the script does to HONOR_BROKER_PRIORITY.
        created: the database, None without a USE, and the names of contracts and services that are created.
        transactions: which statements are taken back.
        undefined: variables without a value, by name in small letters: first place, name, number of uses.
    """

    def __init__(self, script: Tokens, database: str | None = None, instance: str | None = None) -> None:
        """Take the tokens, the database before the first USE, and the instance; nothing is read yet."""
        self.script = script
        self.tokens = script.tokens
        self.grammar = Grammar(script)
        self.at = 0
        self.database = database
        self.instance = instance
        self.flow = ControlFlow()
        self.hidden = HiddenRules()
        self.count = 0
        self.doubtful_exit: Branch | None = None
        self.doubtful_end: Branch | None = None
        self.doubtful_commit: tuple[Branch, list[int]] | None = None
        self.switched_off: Token | None = None
        self.problems: list[tuple[SourceLocation, str]] = []
        self.unread: list[Unread] = []
        self.assumed: dict[int, Branch] = {}
        self.honors: list[Honor] = []
        self.created: list[tuple[str | None, Token]] = []
        self.transactions = Transactions()
        self.undefined: dict[str, tuple[SourceLocation, str, int]] = {}

    def word(self, index: int) -> str:
        """The word at index in capitals; empty if there is none."""
        return self.tokens[index].word if 0 <= index < len(self.tokens) else ""

    def is_go(self, index: int) -> bool:
        """Whether a batch ends at index."""
        return self.word(index) == "GO" and self.tokens[index].starts_line

    def note_undefined(self, token: Token) -> None:
        """Record the variables without a value in a token."""
        for match in VARIABLE.finditer(token.text):
            key = match[1].lower()
            place, name, uses = self.undefined.get(key, (self.script.location(token), match[0], 0))
            self.undefined[key] = (place, name, uses + 1)

    def leave_unread(self, token: Token, message: str, fix: str) -> None:
        """Record text that is not read."""
        self.unread.append(Unread(token, message, fix, self.database))

    def problem(self, place: SourceLocation, message: str) -> None:
        """Record what is wrong."""
        self.problems.append((place, message))
