"""Mappings of sources in the settings: what is taken, and what is refused where it stands."""

from pathlib import Path
from typing import Any

import pytest

from pipelines.config.errors import ConfigError
from pipelines.settings.load import load_settings

COLUMNS = (
    "{event_time: At, event_type: {value: SENT}, instance: {value: A}, database: {value: B}, "
    "conversation_id: C, sent_by_initiator: {value: true}, message_sequence_number: N, message_type: T}"
)
SETTINGS = """\
warehouse: w
catalog: catalog.yaml
inputs:
  endpoint_events: {path: e, format: json}
  message_events:
"""


def load(folder: Path, sources: str) -> Any:
    (folder / "catalog.yaml").write_text("instances: []\n")
    (folder / "settings.yaml").write_text(SETTINGS + sources)
    return load_settings(folder / "settings.yaml").inputs


def refused(folder: Path, sources: str) -> list[str]:
    with pytest.raises(ConfigError) as error:
        load(folder, sources)
    return [line.removeprefix(f"{folder}/settings.yaml:") for line in str(error.value).split("\n")]


def test_a_source_has_the_name_that_is_written_or_its_number_or_that_of_its_table(tmp_path: Path) -> None:
    inputs = load(tmp_path, "    - {path: a, format: csv}\n    - {name: audit, path: b, format: csv}\n")
    assert list(inputs.by_name()) == ["endpoint_events", "message_events/1", "message_events/audit"]
    assert "message_events" in load(tmp_path, "    {path: a, format: csv}\n").by_name()
    assert "message_events/audit" in load(tmp_path, "    {name: audit, path: a, format: csv}\n").by_name()


def test_keys_of_values_may_be_numbers_true_or_null(tmp_path: Path) -> None:
    sources = f"""\
    path: a
    format: csv
    columns: {COLUMNS.replace("N,", "{from: N, values: {1: 10, 2.0: 20, true: 30, null: 40, x: null}},")}
    where: [{{from: D, is: 1}}, {{from: D, is_not: [OUT, null]}}]
"""
    [source] = load(tmp_path, sources).by_table()["message_events"]
    values = {"1": "10", "2": "20", "true": "30", "": "40", "x": None}
    assert source.columns["message_sequence_number"].values == values
    assert [(each.is_, each.is_not_) for each in source.where] == [(("1",), ()), ((), ("OUT", ""))]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("message_type:", "mesage_type:", "message_events has no such column; did you mean 'message_type'?"),
        ("message_type: T", "event_id: T", "an event needs message_type; name the column, or a constant"),
        ("N,", "{from: N, value: 1},", "needs one of from and value;"),
        ("N,", "3,", "is no column; write the name of a column of the file"),
        ("N,", "{value: ' '},", "has a blank value; write a constant, or remove the column"),
        ("N,", "{value: few},", "is 'few', but message_sequence_number is a whole number"),
        ("N,", "{from: N, other: 1},", "has other without values; write the values, too"),
        ("N,", "{from: N, zone: UTC},", "is no time and has no zone; remove zone or offset"),
        ("N,", "{from: N, lenght: bytes},", "unknown key; did you mean 'length'?"),
        ("N,", "{from: N, length: letters},", "is 'letters'; write one of bytes"),
        ("At,", "{from: At, zone: Europe/Rom},", "'Europe/Rom' is no zone; did you mean 'Europe/Rome'?"),
        ("At,", "{from: At, offset: '2'},", "'2' is no offset; write hours and minutes in quotes"),
        ("At,", "{from: At, zone: UTC, offset: '+02:00'},", "has zone and offset; write one of them"),
        ("SENT", "SEND", "is 'SEND', no event type; did you mean 'SENT'?"),
        ("conversation_id: C,", "", "an event needs conversation_id or conversation_handle;"),
        ("message_sequence_number: N,", "", "an event needs message_id or message_sequence_number;"),
    ],
)
def test_a_mapping_that_does_not_fit_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    columns = COLUMNS.replace(old, new, 1)
    lines = refused(tmp_path, f"    - {{path: a, format: csv, columns: {columns}}}\n")
    assert any(line.startswith("6:") and said in line for line in lines), lines


@pytest.mark.parametrize(
    ("one", "other", "place", "said"),
    [
        ("path: a", "path: b, name: '1'", "7:23:", "[1].name: line 6 has that name, too"),
        ("path: a", "path: a, name: b", "7:7:", "[1]: line 6 reads the same in the same way; remove one of"),
        ("path: a, name: a/b", "path: b", "6:23:", "[0].name: 'a/b' is no name of a source"),
        ("path: a, nam: b", "path: b", "6:17:", "[0].nam: unknown key; did you mean 'name'?"),
        ("path: a, zone: UTC, offset: '+01:00'", "path: b", "6:7:", "[0]: has zone and offset; write one of"),
    ],
)
def test_sources_that_are_one_or_odd_are_refused(
    tmp_path: Path, one: str, other: str, place: str, said: str
) -> None:
    lines = refused(tmp_path, "".join(f"    - {{{each}, format: csv}}\n" for each in (one, other)))
    assert any(line.startswith(f"{place} inputs.message_events{said}") for line in lines), lines


def test_the_settings_say_what_they_said_where_nothing_is_mapped(tmp_path: Path) -> None:
    inputs = load(tmp_path, "    {path: a, format: csv}\n")
    endpoints, messages = (
        {"path": f"{tmp_path}/e", "format": "json"},
        {"path": f"{tmp_path}/a", "format": "csv"},
    )
    described = {"endpoint_events": endpoints, "message_events": messages, "queue_events": None}
    assert inputs.describe() == described
