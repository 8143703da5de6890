from pathlib import Path

import pandas as pd
import pytest

from dev import generate_log

SMALL = ["--instances", "3", "--services", "30", "--kinds", "80", "--rules", "12", "--errors", "0"]

# Logs that several tests look at.
BACKLOG = ("--messages", "4000", "--backlog", "0.3")
UNIFORM = ("--messages", "4000", "--skew", "0", "--backlog", "0.6")
JSON = ("--messages", "1500", "--errors", "0.2", "--format", "json")
DAYS = ("--messages", "3000", "--start", "2026-03-01", "--days", "3", "--skew", "1.5", "--backlog", "0")


class Log:
    """A log as written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __getitem__(self, source: str) -> pd.DataFrame:
        return pd.concat([pd.read_parquet(file) for file in sorted(self.folder.rglob(f"{source}/*.parquet"))])

    def received(self) -> set[str]:
        """The messages taken in a transaction that was committed, or in none."""
        events = self["message_events"]
        committed = self["queue_events"].query("event_type == 'COMMIT'").transaction_id
        taken = events[events.event_type == "RECEIVED"]
        return set(taken[taken.transaction_id.isna() | taken.transaction_id.isin(committed)].message_id)


@pytest.fixture(scope="session")
def make_log(tmp_path_factory: pytest.TempPathFactory):
    """Write a log of a small world in Parquet; the same options give the same log again."""
    made: dict[tuple[str, ...], Log] = {}

    def make(*options: str) -> Log:
        if options not in made:
            out = tmp_path_factory.mktemp("log")
            assert generate_log.main([*SMALL, "--format", "parquet", "--out", str(out), *options]) == 0
            made[options] = Log(out)
        return made[options]

    return make


@pytest.fixture(scope="session")
def log(make_log) -> Log:
    return make_log("--messages", "4000", "--files", "3")
