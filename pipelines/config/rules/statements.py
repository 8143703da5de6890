"""Rule statements: what CREATE, ALTER and DROP BROKER PRIORITY say, whatever form they were written in."""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final, Literal, TypeAlias

from pipelines.config.rules.guards import ALWAYS, Condition
from pipelines.config.rules.source_location import Origin as Origin

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


@dataclass(frozen=True)
class RuleStatement:
    """One statement about one rule.

    `effective_from` is aware and in UTC. `level` is None where the statement gives none. A DROP has neither
    criteria nor level. It is carried out only if its `condition` holds.
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
    condition: Condition = ALWAYS
