"""Logs to measure on, kept by what they were made from."""

import hashlib
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from dev.benchmarks.backlog_log import Skew, write_backlog
from dev.benchmarks.options import LAST_MIDNIGHT
from dev.benchmarks.processes import PROJECT, run_process

GENERATOR = ("dev/generate_log.py", "dev/generator")
BACKLOG = ("dev/benchmarks/backlog_log.py", "dev/generator/synthetic.py")


def make_log(messages: int, more: tuple[str, ...], folder: Path) -> Path:
    """Make a log in Parquet with dev/generate_log.py, or find the one that was made before.

    Args:
        messages: how many are sent in it.
        more: further options of the generator, as they stand on its command line.
        folder: where logs are kept, a folder each.

    Returns:
        The log's folder.
    """
    options = ["--messages", str(messages), "--format", "parquet", *more]

    def write(log: Path) -> None:
        command: list[str | Path] = [sys.executable, "-m", "dev.generate_log", "--out", log, *options]
        run_process(command, log=log / "generate.log")

    return _made(folder / f"{messages}-{_fingerprint(options, GENERATOR)}", options, write)


def make_backlog(messages: int, skew: Skew | None, folder: Path) -> Path:
    """Make a log with a standing backlog, or find the one that was made before; see `backlog_log`.

    Args:
        messages: how many are sent in it, about.
        skew: what is spread unevenly.
        folder: where logs are kept, a folder each.

    Returns:
        The log's folder.
    """
    options = ["backlog", str(messages), skew or "even"]
    log = folder / f"{'-'.join(options)}-{_fingerprint(options, BACKLOG)}"
    return _made(log, options, lambda made: write_backlog(messages, made, LAST_MIDNIGHT, skew))


def _made(log: Path, options: Sequence[str], write: Callable[[Path], None]) -> Path:
    """The log's folder; it is written unless an earlier call finished it."""
    mark = log / ".made"
    if not mark.exists():
        shutil.rmtree(log, ignore_errors=True)
        log.mkdir(parents=True)
        write(log)
        mark.write_text(" ".join(options) + "\n", encoding="utf-8")
    return log


def _fingerprint(options: Sequence[str], sources: Sequence[str]) -> str:
    total = hashlib.sha256(repr(options).encode())
    for name in sources:
        path = PROJECT / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            total.update(file.read_bytes())
    return total.hexdigest()[:12]
