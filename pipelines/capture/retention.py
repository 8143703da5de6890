"""Delete capture files that a warehouse has taken."""

from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from pipelines.config.errors import OutputError
from pipelines.server.captures.capture import read_capture
from pipelines.server.captures.faults import CaptureError, CaptureFault
from pipelines.server.captures.folder import DAY
from pipelines.server.captures.known import KnownCapture


def delete_older(folder: Path, known: list[KnownCapture], newest: datetime, keep: timedelta) -> list[Path]:
    """Delete the files of captures that are older than `keep`, and folders of days that are empty then.

    A file that is not in the table, or has other content than the one that was taken, stays.

    Args:
        folder: only files below it are deleted.
        known: the captures that the warehouse has taken.
        newest: the moment of the newest capture.
        keep: how much older than that a capture may be.

    Returns:
        The files that were deleted.

    Raises:
        OutputError: a file can't be deleted.
    """
    folder = folder.resolve()
    deleted = []
    for capture in known:
        path = Path(capture.path).resolve()
        if newest - capture.taken_at <= keep or folder not in path.parents or not _is_same(path, capture):
            continue
        try:
            path.unlink()
        except OSError as error:
            raise OutputError(
                f"{path} can't be deleted ({error.strerror}); give the right to, or leave --keep out"
            ) from error
        deleted.append(path)
        if DAY.fullmatch(path.parent.name) and path.parent != folder:
            with suppress(OSError):  # it has other files
                path.parent.rmdir()
    return deleted


def _is_same(path: Path, capture: KnownCapture) -> bool:
    try:
        if path.stat().st_size != capture.length:
            return False
        return read_capture(str(path), None).sha256 == capture.sha256
    except (CaptureError, CaptureFault, OSError):
        return False
