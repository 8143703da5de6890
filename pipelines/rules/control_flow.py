"""Which conditions a statement of a T-SQL batch stands under."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from pipelines.rules.script_tokens import STARTERS, Token
from pipelines.rules.statements import ALWAYS, Condition, Exit, Guard, SourceLocation, Test

_OF_ERRORS = ("ERROR", "TRANCOUNT", "XACT_STATE", "SUCCESS")
"""Words in the conditions with which scripts look whether their own statements failed."""


@dataclass(eq=False)
class Branch:
    """A word of control flow and what stands under it.

    Attributes:
        token: IF, ELSE, WHILE, or the BEGIN of a CATCH block.
        test: what decides; None if a script alone can't say.
        outcome: what the test has to come to.
        has_else: whether an ELSE may belong to it.
        is_catch: it is a CATCH block.
        is_of_errors: its condition asks whether something failed.
        is_refused: what is wrong with its condition was said, so nothing under it needs to be.
    """

    token: Token
    test: Test | None = None
    outcome: bool = True
    has_else: bool = True
    is_catch: bool = False
    is_of_errors: bool = False
    is_refused: bool = False


@dataclass
class _Block:
    """BEGIN or CASE: the branches that it stands under, and the IFs that had ended before it."""

    is_case: bool
    under: list[Branch]
    ended: list[Branch]
    is_try: bool = False


@dataclass
class ControlFlow:
    """The blocks and branches of one batch, statement by statement.

    Attributes:
        waiting: branches whose statement has not begun.
        exits: each RETURN that rules decide, as its branches; not yet part of `condition`.
        ends: those of them that leave the whole script, as SET NOEXEC ON does; not yet part of `condition`.
        left_at: a RETURN, GOTO or THROW that is always carried out: nothing behind it is.
        may_be_left: the condition of the first one that rules decide.
        jumped_from: the GOTO to the last label, if rules decide it: what is behind may be carried out again.
    """

    waiting: list[Branch] = field(default_factory=list)
    exits: list[list[Branch]] = field(default_factory=list)
    ends: list[list[Branch]] = field(default_factory=list)
    left_at: Token | None = None
    may_be_left: Branch | None = None
    jumped_from: Token | None = None
    _jumps: dict[str, Token] = field(default_factory=dict)
    _blocks: list[_Block] = field(default_factory=list)
    _governing: list[Branch] = field(default_factory=list)
    _ended: list[Branch] = field(default_factory=list)
    _exit: Exit | None = None
    _script_exit: Exit | None = None

    @property
    def is_in_case(self) -> bool:
        """Whether the innermost block is a CASE expression."""
        return bool(self._blocks) and self._blocks[-1].is_case

    @property
    def is_in_try(self) -> bool:
        """Whether an error goes on in a CATCH block."""
        return any(block.is_try for block in self._blocks)

    @property
    def depth(self) -> int:
        """How many blocks and conditions stand in each other."""
        return len(self._blocks) + len(self.waiting)

    def branches(self) -> Iterator[Branch]:
        """Yield the branches that the statement stands under which began last, outermost first."""
        for block in self._blocks:
            yield from block.under
        yield from self._governing

    def begin_statement(self) -> None:
        """A statement begins: the branches that waited for one govern it, and nothing behind it."""
        self._governing = self.waiting
        if self.waiting:
            self._ended = self.waiting
        self.waiting = []

    def branch(self, branch: Branch) -> None:
        """IF or WHILE."""
        self.waiting.append(branch)

    def otherwise(self, token: Token) -> None:
        """ELSE belongs to the last IF that has none; where there is none, nothing decides it."""
        while self._ended and not self._ended[-1].has_else:
            self._ended.pop()
        owner = self._ended.pop() if self._ended else Branch(token)
        other = Branch(token, owner.test, not owner.outcome, has_else=False, is_of_errors=owner.is_of_errors)
        other.is_refused = owner.is_refused
        self.waiting = [*self._ended, other]

    def begin_block(self, token: Token, *, is_catch: bool, is_try: bool = False) -> None:
        """BEGIN, BEGIN TRY or BEGIN CATCH."""
        self.begin_statement()
        under = [*self._governing, *([Branch(token, is_catch=True)] if is_catch else [])]
        self._blocks.append(_Block(False, under, self._ended, is_try))
        self._governing, self._ended = [], []

    def begin_case(self) -> None:
        """CASE."""
        self._blocks.append(_Block(True, [], []))

    def end(self) -> None:
        """END of a block or of CASE."""
        if not self._blocks:
            return
        block = self._blocks.pop()
        if not block.is_case:
            self._governing, self._ended, self.waiting = [], block.ended, []

    def look_at(self, word: str) -> None:
        """Notice what a condition asks for that is not decided."""
        is_of_errors = word not in STARTERS and any(each in word for each in _OF_ERRORS)
        if self.waiting and self.waiting[-1].test is None and is_of_errors:
            self.waiting[-1].is_of_errors = True

    def leave(self, token: Token, label: str = "") -> None:
        """RETURN, THROW or GOTO; where a script asks for its own errors, it is taken to have none."""
        under = list(self.branches())
        if not under:
            self.left_at = self.left_at or token
        elif all(branch.test is not None for branch in under):
            self.exits.append(under)
            self.may_be_left = self.may_be_left or under[0]
            if label:
                self._jumps[label] = token

    def end_script(self, under: list[Branch]) -> None:
        """Under branches that rules decide, nothing behind is carried out, in this batch and those after."""
        self.exits.append(under)
        self.ends.append(under)

    def go_on(self) -> None:
        """What `end_script` said no longer counts."""
        if self.ends or self._script_exit:
            self.exits, self.ends, self._exit, self._script_exit = [], [], None, None

    def label(self, name: str) -> None:
        """A label: a GOTO before it goes on here."""
        self.jumped_from = self._jumps.get(name, self.jumped_from)

    def next_batch(self) -> "ControlFlow":
        """GO: return what the next batch begins with."""
        exits = list(self.ends)
        return ControlFlow(
            exits=exits, ends=self.ends, _exit=self._script_exit, _script_exit=self._script_exit
        )

    def condition(self, origin_of: Callable[[Token], SourceLocation]) -> Condition:
        """Return when the statement that began last is carried out; its branches are all decided by tests."""
        for way in self.exits:
            self._exit = Exit(tuple(_guards(way, origin_of)), self._exit)
        for way in self.ends:
            self._script_exit = Exit(tuple(_guards(way, origin_of)), self._script_exit)
        self.exits.clear()
        self.ends.clear()
        guards = tuple(_guards(self.branches(), origin_of))
        if not guards and self._exit is None:
            return ALWAYS
        return Condition(guards, self._exit)


def _guards(branches: Iterable[Branch], origin_of: Callable[[Token], SourceLocation]) -> Iterator[Guard]:
    for branch in branches:
        if branch.test is not None:
            yield Guard(branch.test, branch.outcome, origin_of(branch.token))
