"""Where a statement stands in a file."""

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Origin:
    """Where a statement stands; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        """Return file:line:column, as editors understand it."""
        return f"{self.file}:{self.line}:{self.column}"
