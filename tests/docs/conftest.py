"""The folder of the recipes, new for each test."""

from pathlib import Path

import pytest

from tests.support.recipes import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "srv")
