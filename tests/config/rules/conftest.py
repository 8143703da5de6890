"""Scripts of instance I and database D."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from pipelines.config.rules.statements import RuleFile
from tests.support.rule_scripts import read_script


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str], RuleFile]:
    """Reads a script."""
    return partial(read_script, tmp_path)
