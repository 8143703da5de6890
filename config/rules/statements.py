"""Rule statements: what CREATE, ALTER and DROP BROKER PRIORITY say, whatever form they were written in."""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final, Literal, TypeAlias

DEFAULT_LEVEL: Final = 5
"""The level of a rule that names none, and of an endpoint that no rule matches."""


class Kind(Enum):
    """What a statement does to its rule."""

    CREATE = "CREATE"
    ALTER = "ALTER"
    DROP = "DROP"


class Keyword(Enum):
    """Values of a criterion that are not names; a string is always a name, even 'ANY'."""

    UNSET = "UNSET"
    ANY = "ANY"


UNSET: Final = Keyword.UNSET
"""The statement does not mention the criterion: ANY on CREATE, unchanged on ALTER."""

ANY: Final = Keyword.ANY
"""The wildcard."""

Criterion: TypeAlias = str | Literal[Keyword.UNSET, Keyword.ANY]


@dataclass(frozen=True, order=True)
class Origin:
    """Where a statement stands; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        """Return file:line:column, as editors understand it."""
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class RuleStatement:
    """One statement about one rule.

    `effective_from` is aware and in UTC. `level` is None where the statement gives none. A DROP has neither
    criteria nor level.
    """

    kind: Kind
    effective_from: datetime
    instance: str
    database: str
    name: str
    origin: Origin
    contract: Criterion = UNSET
    local_service: Criterion = UNSET
    remote_service: Criterion = UNSET
    level: int | None = None
