"""Paths of the settings: secrets in them are refused, and what is read is apart from what is written."""

import os
from pathlib import Path

import pytest

from pipelines.config.paths import overlap, without_secrets
from pipelines.settings.load import load_settings
from tests.support.cases import lines_of_error


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("abfss://c@h/x%3Fsig%3DS3CRET", "abfss://c@h/x?..."),
        ("abfss://c@h/x#sig=S3CRET", "abfss://c@h/x?..."),
        ("abfss://c:S3CRET@h/x", "abfss://...@h/x"),
        ("wasbs://c@account/x?sv=2026&S3CRET=1", "wasbs://c@account/x?..."),
        ("https://a.blob.core.windows.net/c/x?S3CRET", "https://a.blob.core.windows.net/c/x?..."),
        ("https://S3CRET@host/x", "https://...@host/x"),
        ("s3a://b/k?X-Amz-Signature=S3CRET", "s3a://b/k?..."),
        ("S3A://AKIAS3CRET@b/x", "S3A://...@b/x"),
        ("s3a:/user:S3CRET@b/x", "s3a://...@b/x"),
        ("s3a://user%3AS3CRET@b/x", "s3a://...@b/x"),
        ("s3a://AKIA1:S3/CR+ET@bucket/events", "s3a://...@bucket/events"),
        ("hdfs://user:S3/CR+ET@host/events", "hdfs://...@host/events"),
        ("gs://b/x?GoogleAccessId=S3CRET", "gs://b/x?..."),
        ("file:///x?token=S3CRET", "file:///x?..."),
        ("/data/x?token=S3CRET", "/data/x?..."),
        ("//host/x?sv=1&sig=S3CRET", "//host/x?..."),
    ],
)
def test_secrets_are_seen_and_not_shown(path: str, shown: str) -> None:
    assert without_secrets(path) == shown


def test_what_is_no_secret_is_shown() -> None:
    uris = "abfss://events@account.dfs.core.windows.net/a hdfs://user@host/x s3a://b/a@b:c s3a://b/what?"
    paths = "s3a://b/day=3/x file:///a:b@c /data/V?.sql /data/token=5/x"
    for path in f"{uris} {paths}".split():
        assert without_secrets(path) == path


SETTINGS = """warehouse: {warehouse}
inputs:
  endpoint_events: {{path: {endpoints}, format: json}}
  message_events: {{path: {messages}, format: json}}
catalog: {catalog}
rules: [{{path: {rules}}}]
"""
GOOD = {"warehouse": "warehouse", "endpoints": "in/endpoints", "messages": "in/messages"}
GOOD |= {"catalog": "catalog.yaml", "rules": "rules.yaml"}


def load(folder: Path, **changes: str) -> None:
    (folder / "catalog.yaml").write_text("instances: []\n")
    (folder / "rules.yaml").write_text("[]\n")
    (folder / "settings.yaml").write_text(SETTINGS.format(**{**GOOD, **changes}))
    load_settings(folder / "settings.yaml")


def refusal(folder: Path, **changes: str) -> list[str]:
    return lines_of_error(folder, load, folder, **changes)


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("path", ["abfss://c@h/x?sig=S3CRET", "s3a://AKIA1:S3/CR+ET@h/x"])
def test_no_setting_takes_a_secret(tmp_path: Path, name: str, path: str) -> None:
    [line] = refusal(tmp_path, **{name: path})
    assert without_secrets(path) in line
    assert [word for word in ("S3CRET", "AKIA1", "S3/", "CR+ET") if word in line] == []


@pytest.mark.parametrize("changes", [{"warehouse": "abfss://c@h/x"}, {"messages": "in/endpoints"}], ids=str)
def test_a_path_without_secrets_is_taken(tmp_path: Path, changes: dict[str, str]) -> None:
    """Also one empty folder for two inputs."""
    load(tmp_path, **changes)


def test_every_way_to_write_a_file_uri_is_one_place(tmp_path: Path) -> None:
    for written in ("file:/data/x", "file:///data/x"):
        load(tmp_path, warehouse=written)
        assert load_settings(tmp_path / "settings.yaml").warehouse == "file:///data/x"


@pytest.mark.parametrize(
    ("warehouse", "how"),
    [
        ("in/endpoints/", "is"),
        ("in/../in/endpoints", "is"),
        ("link/endpoints", "is"),
        ("file://{}/link/endpoints", "is"),
        ("in/endpoints/deep/warehouse", "lies in"),
    ],
)
def test_a_warehouse_is_no_input(tmp_path: Path, warehouse: str, how: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "in")
    [line] = refusal(tmp_path, warehouse=warehouse.format(tmp_path))
    assert line.startswith("settings.yaml:1:12: warehouse: ")
    assert line.endswith(f" {how} in/endpoints, which is inputs.endpoint_events.path; name another folder")


def test_a_warehouse_that_holds_both_inputs(tmp_path: Path) -> None:
    assert [" holds in/" in line for line in refusal(tmp_path, warehouse="in")] == [True, True]


def test_a_snapshot_is_no_warehouse(tmp_path: Path) -> None:
    (tmp_path / "settings.yaml").write_text(
        "warehouse: views/warehouse\n"
        "snapshots:\n"
        "  - {path: views, instance: I, database: D, taken_at: 2026-11-20T10:00:00Z, format: csv}\n"
    )
    assert lines_of_error(tmp_path, load_settings, tmp_path / "settings.yaml") == [
        "settings.yaml:1:12: warehouse: views/warehouse lies in views, which is snapshots[0].path; "
        "name another folder"
    ]


@pytest.mark.parametrize(
    ("one", "other", "how"),
    [
        ("s3a://bucket/a", "s3://BUCKET/a/", "is"),
        ("s3a://bucket/a/b", "s3://bucket/a", "lies in"),
        ("abfss://c@h/a", "abfs://c@h/a/../a/b", "holds"),
        ("s3a://bucket/a", "s3a://bucket/ab", None),
        ("s3a://bucket/a", "s3a://other/a", None),
        ("/bucket/a", "s3a://bucket/a", None),
        ("/a/b c", "file:/a/b%20c", "is"),
    ],
)
def test_paths_that_share_files(one: str, other: str, how: str | None) -> None:
    assert overlap(one, other) == how


def test_a_folder_by_another_name_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a disk where case does not matter."""
    (tmp_path / "data").mkdir()
    real = os.path.samefile
    monkeypatch.setattr(os.path, "samefile", lambda one, other: real(str(one).lower(), str(other).lower()))
    assert overlap(str(tmp_path / "Data" / "warehouse"), str(tmp_path / "data")) == "lies in"
