"""Say what is wrong with the rules: by themselves, and against the catalog and the log."""

import sys

if not __package__:  # run as a file
    sys.path.append(f"{sys.path[0]}/..")

from collections.abc import Sequence

from config.load import load_for_lint
from config.version import code_version
from engine.session import open_session
from insight.findings import Severity, in_order
from insight.lint import lint_files, lint_warehouse
from insight.lint_view import from_here, plain, relative, show_findings
from insight.sarif import sarif
from insight.terminal import as_json, terminal, visible_line
from jobs.launch import Parser, launch
from storage.warehouse import Warehouse

FOUND = 4
"""Exit code: there are findings at or above --fail-on."""


def main(argv: Sequence[str]) -> int:
    """Parse the command line, lint, and print what was found."""
    parser = Parser(
        "Say what is wrong with the rules. Exit code 4: there are findings at or above --fail-on.",
        example=".venv/bin/python -m jobs.lint_rules --config conf/local.yaml --static",
    )
    parser.add_argument("--format", choices=("table", "json", "sarif"), default="table", help="default table")
    parser.add_argument(
        "--fail-on", choices=[str(each) for each in Severity], default="warning", help="default warning"
    )
    parser.add_as_of("look at the rules of that instant (default: after the last statement)")
    parser.add_argument(
        "--static", action="store_true", help="rules and catalog only: no warehouse, no engine"
    )
    options = parser.parse_args(argv)
    settings, folded = load_for_lint(options.config)
    if options.static:
        found = lint_files(settings, folded, moment=options.as_of)
    else:
        warehouse = Warehouse(open_session("lint_rules", settings.warehouse), settings.warehouse)
        warehouse.require_this_shape()
        found, remarks = lint_warehouse(warehouse, settings, folded, moment=options.as_of)
        for remark in remarks:
            print(visible_line(remark), file=sys.stderr)
    findings = [relative(finding) for finding in in_order(found)]
    match options.format:
        case "json":
            print(as_json([plain(finding) for finding in findings]))
        case "sarif":
            log = sarif(findings, version=code_version(), settings_file=from_here(settings.path))
            print(as_json(log))
        case _:
            show_findings(terminal(), findings)
    worst = Severity[options.fail_on.upper()]
    return FOUND if any(finding.severity >= worst for finding in findings) else 0


if __name__ == "__main__":
    launch(main)
