"""Write the rule history, and warn about edits of the past that would change priorities."""

import logging
from collections.abc import Sequence
from datetime import timedelta

from pyspark.sql import functions as F

from pipelines.config.instants import format_instant
from pipelines.config.queue_filter import queue_text
from pipelines.console.invocation import command_line
from pipelines.engine.frames import small_frame
from pipelines.ladder.restate import restated, within_periods
from pipelines.rules.edits import EditedPeriod, find_edited_periods
from pipelines.rules.history import RuleVersion
from pipelines.server.snapshots.missing_names import find_missing_names
from pipelines.settings.load import Settings
from pipelines.storage.collect import collect_rows
from pipelines.storage.histories import rules_frame, stored_versions
from pipelines.storage.pruned_days import start_of
from pipelines.storage.warehouse import Warehouse
from schemas.ledger import ENDPOINTS
from schemas.outputs import PRIORITY_RULES

log = logging.getLogger(__name__)

PERIOD = "instance string, database string, since timestamp, until timestamp"


def write_rules(warehouse: Warehouse, settings: Settings, stored: Sequence[RuleVersion] | None) -> str:
    """Replace `priority_rules` by the rule history, if it differs.

    Endpoints keep their priority if rules change. If the sources were edited for past moments, and endpoints
    of those moments would get another priority now, one warning says so. It is logged before the write, so
    that an interrupted run logs it again.

    Args:
        warehouse: the tables.
        settings: the rule history of all sources.
        stored: `stored_history`.

    Returns:
        What was read, in words: rule versions, and the statements of scripts that are about other things.
    """
    warn_of_unread(settings)
    history = list(settings.rule_history)
    if stored != history:
        # Before the first history nothing was decided, so nothing was edited.
        edited = find_edited_periods(history if stored is None else stored, history)
        if edited:
            _warn_of_decided(warehouse, settings, edited)
        columns = PRIORITY_RULES.names
        rows = [[getattr(version, name) for name in columns] for version in history]
        warehouse.replace(PRIORITY_RULES, rows)
    said = [f"{len(history)} rule versions"]
    for file in settings.rule_files:
        if file.passed_over:
            said.append(f"{file.path}: {file.passed_over} other statements passed over")
    return "; ".join(said)


def warn_of_unread(settings: Settings) -> None:
    """Warn of what does not count in the rule sources or on the server, one line each, with its place."""
    for note in settings.rule_notes:
        log.warning("%s", note)
    for missing in find_missing_names(settings.rule_files, settings.snapshots, are_later=True):
        log.warning("%s", missing)


def stored_history(warehouse: Warehouse) -> list[RuleVersion] | None:
    """The history in `priority_rules`, in the order of `rule_history`; None if it was never written."""
    if not warehouse.exists(PRIORITY_RULES):
        return None
    return stored_versions(warehouse.read(PRIORITY_RULES))


def _warn_of_decided(warehouse: Warehouse, settings: Settings, edited: Sequence[EditedPeriod]) -> None:
    """Warn if endpoints of edited periods have a priority that the rules would not give them now."""
    periods = [(period.instance, period.database, period.since, period.until) for period in edited]
    # Who was created since then may matter since then.
    endpoints = warehouse.read_left(ENDPOINTS, min(period.since for period in edited))
    if warehouse.first_day is not None:
        # Others can't be restated.
        endpoints = endpoints.where(F.col("created_at") >= F.lit(start_of(warehouse.first_day)))
    rules = rules_frame(warehouse.spark, settings.rule_history)
    concerned = within_periods(endpoints, small_frame(warehouse.spark, periods, PERIOD))
    found = (
        restated(concerned, rules)
        .where("changes")
        .agg(
            F.count(F.lit(1)).alias("endpoints"),
            F.min("created_at").alias("first"),
            F.max("created_at").alias("last"),
        )
    )
    [counted] = collect_rows(found)
    if not counted["endpoints"]:
        return
    first = edited[0]
    more = f" and {len(edited) - 1} more" if len(edited) > 1 else ""
    log.warning(
        "rules were edited for moments that have passed (%r in %s from %s%s); %d endpoints keep what the "
        "rules would not give them now; to restate them: %s",
        first.name,
        queue_text((first.instance, first.database)),
        format_instant(first.since),
        more,
        counted["endpoints"],
        command_line(
            "reassign",
            "--from",
            format_instant(counted["first"]),
            "--to",
            format_instant(counted["last"] + timedelta(microseconds=1)),
            config=settings.path,
        ),
    )
