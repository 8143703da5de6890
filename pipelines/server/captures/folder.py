"""The captures of the settings: which files are there, which of them are new, and what is wrong with them."""

import logging
import os
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import TypeAlias
from uuid import uuid4

from pyarrow import fs

from pipelines.config.clocks import ShownClock
from pipelines.config.instants import format_instant
from pipelines.config.model import Captures
from pipelines.config.queue_filter import queue_text
from pipelines.server.captures.capture import read_capture
from pipelines.server.captures.databases import snapshots_of
from pipelines.server.captures.faults import (
    CaptureError,
    CaptureFault,
    describe_fault,
    raise_faults,
    short_path,
)
from pipelines.server.captures.known import (
    KnownCapture,
    KnownDatabase,
    find_moments_of_partners,
    hash_catalog,
    snapshots_of_known,
)
from pipelines.server.captures.rows import CapturedRows
from pipelines.server.snapshots.places import Place
from pipelines.server.snapshots.server import ServerSnapshot, in_order
from pipelines.server.snapshots.view_file import ViewFile, changed_at, file_system

ENDINGS = (".json", ".jsonl", ".ndjson", ".txt", ".csv", ".rpt", ".log", ".out")
PACKED = ".gz"
HIDDEN = (".", "_")
DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
"""A subfolder that is read with its folder: a day of `priorities capture --every`."""
log = logging.getLogger(__name__)
Found: TypeAlias = tuple[KnownCapture, list[ServerSnapshot], list[str]]
"""What the warehouse records of a capture, its snapshots, and notes for the log."""


@dataclass(frozen=True)
class CaptureFile:
    """A file: path, bytes, when it was last changed (UTC), and what the settings call its server."""

    path: str
    length: int
    modified_at: datetime
    instance: str | None


@dataclass(frozen=True)
class CapturesRead:
    """The captures of the settings.

    Attributes:
        snapshots: those that were read now have files; those of known captures have catalog and rules alone.
        new: the captures that were read now and are not known; without `first_seen` and catalogs.
        moved: known captures in files that are not known.
        clocks: the offsets of servers' clocks that all captures show.
        rows: the files with the rows of the new ones, by view.
    """

    snapshots: tuple[ServerSnapshot, ...] = ()
    new: tuple[KnownCapture, ...] = ()
    moved: tuple[KnownCapture, ...] = ()
    clocks: tuple[ShownClock, ...] = ()
    rows: Mapping[str, Sequence[ViewFile]] = field(default_factory=dict)


def read_captures(
    entries: Sequence[Captures],
    known: Sequence[KnownCapture],
    folder: Path | None,
    *,
    are_new_read: bool,
    aliases: Mapping[Place, Place] | None = None,
) -> CapturesRead:
    """Read the new captures of the settings, and take what is known of the others.

    Args:
        entries: of the settings.
        known: what the warehouse knows.
        folder: where rows are written for an engine; None if none will read them.
        are_new_read: whether captures that are not known count, as for a night.
        aliases: `Places.aliases`; of failover partners all known captures are given that were taken at once.

    Raises:
        CaptureError: a folder or file is not there, or files are no whole captures; one line each.
    """
    if not are_new_read:
        needed = find_moments_of_partners(known, aliases or {})
        return CapturesRead(in_order(snapshots_of_known(known, needed)), clocks=_clocks(known))
    files: list[CaptureFile] = []
    problems: list[str] = []
    apart = {entry.path for entry in entries}
    for entry in entries:
        try:
            files += _list(entry, known, apart)
        except OSError as error:
            why = str(error).partition("\n")[0]
            fault = CaptureFault(None, f"it can't be listed ({why}); correct path, or see to its store")
            problems.append(describe_fault(entry.path, fault))
        except CaptureFault as fault:
            problems.append(describe_fault(entry.path, fault))
    by_file = {(each.path, each.length, each.modified_at): each for each in known}
    by_id = {each.id: each for each in known}
    of_moments: dict[tuple[str, datetime], list[KnownCapture]] = {}
    for each in by_id.values():
        of_moments.setdefault((each.instance, each.taken_at), []).append(each)
    new: dict[str, KnownCapture] = {}
    moved: list[KnownCapture] = []
    read: list[ServerSnapshot] = []
    notes: dict[str, list[str]] = {}
    written = None if folder is None else CapturedRows(folder / str(uuid4()))
    of_paths = {each.path: each for each in files}.values()
    unknown = [each for each in of_paths if (each.path, each.length, each.modified_at) not in by_file]
    for file, read_file in _read_ahead(unknown, written):
        try:
            found, snapshots, said = read_file()
            before = by_id.get(found.id) or new.get(found.id)
            if before is None:
                at_once = of_moments.setdefault((found.instance, found.taken_at), [])
                _require_other_moment(found, at_once)
                at_once.append(found)
                new[found.id] = found
                read += snapshots
                for note in said:
                    notes.setdefault(note, []).append(short_path(file.path))
            else:
                require_same_content(found, before)
                moved.append(
                    replace(before, path=file.path, length=file.length, modified_at=file.modified_at)
                )
        except CaptureError as error:
            problems += error.problems
        except CaptureFault as fault:
            problems.append(describe_fault(file.path, fault))
    if written is not None:
        written.close()
    raise_faults(problems)
    for note, paths in notes.items():
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        log.warning("snapshots: %s%s: %s", paths[0], more, note)
    needed = find_moments_of_partners([*known, *new.values()], aliases or {})
    snapshots = [*read, *snapshots_of_known(known, needed)]
    clocks = _clocks([*known, *new.values()])
    rows = {} if written is None else written.files()
    return CapturesRead(in_order(snapshots), tuple(new.values()), tuple(moved), clocks, rows)


def _clocks(captures: Iterable[KnownCapture]) -> tuple[ShownClock, ...]:
    return tuple(
        ShownClock(frozenset({each.instance, each.server}), each.taken_at, each.utc_offset_minutes)
        for each in captures
        if each.utc_offset_minutes is not None
    )


def _read_ahead(
    files: Sequence[CaptureFile], written: CapturedRows | None
) -> Iterator[tuple[CaptureFile, Callable[[], Found]]]:
    """The files in their order, each with what gives its content or raises its fault.

    As many are read at once as there are processors: most of the time goes by outside of Python.
    """
    pool = ThreadPoolExecutor(os.cpu_count())
    try:
        running = [(file, pool.submit(_read, file, written)) for file in files]
        for file, reading in running:
            yield file, reading.result
    finally:
        # After Ctrl-C no file is begun any more.
        pool.shutdown(cancel_futures=True)


def _read(file: CaptureFile, written: CapturedRows | None) -> Found:
    """Read a file.

    Raises:
        CaptureError: it is no whole capture.
        CaptureFault: a view contradicts itself.
    """
    capture = read_capture(file.path, written)
    instance = file.instance or capture.server
    snapshots, notes = snapshots_of(capture, instance, written)
    catalogs = {hash_catalog(each.small): each.small for each in snapshots}
    known = KnownCapture(
        id=capture.id,
        path=file.path,
        length=file.length,
        modified_at=file.modified_at,
        sha256=capture.sha256,
        server=capture.server,
        instance=instance,
        taken_at=capture.taken_at,
        first_seen=None,
        databases=tuple(KnownDatabase.of(each) for each in snapshots),
        catalogs={
            hash: {view: list(rows) for view, rows in small.items()} for hash, small in catalogs.items()
        },
        listed=tuple(capture.databases),
        utc_offset_minutes=capture.utc_offset_minutes,
    )
    return known, snapshots, notes


def require_same_content(found: KnownCapture, before: KnownCapture) -> None:
    """Refuse a file that has a capture of another file, or of an earlier night, with other content.

    Raises:
        CaptureFault: it has.
    """
    if found.sha256 == before.sha256:
        return
    if before.first_seen is None:
        raise CaptureFault(
            None,
            f"{short_path(before.path)} has the same capture, {found.id}, with other content; leave the one "
            "there that the server wrote",
        )
    raise CaptureFault(
        None,
        f"capture {found.id} has changed since it was taken at {format_instant(before.first_seen)}; put the "
        "file back as it was, or remove it and take a new capture",
    )


def _require_other_moment(found: KnownCapture, at_once: Sequence[KnownCapture]) -> None:
    """Refuse two captures of one database at one moment: which of them would count?

    Args:
        found: a capture.
        at_once: the others of its instance and moment.

    Raises:
        CaptureFault: there are such.
    """
    names = {each.name for each in found.databases}
    for other in at_once:
        if same := names & {each.name for each in other.databases}:
            database = queue_text((found.instance, min(same)))
            raise CaptureFault(
                None,
                f"{short_path(other.path)} is another capture of {database} at "
                f"{format_instant(found.taken_at)}; leave one of the two there",
            )


def _list(entry: Captures, known: Sequence[KnownCapture], apart: Container[str]) -> Iterator[CaptureFile]:
    """The files that an entry means; says which others it does not.

    Args:
        entry: of the settings.
        known: what the warehouse knows.
        apart: folders of days that are entries of their own.

    Raises:
        CaptureFault: there is none, and none is known.
    """
    system, inner, prefix = file_system(entry.path)
    root = system.get_file_info(inner)
    if root.is_file:
        yield _file(root, prefix, entry)
        return
    is_known = any(each.path == entry.path or each.path.startswith(f"{entry.path}/") for each in known)
    if root.type == fs.FileType.NotFound:
        if is_known:
            return
        raise CaptureFault(
            None, "it is not there; make that folder and put captures into it, or correct path"
        )
    if root.type != fs.FileType.Directory:
        raise CaptureFault(None, "it is neither a file nor a folder; correct path")
    infos = _infos(system, inner)
    for info in [*infos]:
        is_day = info.type == fs.FileType.Directory and DAY.fullmatch(PurePosixPath(info.path).name)
        if is_day and prefix + info.path not in apart:
            infos += _infos(system, info.path)
    seen = [
        info
        for info in sorted(infos, key=lambda each: each.path)
        if info.type != fs.FileType.Directory and not PurePosixPath(info.path).name.startswith(HIDDEN)
    ]
    named = [info for info in seen if info.path.lower().removesuffix(PACKED).endswith(ENDINGS)]
    found = [info for info in named if info.is_file]
    unread = [info for info in seen if info not in named]
    endings = f"no capture by the ending, so not read; captures end with {' '.join(ENDINGS)}"
    _warn_of_unread(entry, unread, endings)
    _warn_of_unread(entry, [info for info in named if not info.is_file], "no file that can be read")
    if not found and not is_known:
        raise CaptureFault(
            None, "there is no capture in this folder; put the files of the capture script there"
        )
    for info in found:
        yield _file(info, prefix, entry)


def _infos(system: fs.FileSystem, folder: str) -> list[fs.FileInfo]:
    """What lies in a folder.

    Raises:
        CaptureFault: a name there is no text.
    """
    try:
        infos = system.get_file_info(fs.FileSelector(folder))
        if isinstance(system, fs.LocalFileSystem):
            # It leaves out links that lead nowhere.
            listed = {PurePosixPath(info.path).name for info in infos}
            lost = [name for name in os.listdir(folder) if name not in listed]
            infos += [fs.FileInfo(f"{folder}/{name}", fs.FileType.NotFound) for name in lost]
        return sorted(infos, key=lambda each: each.path)
    except UnicodeDecodeError:
        raise CaptureFault(None, "the name of a file there is no UTF-8; rename it") from None


def _warn_of_unread(entry: Captures, infos: Sequence[fs.FileInfo], why: str) -> None:
    """Name what is not read; a few are enough."""
    if infos:
        names = ", ".join(PurePosixPath(info.path).name for info in infos[:5])
        more = f" and {len(infos) - 5} more" if len(infos) > 5 else ""
        log.warning("snapshots: %s: %s%s: %s", short_path(entry.path), names, more, why)


def _file(info: fs.FileInfo, prefix: str, entry: Captures) -> CaptureFile:
    return CaptureFile(prefix + info.path, info.size, changed_at(info), entry.instance)
