"""The whole lint: rules by themselves, against the catalog, and against what the warehouse has."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from pipelines.config.catalog import Catalog
from pipelines.config.errors import PipelineError
from pipelines.config.load import Settings
from pipelines.config.rules.history import Fault, Refusal, RuleHistory
from pipelines.config.rules.sources import RuleSources
from pipelines.config.rules.statements import HonorSetting, Note, NoteKind
from pipelines.lint.findings import Code, Finding
from pipelines.lint.log import lint_log
from pipelines.lint.log_kinds import Kind, LogKinds, endpoint_kinds, queued_before
from pipelines.lint.names import lint_names
from pipelines.lint.pairs import lint_pairs
from pipelines.lint.queued import QueuedKind, last_changes, lint_queued
from pipelines.lint.redundant import lint_levels, lint_redundant
from pipelines.lint.standing_rules import ServicePlaces, standing_rules
from pipelines.storage.collect import collect_rows
from pipelines.storage.published import published_runs
from pipelines.storage.small_frame import small_frame
from pipelines.storage.warehouse import Warehouse
from schemas.keys import ENDPOINT_NAMES
from schemas.ledger import ENDPOINTS
from schemas.outputs import RECEIVE_SCHEDULE, TRANSMISSION_SCHEDULE

MOST_KINDS = 200_000
"""Kinds of endpoints that the driver takes (some 100 MB); a company has hundreds."""

CHANGES = "instance string, database string, changed_at timestamp"


_CODES_OF_FAULTS = {
    Fault.SAME_CRITERIA: Code.SAME_CRITERIA,
    Fault.SAME_RULE: Code.SAME_RULE,
    Fault.NAME_TAKEN: Code.NAME_TAKEN,
    Fault.NO_SUCH_RULE: Code.NO_SUCH_RULE,
    Fault.UNCLEAR_CHECK: Code.UNCLEAR_CHECK,
}
_CODES_OF_NOTES = {
    NoteKind.NOT_READ: Code.NOT_READ,
    NoteKind.ROLLED_BACK: Code.ROLLED_BACK,
    NoteKind.NO_RULES: Code.NO_RULES,
    NoteKind.ASSUMED: Code.ASSUMED,
    NoteKind.OTHER_CASE: Code.OTHER_CASE,
}


def lint_files(settings: Settings, folded: RuleHistory, *, moment: datetime | None) -> list[Finding]:
    """What rules and catalog say, without a warehouse.

    Args:
        settings: the catalog.
        folded: the rules.
        moment: the rules that stand then; None is after the last statement.

    Returns:
        The findings R101 to R206, R401 to R405, and of R301 to R303 those that need no log; in no order.
    """
    databases = standing_rules(folded.versions, moment)
    return [
        *_of_sources(settings, folded, moment),
        *lint_names(databases, ServicePlaces(settings.catalog), None, folded.origins),
    ]


def lint_scripts(sources: RuleSources, folded: RuleHistory, *, moment: datetime | None) -> list[Finding]:
    """What rule files say by themselves, without settings: R101 to R206 and R401 to R405, in no order."""
    notes = [*sources.unread, *(note for file in sources.files for note in file.notes)]
    honor_settings = [each for file in sources.files for each in file.honor_settings]
    return [
        *lint_static(folded, None, moment=moment, honor_settings=honor_settings),
        *lint_unread(notes),
    ]


def _of_sources(settings: Settings, folded: RuleHistory, moment: datetime | None) -> list[Finding]:
    """What the rule sources say, with the catalog."""
    honor_settings = [each for file in settings.rule_files for each in file.honor_settings]
    return [
        *lint_static(folded, settings.catalog, moment=moment, honor_settings=honor_settings),
        *lint_unread(settings.rule_notes),
    ]


def lint_warehouse(
    warehouse: Warehouse, settings: Settings, folded: RuleHistory, *, moment: datetime | None
) -> tuple[list[Finding], list[str]]:
    """What rules, catalog and the log as the warehouse has it say; nothing is written.

    Args:
        warehouse: the tables.
        settings: where they are, and the catalog.
        folded: the rules.
        moment: the rules that stand then, and endpoints created before; None is after the last statement.

    Returns:
        The findings R101 to R405, in no order, and what could not be looked at, in words: without any
        endpoint in the warehouse there is only what `lint_files` finds.

    Raises:
        PipelineError: the log has more kinds of endpoints than the driver should hold.
    """
    rows = collect_rows(endpoint_kinds(warehouse.read(ENDPOINTS), before=moment).limit(MOST_KINDS + 1))
    if len(rows) > MOST_KINDS:
        raise PipelineError(
            f"{settings.warehouse}: endpoints: more than {MOST_KINDS:,} combinations of contract and "
            "services; lint with --static"
        )
    if not rows:
        remark = f"no endpoints in {settings.warehouse}: the rules were not compared with a log"
        return lint_files(settings, folded, moment=moment), [remark]
    log = LogKinds(tuple(Kind(*[row[name] for name in (*ENDPOINT_NAMES, "endpoints")]) for row in rows))
    databases = standing_rules(folded.versions, moment)
    findings = [
        *_of_sources(settings, folded, moment),
        *lint_names(databases, ServicePlaces(settings.catalog), log, folded.origins),
        *lint_log(databases, log, folded.origins),
    ]
    as_of = _last_published(warehouse, moment)
    if as_of is None:
        return findings, ["no run was published: queued conversations were not looked at"]
    return [*findings, *_queued(warehouse, folded, as_of)], []


def _last_published(warehouse: Warehouse, moment: datetime | None) -> datetime | None:
    """When a run last looked at the queues, at the moment at the latest."""
    as_ofs = [row["as_of"] for row in published_runs(warehouse, "as_of")]
    return max((as_of for as_of in as_ofs if moment is None or as_of <= moment), default=None)


def _queued(warehouse: Warehouse, folded: RuleHistory, as_of: datetime) -> list[Finding]:
    """What was queued then and is older than the rules."""
    changes = [(*place, at) for place, (at, _) in last_changes(folded.versions, as_of).items()]
    queued = queued_before(
        warehouse.read_open(ENDPOINTS, as_of),
        warehouse.read_as_of(RECEIVE_SCHEDULE, as_of),
        warehouse.read_as_of(TRANSMISSION_SCHEDULE, as_of),
        small_frame(warehouse.spark, changes, CHANGES),
    )
    kinds = [QueuedKind(**row) for row in collect_rows(queued)]
    return [*lint_queued(folded.versions, kinds, folded.origins, moment=as_of)]


def lint_static(
    folded: RuleHistory,
    catalog: Catalog | None,
    *,
    moment: datetime | None,
    honor_settings: Sequence[HonorSetting] = (),
) -> Iterator[Finding]:
    """Yield the findings R101 to R206, in no order.

    Args:
        folded: the rules, from all sources.
        catalog: where services are, and which databases honor priorities; None if nothing is known of that.
        honor_settings: what the scripts say of the latter, in their order.
        moment: the rules that stand then are looked at; None is after the last statement, even if that
            is still to come. Statements that are refused are told of whenever they take effect; their
            rules stand nowhere.
    """
    databases = standing_rules(folded.versions, moment)
    yield from lint_refused(folded.refusals)
    for place, rules in databases.items():
        yield from lint_redundant(place, rules, folded.origins)
    yield from lint_pairs(databases, ServicePlaces(catalog or Catalog()), folded.origins)
    yield from lint_levels(databases, catalog, folded.origins, honor_settings)


def lint_refused(refusals: Iterable[Refusal]) -> Iterator[Finding]:
    """Yield one finding for each statement that was refused, whenever it takes effect."""
    for refusal in refusals:
        statement, code = refusal.statement, _CODES_OF_FAULTS[refusal.fault]
        # The message is "<place>: <what>; <what to do>", as a night would print it.
        said = refusal.message.removeprefix(f"{statement.origin}: ")
        sentence, _, fix = said.partition("; ")
        place = statement.instance, statement.database
        yield Finding(code, code.severity, place, statement.name, statement.origin, sentence, fix)


def lint_unread(notes: Iterable[Note]) -> Iterator[Finding]:
    """Yield one finding for each note; its place is the source's, as far as that is known."""
    for note in notes:
        code, place = _CODES_OF_NOTES[note.kind], (note.instance, note.database)
        yield Finding(code, code.severity, place, note.rule, note.origin, note.message, note.fix)
