"""Runs jobs on inputs as users have them, and says what a user would see."""

import csv
import io
import json
import logging
import shutil
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from deltalake import DeltaTable

from pipelines.cli import find_command
from pipelines.commands import launch
from pipelines.commands.open import warehouse_of
from pipelines.config.instants import parse_instant
from pipelines.schedules.write import write_schedules
from pipelines.settings.load import KNOWN_ONLY, load_settings
from pipelines.storage.batches import read_completed_batches
from tests.support.harness import marked

CASES = Path(__file__).parent / "cases"
COMMANDS = {"fold": "ingest", "lint_rules": "lint"}
"""Commands whose job has another name."""
AS_OF = "2026-11-20T10:00:00Z"
"""The moment that the field cases are about, unless a test says otherwise."""
EVENTS = ("endpoint_events", "message_events", "queue_events")

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

    def view(self, name: str) -> Path:
        """The CSV file of a view of the snapshot."""
        return self.folder / "snap" / f"{name}.csv"

    def job(self, name: str, *options: str | Path) -> Outcome:
        """Run `jobs/<name>.py` with this case's settings, in this process and on its session."""
        return run(name, "--config", self.config, *options)

    def ask(self, name: str, *options: str | Path) -> Any:
        """What a job that ends well prints with --format json."""
        found = self.job(name, *options, "--format", "json")
        assert found.code == 0, found.err
        return found.json

    def lines(self, name: str, *options: str | Path) -> list[str]:
        """What a job that ends well prints."""
        found = self.job(name, *options)
        assert found.code == 0, found.err
        return found.out.splitlines()

    def nightly(self, as_of: str = AS_OF, *options: str) -> Outcome:
        """Run the night of an as_of."""
        return self.job("nightly", "--as-of", as_of, *options)

    def published(self, as_of: str = AS_OF) -> Outcome:
        """Run a night that ends well."""
        night = self.nightly(as_of)
        assert night.code == 0, night.err
        return night

    def publish(self, as_of: str = AS_OF) -> None:
        """Run a night that ends well, without its summary."""
        night = self.nightly(as_of, "--quiet")
        assert night.code == 0, night.err

    def fold(self) -> Outcome:
        """Take in what is new: the first half of a night, which must end well."""
        folded = self.job("fold")
        assert folded.code == 0, folded.err
        return folded

    def schedule(self, as_of: str = AS_OF) -> Outcome:
        """Take in what is new and write the schedules of an as_of: two thirds of a night, without a run."""
        folded = self.job("fold", "--as-of", as_of)
        assert folded.code == 0, folded.err
        moment, settings = parse_instant(as_of), load_settings(self.config, KNOWN_ONLY)
        warehouse = warehouse_of(settings, "tests")
        write_schedules(warehouse, settings.at(moment), moment, read_completed_batches(warehouse))
        return folded

    def table(self, name: str, columns: Sequence[str] | None = None) -> list[Row]:
        """The rows of a table of the warehouse; of the given columns only, if there are any."""
        return table_of(self.folder / "warehouse", name, columns)

    def configure(self, **changes: Any) -> None:
        """Change sections of the settings."""
        path = Path(self.config)
        settings = yaml.safe_load(path.read_text()) if path.exists() else {"warehouse": "warehouse"}
        path.write_text(yaml.safe_dump({**settings, **changes}, allow_unicode=True))

    def set_catalog(self, *instances: Row) -> None:
        """Give the project a catalog of these instances."""
        text = yaml.safe_dump({"instances": [*instances]}, allow_unicode=True)
        (self.folder / "catalog.yaml").write_text(text)
        self.configure(catalog="catalog.yaml")

    def set_log(self, events: dict[str, list[Row]]) -> None:
        """Give the project an input of JSON lines for each kind of event."""
        for name, rows in events.items():
            lines = [json.dumps({"event_id": f"{number}", **row}) + "\n" for number, row in enumerate(rows)]
            (self.folder / name).mkdir()
            (self.folder / name / "a.jsonl").write_text("".join(lines))
        self.configure(inputs={name: {"path": name, "format": "json"} for name in events})


OpenCase = Callable[..., Case]
"""The fixture that copies a case of this name: `open_case("field-08-null-word")`."""


def log_of(case: str, instance: str) -> dict[str, list[Row]]:
    """The events of a case's log, as an instance of this name has them, with ids of their own."""
    return {
        source: [
            marked(json.loads(line), instance) | {"instance": instance}
            for path in sorted((CASES / case).rglob(f"{source}/*"))
            for line in path.read_text().splitlines()
        ]
        for source in EVENTS
    }


def instance_of(case: str, name: str) -> Row:
    """The only instance of a case's catalog, under another name."""
    [instance] = yaml.safe_load((CASES / case / "catalog.yaml").read_text())["instances"]
    return {**instance, "name": name}


def rewrite(path: Path, change: Callable[[dict[str, str]], None]) -> None:
    """Change the rows of a CSV file."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        change(row)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def table_of(root: Path, name: str, columns: Sequence[str] | None = None) -> list[Row]:
    """The rows of a Delta table in a folder, read without an engine."""
    rows: list[Row] = DeltaTable(str(root / name)).to_pyarrow_table().to_pylist()
    return rows if columns is None else [{column: row[column] for column in columns} for row in rows]


def parts_of(page: Path | str) -> dict[str, list[Row]]:
    """The tables of a report page, or of its text, as rows by column."""
    text = page if isinstance(page, str) else page.read_text(encoding="utf-8")
    data = text.split('<script type="application/json" id="data">')[1].split("</script>")[0]
    return {
        name: [dict(zip(part["columns"], row, strict=True)) for row in part["rows"]]
        for name, part in json.loads(data)["parts"].items()
    }


def run(job: str, *options: str | Path) -> Outcome:
    """Run a job in this process, and end as its process would.

    What belongs to the process alone (signals, closed streams, what the engine itself prints) is tried with
    real processes: see `tests.support.processes`.
    """
    # A process of its own suspects no warehouse of an earlier one.
    launch._suspects.clear()
    out, err = io.StringIO(), io.StringIO()
    warnings = logging.StreamHandler(err)
    warnings.setLevel(logging.WARNING)
    logging.getLogger().addHandler(warnings)
    try:
        with redirect_stdout(out), redirect_stderr(err):
            try:
                code = find_command(COMMANDS.get(job, job))([str(option) for option in options])
            except SystemExit as ended:  # --help
                code = int(ended.code or 0)
            except Exception as error:
                code, line = launch.outcome_of(error)
                print(f"error: {line}", file=err)
    finally:
        logging.getLogger().removeHandler(warnings)
    return Outcome(code, out.getvalue(), err.getvalue())
