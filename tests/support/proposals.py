"""Proposals of rules."""

import copy
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from tests.support.factories import Row


def other_levels(statements: list[Row]) -> list[Row]:
    """The same rules with the levels upside down."""
    changed = copy.deepcopy(statements)
    for statement in changed:
        for form in statement.values():
            if isinstance(form, dict) and form.get("level") is not None:
                form["level"] = 11 - form["level"]
    return changed


def written(path: Path, content: Any) -> str:
    path.write_text(
        yaml.safe_dump(json.loads(json.dumps(content, default=datetime.isoformat)), allow_unicode=True)
    )
    return str(path)
