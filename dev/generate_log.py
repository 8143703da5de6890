"""Write a made-up event log with its catalog, rules and settings: the sample, or one of any size.

Everything follows from the options: the same ones give the same files on every machine, byte by byte. (With
format delta, Delta's own log holds the time of writing.)

    python -m dev.generate_log --preset sample --out samples/generated
    python -m dev.generate_log --messages 15000000 --format parquet --out build/log

With `--history daily` the log is in one folder per night, `night=YYYY-MM-DD/endpoint_events` and so on, with
what came in that night. The settings name folders beside them, which are empty: copy a night's files there,
run the nightly job as of the end of that day, copy the next ones. File names don't repeat.
"""

import argparse
import shutil
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml
from deltalake import convert_to_deltalake

from dev.generator import presets, synthetic
from dev.generator.files import FORMATS, name, write
from dev.generator.log import pieces
from dev.generator.plan import Plan, Volume
from dev.generator.world import World
from pipelines.commands.launch import launch
from pipelines.commands.options import Parser, instant, whole_number
from pipelines.config.errors import ConfigError
from schemas.events import CONTRACTS

MESSAGES_PER_FILE = 250_000
SAMPLE_MESSAGES = 20_000
PIECES = ".pieces"
"""Where files are until all are there."""
MARK = ".generate_log"
"""In a folder that this job wrote, and so may write again."""
MOST_DAYS = 3_660
FIRST_YEAR, LAST_YEAR = 1900, 9998
"""The contract of the inputs rejects events of other years."""

WORLD = ("instances", "services", "kinds", "rules")
"""The options that say how large a world by number is: `synthetic.Size`."""

DOCUMENTATION = {
    "path": "documentation.sql",
    "instance": "DOC1",
    "effective_from": "2026-01-01T00:00:00Z",
}
"""The rules of the documentation's example; conf/local.yaml reads the same file."""
SETTINGS_FILES = ("catalog.yaml", "rules.yaml", "settings.yaml", DOCUMENTATION["path"])


def main(argv: Sequence[str]) -> int:
    """Parse the command line and write the log."""
    parser = _parser()
    options = parser.parse_args(argv)
    first, end = (datetime(year, 1, 1, tzinfo=UTC) for year in (FIRST_YEAR, LAST_YEAR + 1))
    if not first <= options.start <= end - timedelta(days=options.days):
        parser.error(f"argument --start: the log must lie in the years {FIRST_YEAR} to {LAST_YEAR}")
    is_sample = options.preset == "sample"
    given = [name for name in WORLD if getattr(options, name) is not None]
    if is_sample and given:
        parser.error(f"argument --{given[0].replace('_', '-')}: not with --preset, whose company is fixed")
    plan = _sample(options) if is_sample else _numbered(options)
    run(plan, options.out, format=options.format, daily=options.history == "daily")
    if is_sample:
        _add_documentation(options.out)
    return 0


def run(plan: Plan, out: Path, *, format: str, daily: bool) -> None:
    """Write the log of a plan; what an earlier run left at `out` under the same names goes.

    Args:
        plan: what to write.
        out: the folder.
        format: json, csv, parquet or delta.
        daily: one folder per night.

    Raises:
        ConfigError: the folder can't be written, or holds such files that this command did not write.
    """
    try:
        _clear(out)
    except OSError as error:
        raise ConfigError(f"--out {out}: {error.strerror}; name a folder that can be written") from error
    for piece in pieces(plan, daily=daily):
        write(piece, out / PIECES, format=format)
    name(out / PIECES, out, format=format, daily=daily)
    if format == "delta":
        for folder in sorted({file.parent for file in out.rglob("*.parquet")}):
            # Its statistics would cut times to milliseconds, and a reader may pass over a file for that.
            convert_to_deltalake(folder, collect_stats=False)
    _write_settings(plan.world, out, format=format)


def _write_settings(world: World, out: Path, *, format: str) -> None:
    """Write the catalog, the rules and the settings that read the log."""
    (out / "catalog.yaml").write_text(world.catalog, encoding="utf-8")
    (out / "rules.yaml").write_text(world.rules, encoding="utf-8")
    settings: dict[str, Any] = {
        "warehouse": "warehouse",
        "inputs": {source: {"path": source, "format": format} for source in CONTRACTS},
        "catalog": "catalog.yaml",
        "rules": [{"path": "rules.yaml"}],
    }
    (out / "settings.yaml").write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")


def _clear(out: Path) -> None:
    """Make the folder, and remove what an earlier run of this job left in it; other files stay.

    Raises:
        ConfigError: what would go is not of this job.
    """
    out.mkdir(parents=True, exist_ok=True)
    folders = [*(out / source for source in CONTRACTS), out / PIECES, *sorted(out.glob("night=*"))]
    own = [path for path in (*folders, *(out / file for file in SETTINGS_FILES)) if path.exists()]
    if own and not (out / MARK).exists():
        raise ConfigError(
            f"--out {out}: {own[0].name} is there and was not written by this job, which would replace it; "
            "name another folder"
        )
    (out / MARK).write_text(
        "Written by python -m dev.generate_log, which replaces its files.\n", encoding="utf-8"
    )
    for path in folders:
        shutil.rmtree(path, ignore_errors=True)


def _sample(options: argparse.Namespace) -> Plan:
    """The plan of the sample."""
    return presets.sample(_volume(options, messages=SAMPLE_MESSAGES, errors=0.006, backlog=0.12, parts=4))


def _numbered(options: argparse.Namespace) -> Plan:
    """The plan of a world by number."""
    given: dict[str, Any] = {name: getattr(options, name) for name in WORLD}
    size = synthetic.Size(**{name: value for name, value in given.items() if value is not None})
    return presets.numbered(_volume(options, messages=100_000, errors=0.001, backlog=0.05, parts=None), size)


def _volume(
    options: argparse.Namespace, *, messages: int, errors: float, backlog: float, parts: int | None
) -> Volume:
    """How much, with the preset's values where the command line has none."""
    wanted = options.messages or messages
    return Volume(
        messages=wanted,
        start=options.start,
        days=options.days,
        parts=options.files or parts or -(-wanted // MESSAGES_PER_FILE),
        seed=options.seed,
        skew=options.skew,
        backlog=backlog if options.backlog is None else options.backlog,
        errors=errors if options.errors is None else options.errors,
    )


def _add_documentation(out: Path) -> None:
    """Add the documentation's example, which is kept by hand, to the sample: events and rules."""
    for source in CONTRACTS:
        events = presets.SAMPLE / "documentation" / f"{source}.jsonl"
        shutil.copyfile(events, out / source / "documentation.jsonl")
    shutil.copyfile(presets.SAMPLE / DOCUMENTATION["path"], out / DOCUMENTATION["path"])
    settings_file = out / "settings.yaml"
    settings = yaml.safe_load(settings_file.read_text(encoding="utf-8"))
    settings["rules"].insert(0, DOCUMENTATION)
    settings_file.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")


def _parser() -> Parser:
    parser = Parser(
        "generate-log",
        "Write a made-up event log with its catalog, rules and settings.",
        example="--messages 100000 --format parquet --out build/log",
        config=False,
        program="python -m dev.generate_log",
    )
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        help="folder to write to; what this job wrote there before is replaced",
    )
    parser.add_argument(
        "--preset", choices=["sample"], help="the sample: a small company's day before 2026-11-21"
    )
    parser.add_argument(
        "--messages", type=whole_number(1), help="messages sent (default 100000; sample 20000)"
    )
    parser.add_argument("--instances", type=whole_number(1), help="instances (default 4)")
    parser.add_argument("--services", type=whole_number(3), help="services (default 400)")
    parser.add_argument("--rules", type=whole_number(0), help="priority rules per database (default 200)")
    parser.add_argument(
        "--kinds",
        type=whole_number(2),
        help="distinct (contract, initiator, target service) (default 3000)",
    )
    parser.add_argument("--days", type=whole_number(1, MOST_DAYS), default=1, help="days (default 1)")
    parser.add_argument(
        "--start", type=instant, default=instant("2026-11-20"), help="first day (default 2026-11-20)"
    )
    parser.add_argument(
        "--skew", type=_number(0, 10), default=1.1, help="zipf exponent of the kinds (default 1.1)"
    )
    parser.add_argument(
        "--backlog", type=_share, help="share not received at the end (default 0.05; sample 0.12)"
    )
    parser.add_argument(
        "--errors",
        type=_share,
        help="share of faulty events: repeated, late, displaced, bad (default 0.001; sample 0.006)",
    )
    parser.add_argument(
        "--format", choices=list(FORMATS), default="json", help="format of the log (default json)"
    )
    parser.add_argument(
        "--files", type=whole_number(1), help="files per input (default one per 250000 messages)"
    )
    parser.add_argument("--seed", type=int, default=1, help="another seed gives another log (default 1)")
    parser.add_argument(
        "--history", choices=["single", "daily"], default="single", help="daily: a folder per night"
    )
    return parser


def _number(least: float, most: float) -> Callable[[str], float]:
    def number(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number from {least:g} to {most:g}")
        return value

    return number


_share = _number(0, 1)


if __name__ == "__main__":
    launch(main, sys.argv[1:])
