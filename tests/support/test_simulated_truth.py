"""The truth of simulated servers, of two databases with one message."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.simulation.database import RETAINED, Database, Endpoint, Queue, Row
from tests.support.simulation.shots import Shot, Shown
from tests.support.simulation.truth import Truth

SIX, SEVEN, EIGHT = (datetime(2026, 11, 16, hour, tzinfo=UTC) for hour in (6, 7, 8))


@pytest.mark.parametrize("has_retained", [True, False])
def test_a_row_that_retention_keeps_has_arrived(has_retained: bool) -> None:
    """The sender shows a message at seven, and its receiver at eight as received; captures lack such rows."""
    sender, receiver = (
        Database(name, "SQL1", name, number, queues={"Q": Queue(1)}, services={f"//{name}": "Q"})
        for number, name in enumerate(("From", "To"), start=5)
    )
    names: dict[str, Any] = {
        "contract": "Work",
        "group": "G",
        "level": 5,
        "created_at": SIX,
        "expires_at": EIGHT,
    }
    sender.endpoints["H"] = Endpoint("H", "C", True, local="//From", remote="//To", state="SO", **names)
    sender.transmission = [Row("H", "C", True, 0, "Text", SIX)]
    receiver.queued = [Row("T", "C", True, 0, "Text", SIX, status=RETAINED, queue="Q")]
    shots = [
        Shot("SQL1", SEVEN, True, {"From": Shown(sender, True, [*sender.endpoints.values()])}, {}),
        Shot("SQL1", SEVEN, True, {"To": Shown(Database("To", "SQL1", "To", 6), True, [])}, {}),
        Shot("SQL1", EIGHT, True, {"To": Shown(receiver, True, [], has_retained=has_retained)}, {}),
    ]
    days: Any = SimpleNamespace(
        servers=SimpleNamespace(databases=[sender, receiver]), place=lambda name: ("SQL1", name)
    )
    truth = Truth(days, shots)
    waiting = {as_of: len(truth.transmission_schedule(as_of)) for as_of in (SEVEN, EIGHT)}
    assert waiting == {SEVEN: 1, EIGHT: 0 if has_retained else 1}
