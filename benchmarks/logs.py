"""Logs to measure on: made by jobs/generate_log.py, kept by what they were made from."""

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path

from benchmarks.processes import PROJECT, run_process

GENERATOR = ("jobs/generate_log.py", "jobs/log_files.py", "pipelines/generate")


@dataclass(frozen=True)
class LogOptions:
    """What a log holds: messages, and further options of the generator as they stand on its command line."""

    messages: int
    more: tuple[str, ...] = ()

    @property
    def arguments(self) -> list[str]:
        """The generator's options."""
        return ["--messages", str(self.messages), "--format", "parquet", *self.more]


def make_log(options: LogOptions, folder: Path, *, memory: str) -> Path:
    """Make a log, or find the one that the same options and the same generator made before.

    Args:
        options: what it holds.
        folder: where logs are kept, a folder each.
        memory: of Spark's driver, such as 4g.

    Returns:
        The log's folder.
    """
    log = folder / f"{options.messages}-{_fingerprint(options)}"
    made = log / ".made"
    if not made.exists():
        shutil.rmtree(log, ignore_errors=True)
        command: list[str | Path] = [PROJECT / "spark-submit.sh", "jobs/generate_log.py", "--out", log]
        command += options.arguments
        run_process(command, log=log / "generate.log", environment={"SPARK_DRIVER_MEMORY": memory})
        made.write_text(" ".join(options.arguments) + "\n", encoding="utf-8")
    return log


def _fingerprint(options: LogOptions) -> str:
    total = hashlib.sha256(repr(options).encode())
    for name in GENERATOR:
        path = PROJECT / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            total.update(file.read_bytes())
    return total.hexdigest()[:12]
