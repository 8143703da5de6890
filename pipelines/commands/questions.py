"""The questions that need few options: what each asks, answers and prints."""

from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Any

from pipelines.changes.read import find_since, read_changes
from pipelines.changes.view import print_changes
from pipelines.commands.open import opened
from pipelines.commands.options import CENTURY_DAYS, Parser, duration, instant, list_of, whole_number
from pipelines.commands.out import plain_file, require_not_read, write_whole
from pipelines.commands.question import Asked, Question
from pipelines.config.errors import NOT_MET, ConfigError
from pipelines.config.instants import format_instant
from pipelines.config.queue_filter import FORMS, QueueFilter
from pipelines.console.invocation import command_line
from pipelines.console.tables import print_answer
from pipelines.console.terminal import escape_line, open_console, to_json
from pipelines.console.wording import format_database, format_list
from pipelines.expectations.read import not_met, read_expectations, report_expectations
from pipelines.expectations.view import print_expectations
from pipelines.questions.coverage import report_coverage
from pipelines.questions.differences import report_differences, require_snapshots
from pipelines.questions.leak_script import script_lines
from pipelines.questions.leaks import DAYS, GRACE, read_known_leaks, report_leaks
from pipelines.questions.next import report_next
from pipelines.questions.rejected import report_rejected
from pipelines.questions.tables import RULES
from pipelines.questions.view import print_differences, print_leaks, print_next, print_rejected, print_waiting
from pipelines.questions.waiting import BY, report_waits
from pipelines.server.snapshots.server import queue_schemas
from pipelines.storage.published import checked_runs, require_findings


def _add_next_options(parser: Parser) -> None:
    parser.add_argument("--queue", help=f"the queue to receive from: {FORMS}")
    parser.add_argument(
        "--instance", help="its instance; with --transmission, the instance that sends (default the only one)"
    )
    parser.add_argument("--database", help="its database")
    parser.add_argument("--transmission", action="store_true", help="what the instance sends next")


def _check_next(options: Namespace) -> None:
    if options.transmission == (options.queue is not None):
        raise ConfigError("command line: give either --queue Q, or --transmission, with --instance I")
    if options.transmission and options.database is not None:
        raise ConfigError(
            "command line: --transmission takes no --database: an instance sends in one order over all its "
            "databases"
        )


def _answer_next(asked: Asked) -> Any:
    options = asked.options
    return report_next(
        asked.warehouse,
        QueueFilter(options.queue, options.instance, options.database),
        as_of=asked.as_of,
        limit=options.limit,
        catalog=asked.settings.catalog,
    )


NEXT = Question(
    "next",
    "Say which messages come next in a queue, or out of an instance, and why.",
    example="--config conf/local.yaml --queue TargetQueue --limit 20",
    options=_add_next_options,
    check=_check_next,
    limit=(20, "messages"),
    has_wide=True,
    answer=_answer_next,
    show=lambda found, asked: print_next(found, wide=asked.options.wide),
    tells_age=True,
)


def _add_waiting_options(parser: Parser) -> None:
    parser.add_argument(
        "--by",
        action="append",
        type=list_of(BY),
        default=[],
        metavar="COLUMN,...",
        help=f"one row for each combination of these: {', '.join(BY)} (default the queue and its levels)",
    )


def _answer_waiting(asked: Asked) -> Any:
    # Each column once, in the order of the command line.
    by = list(dict.fromkeys(chain(*asked.options.by)))
    return report_waits(asked.warehouse, as_of=asked.as_of, limit=asked.options.limit, by=by)


def _show_waiting(answer: Any, asked: Asked) -> None:
    settings = asked.settings
    print_waiting(answer, settings.catalog, settings.catalog_path, wide=asked.options.wide)


WAITING = Question(
    "waiting",
    "Say who waits how long, and who is overtaken most.",
    example="--config conf/local.yaml --by contract,local_service,level",
    options=_add_waiting_options,
    limit=(50, "rows of each part"),
    has_wide=True,
    answer=_answer_waiting,
    show=_show_waiting,
    tells_age=True,
)


def _show_expect(rows: Any, asked: Asked) -> None:
    if rows:
        print_expectations(open_console(), rows, asked.as_of)
    else:
        when = format_instant(asked.as_of)
        print(f"Nothing was expected at {when}: the settings of that run had no expect.")


EXPECT = Question(
    "expect",
    f"Say whether what the settings expect held; exit code {NOT_MET} if one expectation is not met.",
    example="--config conf/local.yaml --as-of 2026-11-21T00:00:00Z",
    answer=lambda asked: read_expectations(asked.warehouse, asked.settings, asked.as_of),
    plain=lambda rows, asked: report_expectations(rows, asked.as_of),
    show=_show_expect,
    exit_code=lambda rows: NOT_MET if not_met(rows) else 0,
    tells_age=True,
)


def _show_coverage(rows: Sequence[Mapping[str, Any]], asked: Asked) -> None:
    console = open_console()
    print_answer(console, RULES.with_title(f"{RULES.title}, {format_instant(asked.as_of)}"), rows)
    for row in rows:
        if row["candidates"]:
            rules = format_list([f"{each['rule_name']} ({each['level']})" for each in row["candidates"]])
            database = format_database((row["instance"], row["database"]))
            console.print(
                escape_line(
                    f"{database}: the server's levels may come from {rules}, if these rules were there when "
                    "the endpoints were created."
                ),
                soft_wrap=True,
            )


COVERAGE = Question(
    "coverage",
    "Count what each rule version decides: endpoints, conversations, messages.",
    example="--config conf/local.yaml --as-of 2026-11-21T00:00:00Z",
    answer=lambda asked: report_coverage(asked.warehouse, asked.as_of),
    plain=lambda rows, asked: {"as_of": asked.as_of, "coverage": rows},
    show=_show_coverage,
)


def _add_leaks_options(parser: Parser) -> None:
    parser.add_argument(
        "--days",
        type=whole_number(1, CENTURY_DAYS),
        default=DAYS,
        help=f"days without traffic (default {DAYS})",
    )
    parser.add_argument(
        "--grace",
        type=duration(0),
        default=GRACE.total_seconds(),
        help="how long an application may take to end its side, such as '30 min' (default 1 h)",
    )
    parser.add_argument(
        "--script",
        type=Path,
        metavar="FILE",
        help="also write T-SQL that ends them; each statement checks again when it runs",
    )


def _answer_leaks(asked: Asked) -> dict[str, Any]:
    options = asked.options
    since = {"as_of": asked.as_of, "days": options.days, "grace": timedelta(seconds=options.grace)}
    if options.script is not None:
        file = plain_file(options.script)
        require_not_read(file, asked.settings)
        rows = read_known_leaks(asked.warehouse, **since)
        write_whole("".join(script_lines(rows, queue_schemas(asked.settings.snapshots))), file)
    return report_leaks(asked.warehouse, **since, limit=options.limit)


def _show_leaks(answer: dict[str, Any], asked: Asked) -> None:
    options = asked.options
    print_leaks(answer, wide=options.wide)
    if answer["endpoints"] and options.script is None:
        days = [] if options.days == DAYS else ["--days", str(options.days)]
        grace = [] if options.grace == GRACE.total_seconds() else ["--grace", f"{options.grace:.0f} s"]
        words = [*days, *grace, "--script", "leaks.sql", "--as-of", format_instant(asked.as_of)]
        script = command_line("leaks", *words)
        open_console().write_line(f"T-SQL that looks at each endpoint again, and then ends it: {script}")


LEAKS = Question(
    "leaks",
    "Say which conversations are never ended: the far side has ended, or nothing came for days.",
    example="--config conf/local.yaml --days 30 --as-of 2026-11-21T00:00:00Z",
    options=_add_leaks_options,
    limit=(20, "rows of each part"),
    has_wide=True,
    answer=_answer_leaks,
    show=_show_leaks,
    tells_age=True,
)


def _answer_differences(asked: Asked) -> Any:
    require_snapshots(asked.settings)
    return report_differences(asked.warehouse, asked.settings, as_of=asked.as_of, limit=asked.options.limit)


DIFFERENCES = Question(
    "differences",
    "Say how snapshots of a server differ from rules, catalog and ledger.",
    example="--config conf/capture.yaml",
    limit=(50, "rows of changes, and of levels"),
    answer=_answer_differences,
    show=lambda answer, asked: print_differences(answer),
)


def _add_changes_options(parser: Parser) -> None:
    parser.add_argument(
        "--since",
        type=instant,
        metavar="T",
        help="the earlier as_of: the greatest that was published up to this moment (default: up to --as-of)",
    )


def _answer_changes(asked: Asked) -> Any:
    require_findings(asked.warehouse, asked.settings, asked.as_of)
    since = find_since(asked.warehouse, asked.settings, asked.options.since, asked.as_of)
    return read_changes(asked.warehouse, asked.settings, since, asked.as_of)


CHANGES = Question(
    "changes",
    "Say what changed since an earlier as_of: rules, catalog, conversations, waits and findings.",
    example="--config conf/local.yaml --as-of 2026-11-24T07:30:00Z",
    options=_add_changes_options,
    answer=_answer_changes,
    show=lambda answer, asked: print_changes(answer),
)


def ask_rejected(argv: Sequence[str]) -> int:
    """Parse the command line, and print the reasons; nothing is written, and nothing need be published."""
    parser = Parser(
        "rejected",
        "List why rows of the inputs were rejected, the most frequent reason first.",
        example="--config conf/local.yaml --limit 3",
    )
    parser.add_limit(3, "rows of each reason")
    parser.add_format()
    parser.add_wide()
    options = parser.parse_args(argv)
    _, warehouse = opened(options, "rejected")
    checked_runs(warehouse)
    found = report_rejected(warehouse, limit=options.limit)
    if options.format == "json":
        print(to_json(found))
    else:
        print_rejected(found, wide=options.wide)
    return 0


COMMANDS: Mapping[str, Callable[[Sequence[str]], int]] = {
    **{each.name: each for each in (NEXT, WAITING, EXPECT, COVERAGE, LEAKS, DIFFERENCES, CHANGES)},
    "rejected": ask_rejected,
}
"""The commands of this module by their names."""
