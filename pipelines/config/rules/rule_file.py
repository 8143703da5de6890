"""What was read from one rule file."""

from dataclasses import dataclass
from enum import Enum

from pipelines.config.rules.statements import Origin, RuleStatement


class NoteKind(Enum):
    """Why something of a rule source does not count."""

    NOT_READ = "text about rules, or a file, that is not read"
    ROLLED_BACK = "a rule that its transaction takes back"
    NO_RULES = "a source without a rule statement"
    ASSUMED = "a rule that is read as if a condition before it did not hold"
    OTHER_CASE = "rules of a database that is known in another case"


@dataclass(frozen=True)
class Note:
    """Something of a rule source that does not count, or not for sure.

    Attributes:
        kind: why.
        origin: where it stands.
        message: what it is, in one sentence.
        fix: what to do.
        instance: of the source; empty if it has none.
        database: that of the last USE, or of the source; empty without one.
        rule: the rule's name, if it is about one.
    """

    kind: NoteKind
    origin: Origin
    message: str
    fix: str
    instance: str = ""
    database: str = ""
    rule: str | None = None

    def __str__(self) -> str:
        """Return the line that reports it."""
        return f"{self.origin}: {self.message}; {self.fix}"


@dataclass(frozen=True)
class HonorSetting:
    """An ALTER DATABASE of a script that turns HONOR_BROKER_PRIORITY on or off."""

    instance: str
    database: str
    is_on: bool
    origin: Origin


@dataclass(frozen=True)
class RuleFile:
    """The statements of a rule file in its order.

    `passed_over` counts the statements of a script that are not about rules; YAML has none. `notes` says
    what of the file does not count, in its order.
    """

    path: str
    statements: tuple[RuleStatement, ...]
    passed_over: int = 0
    notes: tuple[Note, ...] = ()
    honor_settings: tuple[HonorSetting, ...] = ()
