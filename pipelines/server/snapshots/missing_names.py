"""Names in rule statements that a database of a server does not have, so that the server refuses them.

The contract and the local service must be in the rule's database; the remote service may be anywhere (the
vendor's page "CREATE BROKER PRIORITY").
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from pipelines.config.instants import format_instant
from pipelines.config.nearest import suggest_nearest
from pipelines.config.queue_filter import queue_text
from pipelines.rules.statements import RuleFile, RuleStatement
from pipelines.server.snapshots.server import ServerSnapshot
from pipelines.server.snapshots.views import CONTRACTS, SERVICES

BUILT_IN_CONTRACT = "DEFAULT"
"""Every database has it; BEGIN DIALOG takes it where ON CONTRACT is missing (the vendor's documentation)."""
CHECKED = {"contract": CONTRACTS, "local_service": SERVICES}
"""The view that has all names that a criterion may have."""
WORDS = {"contract": "contract", "local_service": "local service"}


@dataclass(frozen=True)
class MissingName:
    """A name that the newest snapshot of a database lacks.

    Attributes:
        statement: the rule statement.
        sentence: what is wrong.
        hint: what may be meant.
    """

    statement: RuleStatement
    sentence: str
    hint: str

    def __str__(self) -> str:
        """Return the line that reports it."""
        return f"{self.statement.location}: {self.sentence}; {self.hint}"


def find_missing_names(
    files: Iterable[RuleFile], snapshots: Iterable[ServerSnapshot], *, are_later: bool
) -> Iterator[MissingName]:
    """Find the names in statements of files that the statements' databases lack.

    Args:
        files: rule files. A name counts that one of them creates.
        snapshots: of servers. Of each database its newest one counts, where its views are complete.
        are_later: whether only statements count that take effect after that snapshot.
    """
    read = list(files)
    newest: dict[tuple[str, str], ServerSnapshot] = {}
    for snapshot in sorted(snapshots, key=lambda each: each.taken_at):
        newest[snapshot.database_key] = snapshot
    for statement in (statement for file in read for statement in file.statements):
        place = statement.instance, statement.database
        shown = newest.get(place)
        if shown is None or (are_later and statement.effective_from <= shown.taken_at):
            continue
        made = {name for file in read for *at, name in file.created if tuple(at) == place}
        yield from _of_statement(statement, _names(shown), made, shown.taken_at)


def _names(snapshot: ServerSnapshot) -> Mapping[str, set[str]]:
    """The names that a criterion may have, of the criteria whose view is complete."""
    return {
        criterion: {*snapshot.names(view).values(), *([BUILT_IN_CONTRACT] if view == CONTRACTS else [])}
        for criterion, view in CHECKED.items()
        if view in snapshot.complete
    }


def _of_statement(
    statement: RuleStatement, known: Mapping[str, set[str]], made: Collection[str], seen_at: datetime
) -> Iterator[MissingName]:
    for criterion, names in known.items():
        said = getattr(statement, criterion)
        if isinstance(said, str) and said not in names and said not in made:
            place = queue_text((statement.instance, statement.database))
            yield MissingName(
                statement,
                f"the server refuses {statement.kind.value} {statement.name!r}: {place} has no "
                f"{WORDS[criterion]} {said!r} (snapshot of {format_instant(seen_at)})",
                suggest_nearest(said, sorted(names)),
            )
