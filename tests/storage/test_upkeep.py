"""Which rows of a table are pruned."""

from datetime import date, datetime
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

from pipelines.storage.upkeep import Upkeep
from schemas.outputs import SENDS

FIRST = date(2026, 11, 22)


def test_messages_that_were_sent_before_the_first_day_are_pruned(tmp_path: Path) -> None:
    """Rows of `sends` never close; they have the day on which the message was sent."""
    rows = [
        {"conversation_id": f"C{day}", "sent_at": datetime(2026, 11, day, 12), "sent_on": date(2026, 11, day)}
        for day in (20, 21, 21, 22, 23)
    ]
    write_deltalake(tmp_path / SENDS.name, pa.Table.from_pylist(rows), partition_by=["sent_on"])
    upkeep = Upkeep(str(tmp_path), keep_hours=0)
    unpruned = upkeep.needs(SENDS, before=None, last_fold=1)
    assert unpruned is not None
    assert unpruned.pruned == []
    needs = upkeep.needs(SENDS, before=None, last_fold=1, first_day=FIRST)
    assert needs is not None
    assert (needs.pruned, needs.spread) == ([date(2026, 11, 20), date(2026, 11, 21)], [])
    assert upkeep.count_pruned(SENDS, FIRST) == 3
    upkeep.prune(SENDS, FIRST)
    assert {row["conversation_id"] for row in upkeep.rows(SENDS)} == {"C22", "C23"}
