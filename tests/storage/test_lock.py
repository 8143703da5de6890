"""Of two jobs that would write a warehouse, one does."""

import errno
import os
import re
from pathlib import Path
from threading import Timer

import pytest
from filelock import FileLock
from pyarrow import fs

from pipelines.config.errors import BusyError, ConfigError
from pipelines.storage.lock import HOLDER, LOCK, only_writer
from tests.support.processes import start_program

HOLDS = "import sys, time; from pipelines.storage.lock import only_writer\n"
HOLDS += "with only_writer(sys.argv[1], 'fold'): print('holds', flush=True); time.sleep(600)"


def test_the_second_is_told_who_writes_and_the_next_one_may(tmp_path: Path) -> None:
    root = f"{tmp_path}/warehouse"
    with only_writer(root, "nightly"):
        told = (
            f"warehouse: another job is writing {root}: nightly, since "
            rf"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ, process {os.getpid()} on \S+; "
            "wait until it has ended, then run this again"
        )
        with pytest.raises(BusyError) as caught, only_writer(f"file:{root}", "fold"):
            pass
        assert re.fullmatch(told.replace(root, f"file:{root}"), str(caught.value))
        assert caught.value.exit_code == 5
        with only_writer(f"{tmp_path}/other", "fold"):
            pass
    with only_writer(root, "fold"):
        text = Path(root, HOLDER).read_text()
    assert not Path(root, HOLDER).exists()
    assert text.startswith("fold, since ")
    assert text.count("\n") == 1


def test_who_just_got_the_lock_is_waited_for_until_it_has_said_its_name(tmp_path: Path) -> None:
    with FileLock(tmp_path / LOCK):
        saying = Timer(0.2, lambda: (tmp_path / HOLDER).write_text("nightly, since now\n"))
        saying.start()
        with pytest.raises(BusyError, match=": nightly, since now; wait"), only_writer(str(tmp_path), "fold"):
            pass
        saying.join()


def test_a_process_that_was_killed_and_a_block_that_fails_block_nobody(tmp_path: Path) -> None:
    root = str(tmp_path)
    holder = start_program(HOLDS, root)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "holds\n"
    with pytest.raises(BusyError, match=f"fold, since .*, process {holder.pid} on "), only_writer(root, "x"):
        pass
    holder.kill()
    holder.communicate()
    with pytest.raises(ValueError, match="broken"), only_writer(root, "fold"):
        raise ValueError("broken")
    with only_writer(root, "nightly"):
        assert Path(root, HOLDER).read_text().startswith("nightly")


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    root = tmp_path / "file"
    root.write_text("")
    said = f"^warehouse: {root} can't be written \\(.*\\); give this user the right to write, or name another"
    with pytest.raises(ConfigError, match=said), only_writer(str(root), "nightly"):
        pass


def test_a_file_system_without_locks_is_not_guarded_and_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    def no_locks(_: int) -> bool:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("filelock._native._unix.lock_fd_nonblocking", no_locks)
    with only_writer(str(tmp_path), "nightly"):
        pass
    assert caplog.messages == [
        f"{tmp_path} can't be locked (No locks available); see that no other job writes it"
    ]


def test_behind_a_uri_a_lease_says_who_writes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    in_a_bucket(monkeypatch, tmp_path)
    root = "s3a://bucket/warehouse"
    told = f"^warehouse: another job is writing {root}: nightly, since .*; wait until it has ended"
    with only_writer(root, "nightly"):
        assert (tmp_path / LOCK).exists()
        with pytest.raises(BusyError, match=told), only_writer(root, "fold"):
            pass
    assert not (tmp_path / LOCK).exists()


def test_a_place_that_is_not_reached_is_not_guarded_and_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    in_a_bucket(monkeypatch, tmp_path / "missing")
    with only_writer("s3a://bucket/warehouse", "nightly"):
        pass
    [said] = caplog.messages
    assert said.startswith("s3a://bucket/warehouse can't be guarded (")
    assert said.endswith("; see that no other job writes it")


def in_a_bucket(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let a folder stand for the bucket, where seconds are short."""
    place = (fs.LocalFileSystem(), str(folder / LOCK), "")
    monkeypatch.setattr("pipelines.storage.lock.file_system", lambda _: place)
    for name, seconds in (("RENEWED_EVERY", 0.05), ("WATCHED_FOR", 1.0), ("SETTLED_AFTER", 0.05)):
        monkeypatch.setattr(f"pipelines.storage.lease.{name}", seconds)
