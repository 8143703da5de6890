"""The faults of a log: what they add, and that they take nothing away."""

import json
from contextlib import suppress

import pytest

from schemas.events import CONTRACTS
from tests.dev.generator.conftest import JSON


@pytest.fixture(scope="module")
def faulty(make_log):
    return make_log("--messages", "4000", "--files", "3", "--errors", "0.2")


@pytest.mark.parametrize("source", list(CONTRACTS))
def test_nothing_is_taken_away(log, faulty, source):
    clean, found = (set(each[source].astype(str).itertuples(index=False)) for each in (log, faulty))
    assert clean <= found


def test_a_quarter_of_the_faults_are_exact_duplicates_and_others_break_the_contract(log, faulty):
    rows = faulty["message_events"]
    assert rows.duplicated().sum() / len(log["message_events"]) == pytest.approx(0.05, abs=0.01)
    assert rows.message_id.isna().any()
    assert rows.event_type.str.startswith("UNKNOWN_").any()
    conflicting = rows.drop_duplicates()
    assert conflicting.event_id.duplicated().any()


def test_late_rows_come_in_a_later_file_and_displaced_ones_out_of_order(log, faulty):
    clean, found = (len(list((each.folder / "message_events").iterdir())) for each in (log, faulty))
    # Of parts 0, 0 and 1, then all three.
    assert (clean, found) == (3, 6)
    in_order = [
        (each["message_events"].event_time.diff().dropna().dt.total_seconds() >= 0).mean()
        for each in (log, faulty)
    ]
    assert in_order[0] > 0.99
    assert in_order[1] < 0.97


def test_some_json_lines_are_cut_off(make_log):
    folder = make_log(*JSON).folder / "message_events"
    lines = [line for file in folder.iterdir() for line in file.read_text().splitlines()]
    whole = 0
    for line in lines:
        with suppress(ValueError):
            json.loads(line)
            whole += 1
    assert 0 < 1 - whole / len(lines) < 0.05
