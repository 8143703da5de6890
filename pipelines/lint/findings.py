"""Findings of the lint: codes, severities, findings. Codes are stable; docs/lint.md explains each."""

from dataclasses import dataclass
from enum import Enum, IntEnum

from pipelines.rules.statements import SourceLocation


class Severity(IntEnum):
    """The severity of a finding; a higher number is worse."""

    NOTE = 1
    """Worth knowing; it may be meant so."""
    WARNING = 2
    """The rule does not do what its author would expect."""
    ERROR = 3
    """The rules can't be loaded, here or on the server."""

    def __str__(self) -> str:
        """Return the word that the command line and SARIF use."""
        return self.name.lower()


class FindingCode(Enum):
    """The kinds of findings: a stable code, its usual severity, and what it means in a few words.

    Each `Fault` and each `NoteReason` of rule sources has the name of its kind.
    """

    SAME_CRITERIA = ("R101", Severity.ERROR, "two rules have the same criteria and different levels")
    SAME_RULE = ("R102", Severity.ERROR, "two rules have the same criteria and the same level")
    NAME_TAKEN = ("R103", Severity.ERROR, "a rule is created that exists")
    NO_SUCH_RULE = ("R104", Severity.ERROR, "a rule is altered or dropped that does not exist")
    UNCLEAR_CHECK = (
        "R105",
        Severity.ERROR,
        "a check of existence names a rule or its database in another case",
    )
    MISSING_NAME = ("R106", Severity.ERROR, "the database lacks the contract or the local service")
    REDUNDANT = ("R201", Severity.WARNING, "without the rule every endpoint would get the same level")
    SAME_LEVEL = ("R202", Severity.NOTE, "the rule gives the level that would apply anyway")
    ONE_SIDED = ("R203", Severity.WARNING, "the rule covers one end of its conversations, no rule the other")
    ASYMMETRIC = ("R204", Severity.NOTE, "the two ends of a conversation have different levels")
    NOT_HONORED = ("R205", Severity.WARNING, "the database sends everything at level 5")
    MANY_LEVELS = ("R206", Severity.NOTE, "more than three levels are in use")
    UNKNOWN_NAME = ("R301", Severity.WARNING, "neither the catalog nor the log has the name")
    SPELLING = ("R302", Severity.WARNING, "a name differs only by case, blanks or Unicode form")
    SWAPPED = ("R303", Severity.WARNING, "the local and the remote service are swapped")
    NEVER_MATCHED = ("R304", Severity.WARNING, "no endpoint of the log fits the rule")
    COVERED = ("R305", Severity.NOTE, "more specific rules decide every endpoint of the log that fits")
    DEFAULTED = ("R306", Severity.NOTE, "no rule fits endpoints of the log")
    QUEUED_BEFORE = ("R307", Severity.NOTE, "conversations with queued messages are older than the rules")
    NOT_READ = ("R401", Severity.WARNING, "text about rules, or a file, that is not read")
    ROLLED_BACK = ("R402", Severity.WARNING, "a rule statement that its transaction takes back")
    NO_RULES = ("R403", Severity.WARNING, "a rule source without a rule statement that counts")
    ASSUMED = ("R404", Severity.WARNING, "a condition that no script decides may keep a rule from counting")
    OTHER_CASE = ("R405", Severity.WARNING, "rules of a database that is known in another case")

    def __init__(self, id: str, severity: Severity, meaning: str) -> None:
        """Take the parts of the value as attributes."""
        self.id = id
        self.severity = severity
        self.meaning = meaning


@dataclass(frozen=True)
class Finding:
    """A finding about rules.

    Attributes:
        code: what kind of thing it is.
        severity: how bad it is here; usually the code's.
        database_key: the instance and database of the rules concerned.
        rule: the rule's name; None if the finding is about no single rule.
        location: where to look; None if the finding is about what no file says.
        sentence: what is the matter, in one sentence.
        fix: what to do.
    """

    code: FindingCode
    severity: Severity
    database_key: tuple[str, str]
    rule: str | None
    location: SourceLocation | None
    sentence: str
    fix: str


def sort_findings(findings: list[Finding]) -> list[Finding]:
    """Return findings by file, line and column, then by code; those without a location come last."""

    def key(finding: Finding) -> tuple[object, ...]:
        location = finding.location
        where = (location.file, location.line, location.column) if location else ("", 0, 0)
        return (
            location is None,
            where,
            finding.code.id,
            finding.database_key,
            finding.rule or "",
            finding.sentence,
        )

    return sorted(findings, key=key)
