"""What the log of a Delta table says of a commit."""

import json
from collections.abc import Iterator
from typing import Any

from pipelines.storage.inputs.paths import open_file


def actions_of(path: str, version: int) -> Iterator[dict[str, Any]]:
    """The actions of one commit, in the log's order.

    Raises:
        FileNotFoundError: the log does not have this version, or no longer.
    """
    with open_file(f"{path}/_delta_log/{version:020}.json") as file:
        text = file.read().decode()
    return (json.loads(line) for line in text.splitlines() if line)


def rows_added(path: str, version: int) -> tuple[int, int]:
    """How many rows a commit added, in how many files."""
    added = [action["add"] for action in actions_of(path, version) if "add" in action]
    return sum(json.loads(each.get("stats") or "{}").get("numRecords", 0) for each in added), len(added)
