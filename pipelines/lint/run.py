"""Lint rules by themselves, against the catalog, and against the warehouse."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from pipelines.config.catalog import Catalog
from pipelines.config.errors import PipelineError
from pipelines.config.instants import format_instant
from pipelines.config.service_databases import ServiceDatabases
from pipelines.engine.frames import small_frame
from pipelines.lint.findings import Finding, FindingCode
from pipelines.lint.log import lint_log
from pipelines.lint.log_endpoints import EndpointCount, LogEndpoints, count_endpoints, count_queued_before
from pipelines.lint.names import lint_names
from pipelines.lint.pairs import lint_pairs
from pipelines.lint.queued import QueuedEndpoints, last_changes, lint_queued
from pipelines.lint.redundant import lint_levels, lint_redundant
from pipelines.rules.history import Refusal, RuleHistory
from pipelines.rules.ladder import ladders_at
from pipelines.rules.statements import HonorSetting, Note, RuleFile
from pipelines.server.snapshots.missing_names import find_missing_names
from pipelines.server.snapshots.server import ServerSnapshot
from pipelines.settings.load import Settings
from pipelines.settings.rule_sources import KnownRules, RuleSources
from pipelines.storage.collect import collect_rows
from pipelines.storage.histories import read_rule_snapshots
from pipelines.storage.pruned_days import warn_of_pruned
from pipelines.storage.published import read_published_runs
from pipelines.storage.warehouse import Warehouse
from schemas.keys import ENDPOINT_NAMES
from schemas.ledger import ENDPOINTS
from schemas.outputs import RECEIVE_SCHEDULE, TRANSMISSION_SCHEDULE

MOST_KINDS = 200_000
"""Counts of endpoints that the driver takes (some 100 MB); a company has hundreds."""

CHANGES = "instance string, database string, changed_at timestamp"


def lint_files(settings: Settings, history: RuleHistory, *, moment: datetime | None) -> list[Finding]:
    """Lint rules and catalog, without a warehouse.

    Args:
        settings: the catalog.
        history: the rules.
        moment: the rules that stand then; None is after the last statement.

    Returns:
        The findings R101 to R206, R401 to R405, and of R301 to R303 those that need no log; in no order.
    """
    databases = ladders_at(history.versions, moment)
    return [
        *_of_sources(settings, history, moment),
        *lint_names(databases, ServiceDatabases(settings.catalog), None, history.locations),
    ]


def lint_scripts(sources: RuleSources, history: RuleHistory, *, moment: datetime | None) -> list[Finding]:
    """Lint rule files without settings: R101 to R206 and R401 to R405, in no order."""
    notes = [*sources.unread, *(note for file in sources.files for note in file.notes)]
    honor_settings = [each for file in sources.files for each in file.honor_settings]
    return [
        *lint_static(history, None, moment=moment, honor_settings=honor_settings),
        *lint_unread(notes),
    ]


def _of_sources(settings: Settings, history: RuleHistory, moment: datetime | None) -> list[Finding]:
    """Lint the rule sources with the catalog."""
    honor_settings = [each for file in settings.rule_files for each in file.honor_settings]
    return [
        *lint_static(
            history,
            settings.catalog,
            moment=moment,
            honor_settings=honor_settings,
            known=settings.known_rules(moment),
        ),
        *lint_missing(settings.rule_files, settings.snapshots),
        *lint_unread(settings.rule_notes),
    ]


def lint_warehouse(
    warehouse: Warehouse, settings: Settings, history: RuleHistory, *, moment: datetime | None
) -> tuple[list[Finding], list[str]]:
    """Lint rules, catalog and the log of the warehouse; nothing is written.

    Args:
        warehouse: the tables.
        settings: where they are, and the catalog.
        history: the rules.
        moment: the rules that stand then, and endpoints created before; None is after the last statement.

    Returns:
        The findings R101 to R405, in no order, and remarks on what was not checked: without endpoints in
        the warehouse the findings are those of `lint_files`.

    Raises:
        PipelineError: the log has more endpoint names than the driver should hold.
    """
    rows = collect_rows(count_endpoints(warehouse.read(ENDPOINTS), before=moment).limit(MOST_KINDS + 1))
    if len(rows) > MOST_KINDS:
        raise PipelineError(
            f"{settings.warehouse}: endpoints: more than {MOST_KINDS:,} combinations of contract and "
            "services; lint with --static"
        )
    if not rows:
        remark = f"no endpoints in {settings.warehouse}: the rules were not compared with a log"
        return lint_files(settings, history, moment=moment), [remark]
    log = LogEndpoints(
        tuple(EndpointCount(*[row[name] for name in (*ENDPOINT_NAMES, "endpoints")]) for row in rows)
    )
    databases, places = ladders_at(history.versions, moment), ServiceDatabases(settings.catalog)
    known, honors = settings.known_rules(moment), settings.catalog.honors()
    findings = [
        *_of_sources(settings, history, moment),
        *lint_names(databases, places, log, history.locations),
        *lint_log(databases, log, history.locations, known, honors, places),
    ]
    warn_of_pruned(warehouse.first_day, "the counts of endpoints")
    as_of = _last_published(warehouse, moment)
    if as_of is None:
        which = "run" if moment is None else f"as_of up to {format_instant(moment)}"
        return findings, [f"no {which} was published: queued conversations were not looked at"]
    if warehouse.is_pruned(as_of):
        return findings, [
            f"{format_instant(as_of)} lies before {warehouse.first_day}, the first day left: queued "
            "conversations were not looked at"
        ]
    return [*findings, *_queued(warehouse, history, as_of)], []


def _last_published(warehouse: Warehouse, moment: datetime | None) -> datetime | None:
    """Return the newest published as_of at the moment."""
    as_ofs = [row["as_of"] for row in read_published_runs(warehouse, "as_of")]
    return max((as_of for as_of in as_ofs if moment is None or as_of <= moment), default=None)


def _queued(warehouse: Warehouse, history: RuleHistory, as_of: datetime) -> list[Finding]:
    """Find conversations that were queued at as_of and are older than the rules."""
    changes = [(*database_key, at) for database_key, (at, _) in last_changes(history.versions, as_of).items()]
    queued = count_queued_before(
        warehouse.read_open(ENDPOINTS, as_of),
        warehouse.read_as_of(RECEIVE_SCHEDULE, as_of),
        warehouse.read_as_of(TRANSMISSION_SCHEDULE, as_of),
        small_frame(warehouse.spark, changes, CHANGES),
    )
    kinds = [QueuedEndpoints(**row) for row in collect_rows(queued)]
    shown = read_rule_snapshots(warehouse)
    seen = [
        version.key
        for version in history.versions
        if version.valid_from in shown.get((version.instance, version.database), ())
    ]
    return [*lint_queued(history.versions, kinds, history.locations, moment=as_of, first_seen=seen)]


def lint_static(
    history: RuleHistory,
    catalog: Catalog | None,
    *,
    moment: datetime | None,
    honor_settings: Sequence[HonorSetting] = (),
    known: KnownRules | None = None,
) -> Iterator[Finding]:
    """Yield the findings R101 to R206, in no order.

    Args:
        history: the rules, from all sources.
        catalog: databases of services and honor_broker_priority; None without a catalog.
        honor_settings: ALTER DATABASE statements of the scripts, in their order.
        known: whose rules are known; None is of all databases.
        moment: the rules in force then are checked; None is after the last statement, even in the future.
            Refused statements are reported whenever they take effect; their rules are never in force.
    """
    databases = ladders_at(history.versions, moment)
    yield from lint_refused(history.refusals)
    for database_key, rules in databases.items():
        yield from lint_redundant(database_key, rules, history.locations)
    of_catalog = catalog or Catalog()
    of_services = ServiceDatabases(of_catalog)
    yield from lint_pairs(databases, of_services, history.locations, known, of_catalog.honors())
    yield from lint_levels(databases, catalog, history.locations, honor_settings)


def lint_refused(refusals: Iterable[Refusal]) -> Iterator[Finding]:
    """Yield one finding for each statement that was refused, whenever it takes effect."""
    for refusal in refusals:
        statement, code = refusal.statement, FindingCode[refusal.fault.name]
        # The message is "<place>: <what>; <what to do>", as a night would print it.
        said = refusal.message.removeprefix(f"{statement.location}: ")
        sentence, _, fix = said.partition("; ")
        database_key = statement.instance, statement.database
        yield Finding(code, code.severity, database_key, statement.name, statement.location, sentence, fix)


def lint_missing(files: Iterable[RuleFile], snapshots: Iterable[ServerSnapshot]) -> Iterator[Finding]:
    """Yield one finding for each name that the database of a later statement lacks in its newest snapshot."""
    for missing in find_missing_names(files, snapshots, are_later=True):
        statement, code = missing.statement, FindingCode.MISSING_NAME
        place = statement.instance, statement.database
        yield Finding(
            code, code.severity, place, statement.name, statement.location, missing.sentence, missing.hint
        )


def lint_unread(notes: Iterable[Note]) -> Iterator[Finding]:
    """Yield one finding for each note; its place is the source's, as far as that is known."""
    for note in notes:
        code, database_key = FindingCode[note.kind.name], (note.instance, note.database)
        yield Finding(code, code.severity, database_key, note.rule, note.location, note.message, note.fix)
