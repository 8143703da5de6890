"""The faults of a log: what they add, and that they take nothing away."""

import json

import pytest

from schemas.events import CONTRACTS
from tests.dev.generator.conftest import JSON


@pytest.fixture(scope="module")
def faulty(make_log):
    return make_log("--messages", "4000", "--files", "3", "--errors", "0.2")


def test_nothing_is_taken_away(log, faulty):
    for source in CONTRACTS:
        clean, found = (set(each[source].astype(str).itertuples(index=False)) for each in (log, faulty))
        assert clean <= found, source


def test_duplicates_and_rows_that_break_the_contract(log, faulty):
    rows = faulty["message_events"]
    # A quarter of the faults.
    assert rows.duplicated().sum() / len(log["message_events"]) == pytest.approx(0.05, abs=0.01)
    assert rows.message_id.isna().any()
    assert rows.event_type.str.startswith("UNKNOWN_").any()
    assert rows.drop_duplicates().event_id.duplicated().any(), "conflicts"


def test_late_rows_come_in_a_later_file_and_displaced_ones_out_of_order(log, faulty):
    clean, found = (len(list((each.folder / "message_events").iterdir())) for each in (log, faulty))
    # Of parts 0, 0 and 1, then all three.
    assert (clean, found) == (3, 6)
    steps = [each["message_events"].event_time.diff().dropna().dt.total_seconds() for each in (log, faulty)]
    assert (steps[0] >= 0).mean() > 0.99
    assert (steps[1] >= 0).mean() < 0.97


def test_some_json_lines_are_cut_off(make_log):
    folder = make_log(*JSON).folder / "message_events"
    lines = [line for file in folder.iterdir() for line in file.read_text().splitlines()]
    assert 0 < sum(not is_json(line) for line in lines) / len(lines) < 0.05


def is_json(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True
