"""Check what a run needs before one is started: settings, inputs, engine, Java, memory, disk."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.commands.options import Parser, find_settings
from pipelines.config.errors import ConfigError, InputError, PipelineError
from pipelines.config.instants import format_instant
from pipelines.config.log_mapping import BUILT_IN, mapping_path
from pipelines.config.model import EventSource, LogSource
from pipelines.config.nearest import nearest
from pipelines.config.queue_filter import queue_text
from pipelines.console.invocation import is_under_spark_submit
from pipelines.console.terminal import escape_line
from pipelines.console.wording import format_count
from pipelines.engine.environment import check_environment, installed_clients, memory, require_engine
from pipelines.server.snapshots.server import CapturedSnapshot
from pipelines.settings.load import Settings, load_settings

if TYPE_CHECKING:
    from pipelines.storage.inputs.log_rows import LogReading
    from pipelines.storage.inputs.mapped_rows import SourceMapping

OK, WARNED, FAILED, SKIPPED = "ok", "warn", "ERROR", "-"
Line = tuple[str, str, str]
"""What was looked at, how that went, and what was found."""
JAVA_WITHIN = 20
"""Seconds in which Java has said its version."""
GIB = 1 << 30


class _Report:
    """Prints a line for each thing that was looked at; the first failure decides the exit code."""

    def __init__(self) -> None:
        self.exit_code = 0

    def add(self, subject: str, look: Callable[[], Iterable[str]], *, needed: bool = True) -> bool:
        """Look, print what was found or what is wrong, and return whether that went well."""
        if not needed:
            self._print(subject, SKIPPED, "not looked at, because of the above")
            return False
        try:
            for found in look():
                self._print(subject, OK, found)
        except PipelineError as error:
            for problem in error.problems:
                self._print(subject, FAILED, problem)
            self.exit_code = self.exit_code or error.exit_code
            return False
        return True

    def warn(self, subject: str, warnings: Iterable[str]) -> None:
        """Print what may be wrong; the exit code stays."""
        for warning in warnings:
            self._print(subject, WARNED, warning)

    def _print(self, subject: str, state: str, found: str) -> None:
        print(escape_line(f"{subject:9} {state:5} {found}"))


def main(argv: Sequence[str]) -> int:
    """Parse the command line, look, and print a line for each thing; nothing is written.

    An engine starts only for a source with a mapping, to show what its rows become.
    """
    parser = Parser(
        "check",
        "Check what a run needs: settings, catalog, rules, the columns of every input, engine, Java, "
        "memory, disk.",
        example="--config conf/local.yaml",
        config=False,
    )
    parser.add_config()
    parser.add_argument(
        "--mapping", choices=BUILT_IN, metavar="NAME", help="print a built-in mapping of logs, and no more"
    )
    options = parser.parse_args(argv)
    if options.mapping:
        print(Path(mapping_path(options.mapping)).read_text(encoding="utf-8"), end="")
        return 0
    report, loaded = _Report(), list[Settings]()

    def load() -> Iterator[str]:
        loaded.append(load_settings(find_settings(options.config)))
        yield loaded[0].path

    is_loaded = report.add("settings", load)
    report.add("catalog", lambda: _catalog(loaded[0]), needed=is_loaded)
    report.add("rules", lambda: _rules(loaded[0]), needed=is_loaded)
    if is_loaded and loaded[0].expect:
        report.add("expect", lambda: [format_count(len(loaded[0].expect), "expectation")])
        report.warn("expect", _unknown_names(loaded[0]))
    report.add("engine", _engine)
    # The rest of the storage room needs the packages of an engine.
    is_readable = is_loaded and installed_clients() is not None
    report.add("inputs", lambda: _inputs(loaded[0]), needed=is_readable)
    report.add("java", _java)
    report.add("memory", _memory)
    report.add("disk", lambda: _disk(loaded[0]), needed=is_readable)
    return report.exit_code


def _catalog(settings: Settings) -> Iterator[str]:
    catalog = settings.catalog
    databases, queues = [*catalog.database_rows()], [*catalog.queue_rows()]
    services = [*catalog.service_bindings()]
    yield (
        f"{settings.catalog_path or 'from snapshots'}: {format_count(len(catalog.instances), 'instance')}, "
        f"{format_count(len(databases), 'database')}, {format_count(len(queues), 'queue')}, "
        f"{format_count(len(services), 'service')}"
    )


def _rules(settings: Settings) -> Iterator[str]:
    statements = sum(len(file.statements) for file in settings.rule_files)
    yield f"{format_count(len(settings.rule_files), 'file')}, {format_count(statements, 'statement')}"


def _unknown_names(settings: Settings) -> Iterator[str]:
    """Contracts and services of expectations that nothing has: catalog, rules or endpoints."""
    from pipelines.storage.endpoint_names import CONTRACT, SERVICE, find_endpoint_names

    rules = settings.rule_history
    services = {row[2] for row in settings.catalog.service_bindings()}
    services |= {name for rule in rules for name in (rule.local_service, rule.remote_service) if name}
    known = {CONTRACT: {rule.contract for rule in rules if rule.contract}, SERVICE: services}
    columns = {"contract": CONTRACT, "service": SERVICE, "remote_service": SERVICE}
    unknown = {
        (number, key): (name, of)
        for number, each in enumerate(settings.expect)
        for key, of in columns.items()
        if (name := getattr(each.entry, key)) is not None and name not in known[of]
    }
    there = find_endpoint_names(str(settings.warehouse), unknown.values()) if unknown else set()
    for (number, key), (name, of) in unknown.items():
        if (name, of) not in there:
            close = nearest(name, sorted(known[of]))
            hint = f"; did you mean {close!r}?" if close else ""
            yield f"expect[{number}].{key}: catalog, rules and endpoints have no {name!r}{hint}"


def _inputs(settings: Settings) -> Iterator[str]:
    from pipelines.storage.inputs.columns import compare_columns
    from pipelines.storage.inputs.log_rows import LogReading, compare_log
    from pipelines.storage.inputs.mapped_rows import mapping_of
    from schemas import CONTRACTS
    from schemas.events import table_of

    problems: list[str] = []
    for name, given in settings.inputs.by_name().items():
        mapping, log = None, None
        try:
            if isinstance(given, LogSource):
                log = LogReading(name, given, settings.log_names)
                files, differences = compare_log(log)
            else:
                mapping = mapping_of(name, given)
                contract = CONTRACTS[table_of(name)] if mapping is None else mapping.taken
                files, differences = compare_columns(contract, given)
        except FileNotFoundError:
            problems.append(f"inputs.{name}: {given.path} is not there; make that folder, or name another")
            continue
        except PipelineError as error:
            problems += error.problems
            continue
        problems += differences
        if not differences:
            fitting = "contract" if mapping is None and log is None else "mapping"
            found = (
                f"{format_count(files, 'file')} with the columns of the {fitting}" if files else "no file yet"
            )
            yield f"{name}: {found} ({given.format}, {given.path})"
            if mapping is not None and isinstance(given, EventSource):
                yield from _mapped(mapping, given, settings, has_files=files > 0)
            if log is not None and files:
                yield from _logged(log, settings)
    for snapshot in settings.snapshots:
        declared = snapshot.declared
        views = format_count(len(snapshot.files), "view")
        is_known = isinstance(declared, CapturedSnapshot) and not snapshot.files
        yield (
            f"snapshot of {queue_text(snapshot.database_key)} at {format_instant(declared.taken_at)}: "
            f"{'a capture that was taken' if is_known else views}"
        )
    InputError.raise_any(problems)


def _mapped(
    mapping: "SourceMapping", given: EventSource, settings: Settings, *, has_files: bool
) -> Iterator[str]:
    """What a mapping leaves out, and what the first rows become."""
    if left := [name for name in mapping.contract.names if name not in (*mapping.columns, *mapping.made)]:
        yield f"{mapping.source}: null, as nothing gives it: {', '.join(left)}"
    if not has_files:
        return
    from pipelines.engine.session import open_session
    from pipelines.ingest.first_rows import read_first_rows

    rows = read_first_rows(open_session("check"), mapping, given, settings)
    if not rows:
        cause = "where keeps no row of the first file" if mapping.where else "the first file has no rows"
        yield f"{mapping.source}: {cause}"
    for number, row in enumerate(rows, start=1):
        yield f"{mapping.source}: row {number}: {row}"


def _logged(log: "LogReading", settings: Settings) -> Iterator[str]:
    """What the first rows of a log become."""
    from pipelines.engine.session import open_session
    from pipelines.ingest.first_rows import read_first_log_rows

    for said in read_first_log_rows(open_session("check"), log, settings):
        yield f"{log.source}: {said}"


def _engine() -> Iterator[str]:
    require_engine()
    if is_under_spark_submit():
        yield "Apache Spark"
    elif "SPARK_REMOTE" in os.environ:
        yield "the Spark Connect server of SPARK_REMOTE (it was not asked)"
    else:
        yield "the embedded engine"


def _java() -> Iterator[str]:
    if not is_under_spark_submit():
        yield "not needed: only Apache Spark does"
        return
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin" if home else None)
    if java is None:
        raise ConfigError("no java found; install Java 17 or newer, or set JAVA_HOME")
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=JAVA_WITHIN)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(
            f"{java} does not say its version ({error}); set JAVA_HOME to another Java"
        ) from error
    yield (said.stderr or said.stdout).partition("\n")[0]


def _memory() -> Iterator[str]:
    check_environment()
    yield f"the engine may use {memory() / GIB:.1f} GiB"


def _disk(settings: Settings) -> Iterator[str]:
    from pipelines.engine.session import require_engine_of
    from pipelines.storage.inputs.paths import local_path

    require_engine_of(settings.warehouse)
    folder = local_path(settings.warehouse) if isinstance(settings.warehouse, str) else None
    if folder is None:
        yield f"{settings.warehouse} is not on this disk"
        return
    place = Path(folder)
    while not place.exists():
        place = place.parent
    if not os.access(place, os.W_OK):
        raise ConfigError(f"{place} can't be written, where the warehouse would be; name another folder")
    yield f"{shutil.disk_usage(place).free / GIB:.1f} GiB are free where the warehouse is, in {place}"
