"""A command without --config finds its settings."""

from pathlib import Path

import pytest

from pipelines.commands.options import FILE, VARIABLE, find_settings
from tests.support.cases import lines_of_error


@pytest.fixture(autouse=True)
def below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, two below the test's."""
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.delenv(VARIABLE, raising=False)
    return folder


def test_the_nearest_file_counts(tmp_path: Path, below: Path) -> None:
    (tmp_path / FILE).touch()
    assert find_settings() == f"../../{FILE}"
    (below / FILE).mkdir()
    assert find_settings() == f"../../{FILE}"
    (below.parent / FILE).touch()
    assert find_settings() == f"../{FILE}"


def test_the_command_line_comes_first_and_then_the_environment(
    below: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (below / FILE).touch()
    monkeypatch.setenv(VARIABLE, "")
    assert find_settings() == FILE
    monkeypatch.setenv(VARIABLE, "other.yaml")
    assert find_settings() == "other.yaml"
    assert find_settings("given.yaml") == "given.yaml"


def test_none_is_found() -> None:
    assert lines_of_error(Path(), find_settings) == [
        "settings: none found; name the file with --config or PRIORITIES_CONFIG, or run this in a folder "
        "with a priorities.yaml, or below it; init writes one"
    ]
