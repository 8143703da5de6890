"""The faults of a log: what they add, and that they take nothing away."""

import json

import pytest

from schemas.events import CONTRACTS
from tests.generator.conftest import JSON


@pytest.fixture(scope="module")
def clean(log):
    return log


@pytest.fixture(scope="module")
def faulty(make_log):
    return make_log("--messages", "4000", "--files", "3", "--errors", "0.2")


@pytest.mark.parametrize("source", list(CONTRACTS))
def test_nothing_is_taken_away(clean, faulty, source):
    def rows(log):
        return set(log[source].astype(str).itertuples(index=False))

    assert rows(clean) <= rows(faulty)


def test_a_quarter_of_the_faults_are_exact_duplicates(clean, faulty):
    repeated = faulty["message_events"].duplicated().sum()
    assert repeated / len(clean["message_events"]) == pytest.approx(0.05, abs=0.01)


def test_bad_rows_break_the_contract_in_every_way(faulty):
    rows = faulty["message_events"]
    assert rows.message_id.isna().any()
    assert rows.event_type.str.startswith("UNKNOWN_").any()
    conflicting = rows.drop_duplicates()
    assert conflicting.event_id.duplicated().any()


def test_late_rows_come_in_a_later_file(clean, faulty):
    counts = {log: len(list((log.folder / "message_events").iterdir())) for log in (clean, faulty)}
    assert counts[clean] == 3
    # Of parts 0, 0 and 1, then all three.
    assert counts[faulty] == 6


def test_displaced_rows_are_out_of_order(clean, faulty):
    def in_order(log):
        times = log["message_events"].event_time
        return (times.diff().dropna().dt.total_seconds() >= 0).mean()

    assert in_order(clean) > 0.99
    assert in_order(faulty) < 0.97


def test_some_json_lines_are_cut_off(make_log):
    folder = make_log(*JSON).folder
    lines = [line for file in (folder / "message_events").iterdir() for line in file.read_text().splitlines()]
    broken = [line for line in lines if not _is_json(line)]
    assert 0 < len(broken) / len(lines) < 0.05


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True
