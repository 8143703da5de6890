"""Where a job writes its answer: a plain file or a folder of its own, never over what the job reads."""

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from pipelines.config.errors import ConfigError, OutputError
from pipelines.config.paths import INSIDE, overlap, without_secrets
from pipelines.settings.load import Settings
from pipelines.storage.inputs.paths import local_path

STREAMS = range(3)


def plain_file(out: Path, option: str = "--out") -> Path:
    """The file that an option names, behind links; it is there and may be replaced, or is new.

    Raises:
        ConfigError: it is a folder, a device or a pipe, is write-protected, or its folder takes no file.
    """
    target = Path(os.path.realpath(out))
    if not target.parent.is_dir():
        raise _refused(f"{option} {out}", "its folder is not there")
    try:
        _require_plain(f"{option} {out}", target, target.stat())
    except FileNotFoundError:
        pass
    except OSError as error:
        # Such as a name that is too long, or links that lead to each other.
        raise _refused(f"{option} {out}", error.strerror or str(error)) from error
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise _refused(f"{option} {out}", "its folder can't be written")
    return target


def require_not_read(
    target: Path, settings: Settings, further: Iterable[str | None] = (), option: str = "--out"
) -> None:
    """Refuse a file that the job reads, or that would lie among what it reads.

    Args:
        target: the file, behind links.
        settings: they name what is read.
        further: folders that other options name.
        option: what names the file.

    Raises:
        ConfigError: it does.
    """
    answers = [("the answer", path) for path in further if path is not None]
    for what, path in [*_read(settings), *answers]:
        if overlap(str(target), path) in INSIDE:
            raise ConfigError(f"{option} {target}: is {what} {path}, or lies in it; name another file")


def require_own_folder(out: str | None, settings: Settings) -> None:
    """Refuse a folder for tables that is none, can't be written, or overlaps with what the job reads.

    Raises:
        ConfigError: it is or does; nothing was made.
    """
    if out is None:
        return
    if (shown := without_secrets(out)) != out:
        raise ConfigError(f"--out {shown}: has credentials in it; give them to the engine by the environment")
    for what, path in _read(settings):
        how = overlap(out, path)
        if how in INSIDE:
            raise ConfigError(f"--out {out}: lies in {what} {path}; name another folder")
        if what in DATA and how is not None:
            raise ConfigError(f"--out {out}: {what} {path} lies in it; name another folder")
    if (local := local_path(out)) is not None:
        _require_folder(out, local)


def write_whole(text: str, target: Path, option: str = "--out") -> None:
    """Write the file whole or not at all: a reader sees the old one or the new one.

    A file that is replaced keeps its mode and its owner; a new one has the mode that the umask leaves.

    Raises:
        OutputError: it can't be written.
    """
    # The name of the file itself may leave no room for more characters.
    partial = target.parent / f".{uuid4()}.partial"
    try:
        try:
            with open(partial, "x", encoding="utf-8", newline="\n") as file:
                file.write(text)
            _as_before(partial, target)
            os.replace(partial, target)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OutputError(
            f"{option} {target}: can't be written ({error.strerror}); the file is as it was"
        ) from error


WAREHOUSE, INPUTS, SNAPSHOTS = "the warehouse", "the input", "the snapshot"
DATA = (WAREHOUSE, INPUTS, SNAPSHOTS)
"""What other files may not be mixed with, in its folder or around it."""


def _read(settings: Settings) -> Iterator[tuple[str, str]]:
    """What a job reads, and its path or URI."""
    yield "the settings file", settings.path
    if settings.catalog_path is not None:
        yield "the catalog", settings.catalog_path
    for path in [*(each.path for each in settings.rules), *(each.path for each in settings.rule_files)]:
        yield "the rule source", path
    if isinstance(settings.warehouse, str):
        yield WAREHOUSE, settings.warehouse
    for source in settings.inputs.by_name().values():
        yield INPUTS, source.path
    for entry in settings.snapshot_entries:
        yield SNAPSHOTS, entry.path


def _require_plain(named: str, target: Path, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise _refused(named, "it is a folder")
    if not stat.S_ISREG(found.st_mode):
        raise _refused(named, "it is a device or a pipe")
    if any(os.path.samestat(found, each) for each in _streams()):
        raise _refused(named, "it is a stream of this job")
    # The superuser may write all files; a file without any write permission is still refused.
    if not found.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(target, os.W_OK):
        raise _refused(named, "it is write-protected")


def _streams() -> Iterator[os.stat_result]:
    for stream in (*STREAMS, sys.stdout):
        with suppress(OSError):
            yield os.fstat(stream if isinstance(stream, int) else stream.fileno())


def _require_folder(out: str, local: str) -> None:
    path = Path(os.path.realpath(local))
    try:
        if os.path.islink(local) and not os.path.exists(local):
            raise _no_folder(out, "it is a link to nothing")
        while not _is_there(path):
            path = path.parent
    except OSError as error:
        raise _no_folder(out, error.strerror or str(error)) from error
    if not path.is_dir():
        raise _no_folder(out, f"{path} is no folder")
    if not os.access(path, os.W_OK | os.X_OK):
        raise _no_folder(out, f"{path} can't be written")


def _is_there(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _as_before(partial: Path, target: Path) -> None:
    """Give the new file what the one that it replaces has."""
    with suppress(FileNotFoundError):
        old, new = target.stat(), partial.stat()
        # On Windows a file has no such owner.
        if hasattr(os, "chown") and (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
            with suppress(PermissionError):
                os.chown(partial, old.st_uid, old.st_gid)
        partial.chmod(stat.S_IMODE(old.st_mode))


def _refused(named: str, reason: str) -> ConfigError:
    return ConfigError(f"{named}: {reason}; name a new file, or one to replace, in a folder that exists")


def _no_folder(out: str, reason: str) -> ConfigError:
    return ConfigError(f"--out {out}: {reason}; name a folder that can be written")
