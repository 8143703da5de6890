"""Say what is wrong with the rules: by themselves, and against the catalog and the log."""

import sys
from argparse import Namespace
from collections.abc import Sequence
from datetime import datetime

from pipelines import __version__
from pipelines.commands.options import Parser, find_settings
from pipelines.config.errors import ConfigError
from pipelines.config.instants import FIRST, LATEST
from pipelines.console.terminal import escape_line, open_console, to_json
from pipelines.engine.session import open_session
from pipelines.lint.findings import Finding, Severity, sort_findings
from pipelines.lint.run import lint_files, lint_scripts, lint_warehouse
from pipelines.lint.view import from_here, plain, print_findings, relative, sarif
from pipelines.rules.history import apply_statements
from pipelines.rules.statements import RuleDefaults
from pipelines.settings.load import load_for_lint
from pipelines.settings.rule_sources import NoRuleFileError, RuleSources
from pipelines.storage.published import checked_runs, published_as_of
from pipelines.storage.warehouse import Warehouse

FOUND = 4
"""Exit code: there are findings at or above --fail-on."""


def main(argv: Sequence[str]) -> int:
    """Parse the command line, lint, and print what was found."""
    parser = Parser(
        "lint",
        "Say what is wrong with the rules. Exit code 4: there are findings at or above --fail-on.",
        example="--config conf/local.yaml --static",
        config=False,
    )
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        help="rule files, folders or patterns to look at by themselves, without --config",
    )
    parser.add_config()
    parser.add_format("sarif")
    parser.add_argument(
        "--fail-on", choices=[str(each) for each in Severity], default="warning", help="default warning"
    )
    parser.add_as_of(
        "look at the rules of that instant, or latest: of the newest as_of that was published "
        "(default: after the last statement)"
    )
    parser.add_argument(
        "--static", action="store_true", help="rules and catalog only: no warehouse, no engine"
    )
    options = parser.parse_args(argv)
    if options.files and options.config:
        parser.error("give --config, or files to look at without settings")
    if options.as_of == LATEST and (options.files or options.static):
        parser.error("--as-of latest needs the warehouse; name an instant")
    if options.files:
        settings_file = options.files[0]
        found = _lint_scripts(options.files, options.as_of)
    else:
        settings_file = options.config = find_settings(
            options.config, otherwise="; or give rule files to look at without settings"
        )
        found = _lint_settings(options)
    findings = [relative(finding) for finding in sort_findings(found)]
    match options.format:
        case "json":
            print(to_json([plain(finding) for finding in findings]))
        case "sarif":
            log = sarif(findings, version=__version__, settings_file=from_here(settings_file))
            print(to_json(log))
        case _:
            print_findings(open_console(), findings)
    worst = Severity[options.fail_on.upper()]
    return FOUND if any(finding.severity >= worst for finding in findings) else 0


def _lint_scripts(paths: Sequence[str], moment: datetime | None) -> list[Finding]:
    """Lint files by themselves; where neither a file nor a statement says, nothing names the instance."""
    sources, problems = RuleSources(), []
    for path in paths:
        try:
            sources.read(path, RuleDefaults(instance="", effective_from=FIRST, database=""))
        except NoRuleFileError as error:
            problems.append(f"{path}: {error}")
        except ConfigError as error:
            problems.extend(error.problems)
    ConfigError.raise_any(problems)
    history = apply_statements(statement for file in sources.files for statement in file.statements)
    return lint_scripts(sources, history, moment=moment)


def _lint_settings(options: Namespace) -> list[Finding]:
    settings, history = load_for_lint(options.config)
    if options.static:
        return lint_files(settings, history, moment=options.as_of)
    warehouse = Warehouse(
        open_session("lint_rules", settings.warehouse), settings.warehouse, settings.places, settings.switches
    )
    warehouse.require_this_shape()
    if options.as_of == LATEST:
        moment = published_as_of(warehouse, settings, LATEST)
    else:
        checked_runs(warehouse)
        moment = options.as_of
    found, remarks = lint_warehouse(warehouse, settings.at(moment), history, moment=moment)
    for remark in remarks:
        print(escape_line(remark), file=sys.stderr)
    return found
