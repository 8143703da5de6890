"""Which files and which versions of Delta tables are new."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from deltalake.exceptions import DeltaError

from pipelines.config.errors import InputError, one_line
from pipelines.config.model import EventSource, LogSource
from pipelines.storage.inputs.contract import first_line, raise_together
from pipelines.storage.inputs.delta_log import current_version, new_sizes
from pipelines.storage.inputs.paths import GONE, is_empty_folder, list_files
from schemas.events import table_of

UNFIT = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""Characters that break a line of a message in two, or that an engine does not take in a path."""
MANY_FILES = 64
SMALL_FILE = 1 << 20
"""More than `MANY_FILES` files of fewer bytes each on average are many small files. Where the engine is slow
to open files, it materializes their rows faster than it opens them again."""


@dataclass(frozen=True)
class InputFile:
    """One file of an input, or one version of a Delta input.

    Attributes:
        source: the input's name.
        path: the file, or the folder of the Delta input.
        length: bytes; None for Delta.
        modified_at: when the file was last changed, UTC; None for Delta.
        version: the version up to which the Delta input is taken; None for files.
        since: the version up to which it was taken before; None for files and where none was.
    """

    source: str
    path: str
    length: int | None = None
    modified_at: datetime | None = None
    version: int | None = None
    since: int | None = None


def find_new_files(
    inputs: Mapping[str, EventSource | LogSource], taken: Iterable[InputFile]
) -> list[InputFile]:
    """Find the files and Delta versions that no batch has read, by input in their order and then by path.

    A file that was read can be removed.

    Args:
        inputs: path and format by input name.
        taken: what was taken before, several versions of a Delta input maybe.

    Raises:
        InputError: an input is not there, a file that was taken has changed since, or two inputs without a
            mapping have the same file; all are listed.
    """
    known: dict[tuple[str, str], InputFile] = {}
    for file in sorted(taken, key=lambda each: -1 if each.version is None else each.version):
        known[file.source, file.path] = file
    found, problems = [], []
    for source, settings in inputs.items():
        try:
            there = _list_input(source, settings)
        except FileNotFoundError:
            problems.append(
                f"inputs.{source}: {settings.path} is not there; make that folder, or name another"
            )
            continue
        except InputError as error:
            problems.append(str(error))
            continue
        except (OSError, DeltaError) as error:
            problems.append(
                f"inputs.{source}: cannot open {settings.path} as {settings.format}: {first_line(error)}"
            )
            continue
        for file in there:
            before = known.get((source, file.path))
            if before is None:
                found.append(file)
            elif file.version is not None and before.version is not None:
                problems += _reset_versions(file, before.version)
                if file.version > before.version:
                    found.append(InputFile(source, file.path, version=file.version, since=before.version))
            elif (file.length, file.modified_at) != (before.length, before.modified_at):
                problems.append(_changed(file, before))
    own = {source for source, settings in inputs.items() if not settings.is_mapped}
    problems += _shared_files(file for file in found if file.source in own)
    raise_together(map(one_line, problems))
    return found


def _shared_files(found: Iterable[InputFile]) -> list[str]:
    """What to say of files that several tables have, once for the same inputs: no row fits two contracts."""
    sources: dict[str, list[str]] = {}
    for file in found:
        sources.setdefault(file.path, []).append(file.source)
    first = {
        tuple(several): path
        for path, several in reversed(sources.items())
        if len(set(map(table_of, several))) > 1
    }
    named = {" and ".join(f"inputs.{each}" for each in several): path for several, path in first.items()}
    return [
        f"{several} both have {path}; name a folder of its own for each input"
        for several, path in sorted(named.items())
    ]


def require_unchanged(inputs: Mapping[str, EventSource | LogSource], taken: Iterable[InputFile]) -> None:
    """Require that files that were just read are still what they were when they were listed.

    If a file grew while it was read, the read part is unknown. Versions of Delta tables do not change.

    Raises:
        InputError: a file is gone or has changed; all are listed.
    """
    problems = []
    files = [file for file in taken if file.version is None]
    for source in dict.fromkeys(file.source for file in files):
        try:
            there = {file.path: file for file in _list_input(source, inputs[source])}
        except FileNotFoundError:
            there = {}
        problems += [
            _spoilt(file, there.get(file.path))
            for file in files
            if file.source == source and there.get(file.path) != file
        ]
    raise_together(map(one_line, problems))


def _list_input(source: str, settings: EventSource | LogSource) -> list[InputFile]:
    if settings.format == "delta":
        try:
            return [InputFile(source, settings.path, version=current_version(settings.path))]
        except DeltaError:
            if is_empty_folder(settings.path):
                return []
            raise
    files = list_files(settings.path)
    if unfit := [file.path for file in files if UNFIT.search(file.path)]:
        raise InputError(
            f"inputs.{source}: the name of {unfit[0]!r} has a line end or a control character; rename it"
        )
    return [InputFile(source, file.path, file.length, file.modified_at) for file in files]


def _changed(file: InputFile, before: InputFile) -> str:
    return (
        f"inputs.{file.source}: {file.path} has changed since it was taken ({_state(before)} then, "
        f"{_state(file)} now): move files in whole; to take this one again give it another name, as repeated "
        "events are known by their ids"
    )


def _spoilt(file: InputFile, now: InputFile | None) -> str:
    if now is None:
        return f"inputs.{file.source}: {file.path} {GONE}"
    return (
        f"inputs.{file.source}: {file.path} changed while it was read ({_state(file)} then, {_state(now)} "
        "now): move files in whole, and run again"
    )


def _reset_versions(file: InputFile, before: int) -> list[str]:
    if file.version is not None and file.version >= before:
        return []
    return [
        f"inputs.{file.source}: {file.path} is at version {file.version}, but version {before} was taken: "
        "it is another table; write it to another folder"
    ]


def _state(file: InputFile) -> str:
    return f"{file.length} bytes of {file.modified_at:%Y-%m-%dT%H:%M:%S.%fZ}"


def has_many_small_files(files: Sequence[InputFile]) -> bool:
    """Whether the new rows are in many small files, as a stream writes them."""
    sizes = list(_sizes(files))
    return len(sizes) > MANY_FILES and sum(sizes) < SMALL_FILE * len(sizes)


def _sizes(files: Sequence[InputFile]) -> Iterator[int]:
    for file in files:
        if file.version is not None:
            yield from new_sizes(file.path, file.since, file.version)
        elif file.length is not None:
            yield file.length
