"""Runs jobs on inputs as users have them, and says what a user would see."""

import importlib
import io
import json
import logging
import shutil
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from pipelines.commands.launch import outcome_of

CASES = Path(__file__).parent / "cases"
COMMANDS = {"fold": "ingest", "lint_rules": "lint"}
"""Commands whose job has another name."""
AS_OF = "2026-11-20T10:00:00Z"
"""The moment that the field cases are about, unless a test says otherwise."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """How a job ended: its exit code, standard output, and standard error with the log's warnings."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What --format json printed."""
        return json.loads(self.out)


class Case:
    """A copy of a project's folder, with the jobs that are run on it."""

    def __init__(self, folder: Path, settings: str = "settings.yaml") -> None:
        """Take a folder; `settings` is the name of the settings file in it."""
        self.folder = folder
        self.settings = settings

    @classmethod
    def copied(cls, name: str, to: Path, settings: str = "settings.yaml") -> "Case":
        """Copy the case of this name below `CASES` into a folder that does not exist yet."""
        shutil.copytree(CASES / name, to)
        return cls(to, settings)

    @property
    def config(self) -> str:
        """Path of the settings file."""
        return str(self.folder / self.settings)

    def job(self, name: str, *options: str | Path) -> Outcome:
        """Run `jobs/<name>.py` with this case's settings, in this process and on its session."""
        return run(name, "--config", self.config, *options)

    def nightly(self, as_of: str = AS_OF, *options: str) -> Outcome:
        """Run the night of an as_of."""
        return self.job("nightly", "--as-of", as_of, *options)

    def table(self, name: str, columns: Sequence[str] | None = None) -> list[Row]:
        """The rows of a table of the warehouse; of the given columns only, if there are any."""
        return table_of(self.folder / "warehouse", name, columns)


def table_of(root: Path, name: str, columns: Sequence[str] | None = None) -> list[Row]:
    """The rows of a Delta table in a folder, read without an engine."""
    rows: list[Row] = DeltaTable(str(root / name)).to_pyarrow_table().to_pylist()
    return rows if columns is None else [{column: row[column] for column in columns} for row in rows]


def run(job: str, *options: str | Path) -> Outcome:
    """Run a job in this process, and end as its process would.

    What belongs to the process alone (signals, closed streams, what the engine itself prints) is tried with
    real processes: see `tests.support.processes`.
    """
    out, err = io.StringIO(), io.StringIO()
    warnings = logging.StreamHandler(err)
    warnings.setLevel(logging.WARNING)
    logging.getLogger().addHandler(warnings)
    try:
        with redirect_stdout(out), redirect_stderr(err):
            try:
                code = importlib.import_module(f"pipelines.commands.{COMMANDS.get(job, job)}").main(
                    [str(option) for option in options]
                )
            except SystemExit as ended:  # --help
                code = int(ended.code or 0)
            except Exception as error:
                code, line = outcome_of(error)
                print(f"error: {line}", file=err)
    finally:
        logging.getLogger().removeHandler(warnings)
    return Outcome(code, out.getvalue(), err.getvalue())
