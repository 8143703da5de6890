"""Write a made-up event log with its catalog, rules and settings: the sample, or one of any size.

Everything follows from the options: with format json or csv the same ones give the same bytes on every
machine. With parquet it is the same rows in the same order in the same files (a footer lists a column's
encodings in any order), with delta as well (and Delta's own log holds the time of writing).

    ./spark-submit.sh jobs/generate_log.py --preset sample --out samples/generated
    ./spark-submit.sh jobs/generate_log.py --messages 15000000 --format parquet --out build/log \
      --spark --driver-java-options -XX:-DontCompileHugeMethods

The last option halves the time of big logs: without it, the JVM leaves long generated methods uncompiled.

With `--history daily` the log is in one folder per night, `night=YYYY-MM-DD/endpoint_events` and so on, with
what came in that night. The settings name folders beside them, which are empty: copy a night's files there,
run the nightly job as of the end of that day, copy the next ones. File names don't repeat.
"""

import argparse
import dataclasses
import shutil
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import yaml
from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from jobs.launch import Parser, instant, launch, session, whole_number
from jobs.log_files import FORMATS, name, write
from pipelines.generate import company, conversations, events, faults, messages, readers, synthetic
from pipelines.generate.conversations import HOT_EVERY
from pipelines.generate.draws import Draws
from pipelines.generate.plan import Plan, Volume
from pipelines.generate.rulebook import Statement
from pipelines.generate.world import READER_STRUCT, SLOT_STRUCT, World, slot_rows
from schemas.events import CONTRACTS

PROJECT = Path(__file__).resolve().parent.parent
MESSAGES_PER_FILE = 250_000
SAMPLE_MESSAGES = 20_000
DOCUMENTATION = {
    "path": "documentation.sql",
    "instance": "DOC1",
    "effective_from": "2026-01-01T00:00:00Z",
}
"""The rules of the documentation's example; conf/local.yaml reads the same file."""

NEVER_NULL = {"endpoint_events": "conversation_id", "message_events": "message_id", "queue_events": "queue"}
"""The column that is null in half of an input's bad rows."""


def main(argv: Sequence[str]) -> int:
    """Parse the command line and write the log."""
    options = _parser().parse_args(argv)
    world, volume = _sample(options) if options.preset == "sample" else _numbered(options)
    run(
        session("generate log", None),
        Plan(world, volume),
        options.out,
        format=options.format,
        daily=options.history == "daily",
    )
    if options.preset == "sample":
        _add_documentation(options.out)
    return 0


def run(spark: SparkSession, plan: Plan, out: Path, *, format: str, daily: bool) -> None:
    """Write the log of a plan; what an earlier run left at `out` under the same names goes.

    Args:
        spark: the session.
        plan: what to write.
        out: the folder, which every worker sees under this path.
        format: json, csv, parquet or delta.
        daily: one folder per night.
    """
    _clear(out)
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    for source, frame in sources(spark, plan).items():
        frame = faults.with_faults(frame, plan=plan, required=NEVER_NULL[source])
        frame = frame.withColumn("slice", faults.slice_of(plan, daily=daily))
        # One order for all formats: a task's rows may otherwise come in another order with more memory.
        frame = frame.sortWithinPartitions("slice", "place", "event_id", "event_type")
        partial = out / f".{source}"
        write(frame, source, partial, format=format)
        name(partial, out, source, format=format, daily=daily)
    if format == "delta":
        for folder in sorted({file.parent for file in out.rglob("*.parquet")}):
            DeltaTable.convertToDelta(spark, f"parquet.`{folder}`")
    _write_settings(plan.world, out, format=format)


def sources(spark: SparkSession, plan: Plan) -> dict[str, DataFrame]:
    """The events without faults, by input. Partitions are slices of the conversations, whatever the cores."""
    volume = plan.volume
    ids = spark.range(0, plan.conversations, 1, volume.parts)
    slots = spark.createDataFrame(slot_rows(plan.world), SLOT_STRUCT)
    queues = spark.createDataFrame(list(plan.world.readers), READER_STRUCT).coalesce(1)
    talks = conversations.conversations(ids, slots, plan=plan)
    sent = messages.messages(talks, plan=plan)
    received = events.queue_events(sent, plan=plan)
    return {
        "endpoint_events": events.endpoint_events(talks, plan=plan),
        "message_events": events.message_events(sent, plan=plan),
        "queue_events": received.unionByName(readers.reader_events(queues, plan=plan)),
    }


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
    """Make the folder, and remove what an earlier run of this job left in it."""
    out.mkdir(parents=True, exist_ok=True)
    for path in [
        *(out / source for source in CONTRACTS),
        *(out / f".{source}" for source in CONTRACTS),
        *out.glob("night=*"),
    ]:
        shutil.rmtree(path, ignore_errors=True)


def _sample(options: argparse.Namespace) -> tuple[World, Volume]:
    """The sample's world: the company, with the catalog and rules of conf/."""
    volume = _volume(options, messages=SAMPLE_MESSAGES, errors=0.006, backlog=0.12, parts=4)
    volume = dataclasses.replace(volume, tail=timedelta(minutes=10), delivered_logged=0.97, autocommit=0.1)
    catalog_file = PROJECT / "conf" / "catalog.yaml"
    rules_text = (PROJECT / "conf" / "rules" / "company.yaml").read_text(encoding="utf-8")
    catalog_text = catalog_file.read_text(encoding="utf-8")
    statements = _statements(yaml.safe_load(rules_text))
    world = company.world(
        yaml.safe_load(catalog_text),
        statements,
        texts=(catalog_text, rules_text),
        start=volume.start,
    )
    return world, volume


def _statements(rules: list[dict[str, Any]]) -> list[Statement]:
    """The CREATE statements of a rule file's data."""
    return [
        Statement(
            str(rule["effective_from"]),
            rule["instance"],
            rule["database"],
            "create",
            rule["create"]["name"],
            rule["create"],
        )
        for rule in rules
        if "create" in rule
    ]


def _numbered(options: argparse.Namespace) -> tuple[World, Volume]:
    """A world by number."""
    volume = _volume(options, messages=100_000, errors=0.001, backlog=0.05, parts=None)
    skewed = max(volume.queue_skew, volume.group_skew) > 0
    size = synthetic.Size(
        instances=options.instances,
        services=options.services,
        kinds=options.kinds,
        rules=options.rules,
        same_level=options.same_level,
        hot=min(HOT_EVERY, options.kinds) if skewed else 0,
    )
    world = synthetic.world(size, draws=Draws(options.seed), start=volume.start, days=volume.days)
    return world, volume


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
        queue_skew=options.queue_skew,
        group_skew=options.group_skew,
        backlog=backlog if options.backlog is None else options.backlog,
        errors=errors if options.errors is None else options.errors,
    )


def _add_documentation(out: Path) -> None:
    """Add the documentation's example, which is kept by hand, to the sample: events and rules."""
    for source in CONTRACTS:
        shutil.copyfile(
            PROJECT / "samples" / "documentation" / f"{source}.jsonl", out / source / "documentation.jsonl"
        )
    shutil.copyfile(PROJECT / "conf" / "rules" / DOCUMENTATION["path"], out / DOCUMENTATION["path"])
    settings_file = out / "settings.yaml"
    settings = yaml.safe_load(settings_file.read_text(encoding="utf-8"))
    settings["rules"].insert(0, DOCUMENTATION)
    settings_file.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")


def _parser() -> Parser:
    parser = Parser("Write a made-up event log with its catalog, rules and settings.")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    parser.add_argument(
        "--preset", choices=["sample"], help="the sample: a small company's day before 2026-11-21"
    )
    parser.add_argument(
        "--messages", type=whole_number(1), help="messages sent (default 100000; sample 20000)"
    )
    parser.add_argument("--instances", type=whole_number(1), default=4, help="instances (default 4)")
    parser.add_argument("--services", type=whole_number(3), default=400, help="services (default 400)")
    parser.add_argument(
        "--rules", type=whole_number(0), default=200, help="priority rules per database (default 200)"
    )
    parser.add_argument(
        "--same-level",
        type=_share,
        default=0.0,
        help="share of the rules whose level is 5, which is that of endpoints without a rule too",
    )
    parser.add_argument(
        "--kinds",
        type=whole_number(2),
        default=3_000,
        help="distinct (contract, initiator, target service) (default 3000)",
    )
    parser.add_argument("--days", type=whole_number(1), default=1, help="days (default 1)")
    parser.add_argument(
        "--start", type=instant, default=instant("2026-11-20"), help="first day (default 2026-11-20)"
    )
    parser.add_argument(
        "--skew", type=_number(0, 10), default=1.1, help="zipf exponent of the kinds (default 1.1)"
    )
    parser.add_argument(
        "--queue-skew", type=_share, default=0.0, help="share of the messages that go to one queue"
    )
    parser.add_argument(
        "--group-skew", type=_share, default=0.0, help="share that is in one group of that queue"
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
    launch(main)
