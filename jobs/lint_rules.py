"""Say what is wrong with the rules: by themselves, and against the catalog and the log.

./spark-submit.sh jobs/lint_rules.py --config conf/local.yaml [--static] [--format table|json|sarif]
.venv/bin/python -m jobs.lint_rules --config conf/local.yaml --static
"""

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from pyspark.sql import SparkSession, functions as F
from rich.table import Table as Grid
from rich.text import Text

from jobs.display import terminal
from jobs.launch import Parser, instant, launch, session
from pipelines.errors import PipelineError
from pipelines.insight.endpoint_kinds import NAMES, endpoint_kinds, queued_before
from pipelines.insight.findings import Finding, Severity, in_order
from pipelines.insight.lint_log import lint_log
from pipelines.insight.lint_names import lint_names
from pipelines.insight.lint_queued import QueuedKind, last_changes, lint_queued
from pipelines.insight.lint_static import lint_static
from pipelines.insight.log_kinds import Kind, LogKinds
from pipelines.insight.sarif import sarif
from pipelines.insight.service_places import ServicePlaces
from pipelines.insight.standing_rules import standing_rules
from pipelines.rules.history import Folded
from pipelines.settings.load import Settings, load_for_lint
from pipelines.version import code_version
from schemas.ledger import ENDPOINTS
from schemas.outputs import RECEIVE_SCHEDULE, RUNS, TRANSMISSION_SCHEDULE
from storage.small_frame import small_frame
from storage.warehouse import Warehouse

FOUND = 4
"""Exit code: there are findings at or above --fail-on."""

MOST_KINDS = 200_000
"""Kinds of endpoints that the driver takes (some 100 MB); a company has hundreds."""

CHANGES = "instance string, database string, changed_at timestamp"


def run(spark: SparkSession, settings: Settings, folded: Folded, moment: datetime | None) -> list[Finding]:
    """Compare the rules with the catalog and with the log, as the warehouse has it; nothing is written.

    Args:
        spark: the session.
        settings: where the warehouse is, and the catalog.
        folded: the rules.
        moment: the rules that stand then, and endpoints created before; None is after the last statement.

    Returns:
        The findings R301 to R307; without any endpoint in the warehouse only what the catalog says.

    Raises:
        PipelineError: the log has more kinds of endpoints than the driver should hold.
    """
    warehouse = Warehouse(spark, settings.warehouse)
    kinds = endpoint_kinds(warehouse.read(ENDPOINTS), before=moment).limit(MOST_KINDS + 1).collect()
    if len(kinds) > MOST_KINDS:
        raise PipelineError(
            f"{settings.warehouse}: endpoints: more than {MOST_KINDS:,} combinations of contract and "
            "services; lint with --static"
        )
    if not kinds:
        print(
            f"no endpoints in {settings.warehouse}: the rules were not compared with a log", file=sys.stderr
        )
        return _without_log(settings, folded, moment)
    log = LogKinds(tuple(Kind(*[row[name] for name in (*NAMES, "endpoints")]) for row in kinds))
    databases = standing_rules(folded.versions, moment)
    findings = [*lint_names(databases, ServicePlaces(settings.catalog), log, folded.origins)]
    findings += lint_log(databases, log, folded.origins)
    return findings + _queued(spark, warehouse, folded, moment)


def _without_log(settings: Settings, folded: Folded, moment: datetime | None) -> list[Finding]:
    databases = standing_rules(folded.versions, moment)
    return [*lint_names(databases, ServicePlaces(settings.catalog), None, folded.origins)]


def _queued(
    spark: SparkSession, warehouse: Warehouse, folded: Folded, moment: datetime | None
) -> list[Finding]:
    """What was queued when a run last looked, at the moment at the latest."""
    published = warehouse.read(RUNS).where("status = 'succeeded'")
    if moment is not None:
        published = published.where(F.col("as_of") <= F.lit(moment))
    last = (
        published.orderBy(F.desc("as_of"))
        .select("as_of", F.col("as_of").cast("string").alias("text"))
        .first()
    )
    if last is None:
        print("no run was published: queued conversations were not looked at", file=sys.stderr)
        return []
    as_of = instant(f"{last.text}Z")
    changes = [(*place, at) for place, (at, _) in last_changes(folded.versions, as_of).items()]
    queued = queued_before(
        warehouse.read(ENDPOINTS).where(
            f"closed_on is null or closed_on >= date_sub(date'{as_of.date()}', 1)"
        ),
        warehouse.read(RECEIVE_SCHEDULE).where(F.col("as_of") == F.lit(as_of)),
        warehouse.read(TRANSMISSION_SCHEDULE).where(F.col("as_of") == F.lit(as_of)),
        small_frame(spark, changes, CHANGES),
    )
    text = F.date_format("oldest", "yyyy-MM-dd HH:mm:ss.SSSSSS").alias("oldest")
    rows = [row.asDict() for row in queued.withColumn("oldest", text).collect()]
    kinds = [QueuedKind(**(row | {"oldest": instant(row["oldest"])})) for row in rows]
    return [*lint_queued(folded.versions, kinds, folded.origins, moment=as_of)]


def main(argv: Sequence[str]) -> int:
    """Parse the command line, lint, and print what was found."""
    parser = Parser(
        "Say what is wrong with the rules. Exit code 4: there are findings at or above --fail-on."
    )
    parser.add_argument("--config", required=True, help="settings file, e.g. conf/local.yaml")
    parser.add_argument("--format", choices=("table", "json", "sarif"), default="table", help="default table")
    parser.add_argument(
        "--fail-on", choices=[str(each) for each in Severity], default="warning", help="default warning"
    )
    parser.add_argument(
        "--as-of", type=instant, help="look at the rules of that instant (default: after the last statement)"
    )
    parser.add_argument(
        "--static", action="store_true", help="rules and catalog only: no warehouse, no Spark"
    )
    options = parser.parse_args(argv)
    settings, folded = load_for_lint(options.config)
    findings = [*lint_static(folded, settings.catalog, moment=options.as_of)]
    if options.static:
        findings += _without_log(settings, folded, options.as_of)
    else:
        findings += run(session("lint_rules", settings.warehouse), settings, folded, options.as_of)
    findings = [_relative(finding) for finding in in_order(findings)]
    match options.format:
        case "json":
            print(json.dumps([_plain(finding) for finding in findings], ensure_ascii=False, indent=2))
        case "sarif":
            log = sarif(findings, version=code_version(), settings_file=_from_here(settings.path))
            print(json.dumps(log, ensure_ascii=False, indent=2))
        case _:
            _show(findings)
    worst = Severity[options.fail_on.upper()]
    return FOUND if any(finding.severity >= worst for finding in findings) else 0


def _relative(finding: Finding) -> Finding:
    if finding.origin is None:
        return finding
    return replace(finding, origin=replace(finding.origin, file=_from_here(finding.origin.file)))


def _from_here(path: str) -> str:
    return os.path.relpath(path).replace(os.sep, "/")


def _plain(finding: Finding) -> dict[str, Any]:
    instance, database = finding.place
    origin = finding.origin
    return {
        "code": finding.code.id,
        "severity": str(finding.severity),
        "instance": instance,
        "database": database,
        "rule": finding.rule,
        "file": origin and origin.file,
        "line": origin and origin.line,
        "column": origin and origin.column,
        "sentence": finding.sentence,
        "fix": finding.fix,
    }


def _show(findings: Sequence[Finding]) -> None:
    console = terminal()
    if not findings:
        console.print("no findings")
        return
    grid = Grid(show_lines=True)
    for title in ("severity", "code", "where", "finding, and what to do"):
        grid.add_column(title, overflow="fold")
    for finding in findings:
        where = f"{finding.origin.file}:{finding.origin.line}" if finding.origin else ".".join(finding.place)
        grid.add_row(
            str(finding.severity),
            finding.code.id,
            where,
            Text.assemble(finding.sentence, "\n", ("fix:", "bold"), f" {finding.fix}"),
        )
    console.print(grid)
    counts = [
        f"{sum(finding.severity is each for finding in findings)} {each}s"
        for each in sorted(Severity, reverse=True)
    ]
    console.print(", ".join(counts))


if __name__ == "__main__":
    launch(main)
