"""R307: conversations that are queued and older than the rules of today."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from pipelines.config.instants import format_instant
from pipelines.console.wording import format_count, format_database
from pipelines.lint.findings import Finding, FindingCode
from pipelines.rules.history import RuleVersion, VersionKey
from pipelines.rules.ladder import NO_RULES, DatabaseKey, ladders_at, level_of
from pipelines.rules.statements import SourceLocation


@dataclass(frozen=True)
class QueuedEndpoints:
    """Endpoints with open messages that were created before their database's last change of rules.

    Of one database, with the same contract, services and level; `unread` are messages in their queues,
    `oldest` is the first creation.
    """

    instance: str
    database: str
    contract: str
    local_service: str
    remote_service: str
    priority: int
    endpoints: int
    unread: int
    oldest: datetime


def last_changes(
    versions: Iterable[RuleVersion], moment: datetime
) -> dict[DatabaseKey, tuple[datetime, RuleVersion]]:
    """Return when the rules of each database last changed, at the moment at the latest, and the rule.

    Of several changes at once a version that begins goes before one that ends, then the first by name.
    """
    changes: dict[DatabaseKey, list[tuple[datetime, bool, RuleVersion]]] = {}
    for version in versions:
        of_database = changes.setdefault((version.instance, version.database), [])
        for at, ends in ((version.valid_from, False), (version.valid_to, True)):
            if at is not None and at <= moment:
                of_database.append((at, ends, version))
    found = {}
    for database_key, of_database in changes.items():
        if of_database:
            latest = max(at for at, _, _ in of_database)
            at_once = [(ends, version.name, version) for at, ends, version in of_database if at == latest]
            found[database_key] = latest, min(at_once, key=lambda change: change[:2])[2]
    return found


def lint_queued(
    versions: Iterable[RuleVersion],
    queued: Iterable[QueuedEndpoints],
    locations: Mapping[VersionKey, SourceLocation],
    *,
    moment: datetime,
    first_seen: Collection[VersionKey] = (),
) -> Iterator[Finding]:
    """Yield a finding for each database with such conversations; they keep their level until they end.

    Args:
        versions: the rule history.
        queued: endpoints with queued messages that were created before the last change (`last_changes`).
        locations: where the versions are written.
        moment: the as_of of the queues.
        first_seen: the versions that only a snapshot shows, first when it was taken.
    """
    history = list(versions)
    changes, standing = last_changes(history, moment), ladders_at(history, moment)
    by_database: dict[DatabaseKey, list[QueuedEndpoints]] = {}
    for kind in queued:
        by_database.setdefault((kind.instance, kind.database), []).append(kind)
    for database_key, kinds in sorted(by_database.items()):
        at, version = changes[database_key]
        rules = standing.get(database_key, NO_RULES)
        total, other, unread = 0, 0, 0
        for kind in kinds:
            names = (kind.contract, kind.local_service, kind.remote_service)
            total += kind.endpoints
            if level_of(rules.decide(names)) != kind.priority and not rules.find_candidates(names):
                other += kind.endpoints
                unread += kind.unread
        if not other and version.key in first_seen and at == version.valid_from:
            continue  # That a snapshot first shows a rule does not say that the rule is younger.
        code = FindingCode.QUEUED_BEFORE
        oldest = min(kind.oldest for kind in kinds)
        sentence = (
            f"{format_count(total, 'endpoint')} of {format_database(database_key)} with queued messages "
            f"{'is' if total == 1 else 'are'} older than {_name_change(version, at, first_seen)}, the oldest "
            f"of {format_instant(oldest.replace(microsecond=0))}; {other:,} would have another level today"
        )
        fix = drain_first(unread) if other else "no rule changes their level"
        yield Finding(
            code, code.severity, database_key, version.name, locations.get(version.key), sentence, fix
        )


def drain_first(unread: int | None) -> str:
    """Advise how conversations get another level, without harm.

    END CONVERSATION deletes what is unread in its queue, and sends what waits to be sent.

    Args:
        unread: messages in queues that would be lost; None if there are some, not counted.
    """
    read = "their messages be sent and read" if unread == 0 else "readers drain them"
    lost = "what is unread in queues" if unread is None else format_count(unread, "unread message")
    then = "only then end them and start new ones" + (
        f"; ending them now deletes {lost}" if unread != 0 else ""
    )
    return f"existing conversations keep their level until they end; let {read} first; {then}"


def _name_change(version: RuleVersion, at: datetime, first_seen: Collection[VersionKey]) -> str:
    """Name the last change of a database's rules, as far as it is known."""
    if version.key not in first_seen:
        return f"the last change of its rules ({version.name!r}, {format_instant(at)})"
    is_end = at == version.valid_to
    seen = f"{'not seen any more' if is_end else 'first seen'} at {format_instant(at)}"
    return f"what a snapshot shows of its rules ({version.name!r}, {seen})"
