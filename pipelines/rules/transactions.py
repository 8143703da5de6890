"""Which statements of a script a transaction takes back."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from pipelines.rules.script_tokens import Token


@dataclass
class Transactions:
    """The transactions of a script, as one session runs it.

    Statements are known by number. `taken_back` has the token that undoes each: a ROLLBACK, or the BEGIN TRAN
    of a transaction that is open where the script ends, which the server rolls back with the session.
    """

    taken_back: dict[int, Token] = field(default_factory=dict)
    is_implicit: bool = False
    _depth: int = 0
    _first: Token | None = None
    _name: str = ""
    _inside: list[int] = field(default_factory=list)
    _savepoints: dict[str, int] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        """Whether a transaction is open."""
        return self._depth > 0

    def add(self, statement: int, token: Token) -> None:
        """A rule statement is carried out."""
        if self.is_implicit and not self.is_open:
            self.begin(token, "")
        if self.is_open:
            self._inside.append(statement)

    def begin(self, token: Token, name: str) -> None:
        """BEGIN TRAN."""
        if not self.is_open:
            self._first, self._name = token, name
        self._depth += 1

    def save(self, name: str) -> None:
        """SAVE TRAN."""
        if self.is_open:
            self._savepoints[name] = len(self._inside)

    def commit(self) -> None:
        """COMMIT: only the outermost one counts."""
        if self._depth == 1:
            self._close()
        elif self.is_open:
            self._depth -= 1

    def rollback(self, token: Token, name: str) -> None:
        """ROLLBACK, of all or to a savepoint; the server refuses other names, and nothing changes then."""
        if not self.is_open:
            return
        if name in self._savepoints and name:
            kept = self._savepoints[name]
            self._undo(token, self._inside[kept:])
            del self._inside[kept:]
        elif name in ("", self._name):
            self._undo(token, self._inside)
            self._close()

    def pending(self) -> Iterator[int]:
        """Yield the statements that a ROLLBACK would take back."""
        yield from self._inside

    def end(self) -> None:
        """The script ends."""
        if self.is_open and self._first is not None:
            self._undo(self._first, self._inside)

    def _undo(self, token: Token, statements: list[int]) -> None:
        self.taken_back.update(dict.fromkeys(statements, token))

    def _close(self) -> None:
        self._depth, self._first, self._name = 0, None, ""
        self._inside.clear()
        self._savepoints.clear()
