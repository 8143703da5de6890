"""Logs to measure on: made by jobs/generate_log.py, kept by what they were made from."""

import hashlib
import shutil
import sys
from pathlib import Path

from benchmarks.processes import PROJECT, run_process

GENERATOR = ("pipelines/commands/generate_log.py", "pipelines/generator")


def make_log(messages: int, more: tuple[str, ...], folder: Path) -> Path:
    """Make a log in Parquet, or find the one that the same options and the same generator made before.

    Args:
        messages: how many are sent in it.
        more: further options of the generator, as they stand on its command line.
        folder: where logs are kept, a folder each.

    Returns:
        The log's folder.
    """
    options = ["--messages", str(messages), "--format", "parquet", *more]
    log = folder / f"{messages}-{_fingerprint(options)}"
    made = log / ".made"
    if not made.exists():
        shutil.rmtree(log, ignore_errors=True)
        command: list[str | Path] = [sys.executable, "-m", "jobs.generate_log", "--out", log, *options]
        run_process(command, log=log / "generate.log")
        made.write_text(" ".join(options) + "\n", encoding="utf-8")
    return log


def _fingerprint(options: list[str]) -> str:
    total = hashlib.sha256(repr(options).encode())
    for name in GENERATOR:
        path = PROJECT / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            total.update(file.read_bytes())
    return total.hexdigest()[:12]
