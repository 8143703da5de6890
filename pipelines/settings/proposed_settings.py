"""A whole settings file as a proposal: what of it may differ from the current one."""

import os
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import replace
from urllib.parse import unquote, urlsplit

from pipelines.config.catalog import Catalog
from pipelines.config.errors import ConfigError
from pipelines.config.model import Snapshot
from pipelines.config.queue_filter import queue_text
from pipelines.rules.statements import RuleFile, RuleStatement, SourceLocation
from pipelines.server.snapshots.missing_names import find_missing_names
from pipelines.settings.load import KNOWN_ONLY, Settings, load_for_lint
from pipelines.settings.proposal import Proposal, count_replaced

MAY_DIFFER = (
    "a proposal may change rules, honor_broker_priority, receive.top, transmission.starvation and "
    "transmission.blocks only"
)
Named = Mapping[tuple[str, ...], str]
"""The facts about each item, by its name."""
OF_CATALOG: Mapping[str, Callable[[Catalog], Named]] = {
    "instance": lambda catalog: {(instance.name,): "" for instance in catalog.instances},
    "database": lambda catalog: {row[:2]: "" for row in catalog.database_rows()},
    "service": lambda catalog: {row[:3]: f"is bound to queue {row[3]}" for row in catalog.service_bindings()},
    "queue": lambda catalog: {row[:3]: f"is {'on' if row[3] else 'off'}" for row in catalog.queue_rows()},
}
"""What a catalog has, with the larger things first."""


def read_proposed_settings(current: Settings, path: str) -> Proposal:
    """Read a settings file whose rules, honor flags, receive and transmission are proposed.

    Its activation, quality and replay are not looked at.

    Raises:
        ConfigError: the file is wrong, or differs in what a proposal can't change, or a new statement has a
            name that its database lacks: one line each.
    """
    settings, folded = load_for_lint(path, KNOWN_ONLY)
    folded.require_accepted()
    ConfigError.raise_any(f"{path}: {each}; {MAY_DIFFER}" for each in _differences(current, settings))
    missing = find_missing_names(_new_files(current, settings), current.snapshots, are_later=False)
    ConfigError.raise_any(map(str, missing))
    return Proposal(settings, folded, count_replaced(current, settings.rule_files))


def _new_files(current: Settings, proposed: Settings) -> Iterator[RuleFile]:
    """The proposed rule files, with the statements that the current settings do not have."""
    stated = {_said(each) for file in current.rule_files for each in file.statements}
    for file in proposed.rule_files:
        yield replace(file, statements=tuple(each for each in file.statements if _said(each) not in stated))


def _said(statement: RuleStatement) -> RuleStatement:
    """A statement without its place."""
    return replace(statement, location=SourceLocation("", 0, 0))


def _differences(current: Settings, proposed: Settings) -> Iterator[str]:
    yield from _compare("the warehouse", _warehouse(current), _warehouse(proposed), current.path)
    yield from _compare("the input", _inputs(current), _inputs(proposed), current.path)
    yield from _compare("the snapshot", _snapshots(current), _snapshots(proposed), current.path)
    where = current.catalog_path or current.path
    shared: set[tuple[str, ...]] = {()}
    for what, of in OF_CATALOG.items():
        ours, theirs = (_within(of(each.catalog), shared) for each in (current, proposed))
        yield from _compare(f"the {what}", ours, theirs, where, queue_text)
        if what in ("instance", "database"):
            shared = set(ours.keys() & theirs.keys())


def _within(named: Named, places: Set[tuple[str, ...]]) -> Named:
    """Those in places that both sides have: what a missing place would hold needs no line of its own."""
    return {name: said for name, said in named.items() if any(name[: len(each)] == each for each in places)}


def _compare(
    what: str,
    ours: Named,
    theirs: Named,
    where: str,
    write: Callable[[tuple[str, ...]], str] = ".".join,
) -> Iterator[str]:
    """Yield what the proposal has otherwise; `write` makes one text of the parts of a name."""
    for name in sorted(ours.keys() | theirs.keys()):
        called = " ".join(filter(None, (what, write(name))))
        if name not in ours:
            yield f"{called} is not in {where}"
        elif name not in theirs:
            yield f"{called} is missing, {where} has it"
        elif ours[name] != theirs[name]:
            yield f"{called} {theirs[name]}, in {where} it {ours[name]}"


def _warehouse(settings: Settings) -> Named:
    place = settings.warehouse
    return {(): f"is {_resolved(place) if isinstance(place, str) else place}"}


def _inputs(settings: Settings) -> Named:
    return {
        (name,): f"reads {_resolved(source.path)} ({source.format})"
        for name, source in settings.inputs.by_name().items()
    }


def _snapshots(settings: Settings) -> Named:
    return {
        (each.instance, each.database, each.taken_at.isoformat())
        if isinstance(each, Snapshot)
        else (_resolved(each.path),): (
            f"reads {_resolved(each.path)} ({each.format}), complete: "
            f"{', '.join(sorted(each.complete)) or 'nothing'}"
        )
        if isinstance(each, Snapshot)
        else f"reads captures of {each.instance or 'the servers that they name'}"
        + (f" without {', '.join(sorted(each.leave_out))}" if each.leave_out else "")
        for each in settings.snapshot_entries
    }


def _resolved(path: str) -> str:
    """A path without links, or the URI of what is not on the local disk."""
    uri = urlsplit(path)
    if uri.scheme == "file":
        return os.path.realpath(unquote(uri.path))
    return path.rstrip("/") if uri.scheme and "://" in path else os.path.realpath(path)
