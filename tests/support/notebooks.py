"""What the notebooks print."""

import base64
from pathlib import Path

from nbformat import NotebookNode

from pipelines.conformance.view import CLASSES

ROOT = Path(__file__).parent.parent.parent


NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.py"))


def figures(notebook: NotebookNode) -> list[bytes]:
    return [
        base64.b64decode(output["data"]["image/png"])
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    ]


def shown(notebook: NotebookNode) -> str:
    """All that the notebook says as text."""
    parts = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            assert output["output_type"] != "error"
            parts.append(output.get("text", "") or output.get("data", {}).get("text/plain", ""))
    return "\n".join(parts)


EXPECTED = {
    # Levels 9 and 5 with three messages each; the first three positions are those of level 9.
    "a_first_look": (2, ["2026-11-20 13:00:00", "TargetQueue", "SQL1"]),
    # The first conversation came first, and the three of level 9 go before it.
    "why_this_order": (1, ["'message_id': 'c0/0'", "'passed_by': 3", "target in SQL1.B: level 5 (no rule"]),
    # Urgent, level 9 with three messages, becomes 10: the levels change and the order does not.
    "rules": (2, ["Urgent, level 9 (SQL1.B)", "Misspelt, level 2 (SQL1.B)", "R301", "raised to 10."]),
    # One of each class; bulk packing goes first, and parcels wait.
    "what_readers_did": (
        1,
        [
            "The queue is ERP1.StockDB.PackingQueue",
            *CLASSES,
            "BulkPacking raised to 10.",
            "level 4 of ERP1.StockDB.PackingQueue waits 23 min 25 s longer; the replay follows the log",
        ],
    ),
}
