"""Which levels pass which: pairs of ready messages that stand in the other order afterwards."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, functions as F

from pipelines.questions.overtaken import count_passed_by_level, group_by_key
from schemas.keys import QUEUE
from schemas.whatif import WHATIF_PAIRS


def pairs(moved: DataFrame) -> DataFrame:
    """The table `whatif_pairs`.

    Args:
        moved: `whatif_messages`.

    Pairs are counted and never joined: the positions of a queue go through numpy as columns of numbers, in
    time n log n. A queue is one task, with some 100 bytes a message. Queues in which nothing moves are left
    out before. Source: our choice.
    """
    rows = moved.where("kind = 'receive' and moved is not null")
    changed = rows.where("moved <> 0").select(*QUEUE).distinct()
    asked = rows.join(F.broadcast(changed), QUEUE, "left_semi").select(
        *QUEUE, "position_before", "position_after", "level_before"
    )
    counted = ", ".join(f"{column.name} {column.type}" for column in WHATIF_PAIRS.columns)
    return asked.repartition(*QUEUE).mapInArrow(_count, counted)


def _count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Count the pairs of each queue of a partition."""
    whole = [batch for batch in batches if batch.num_rows]
    if not whole:
        return
    rows = pa.Table.from_batches(whole)
    columns = [rows[name].to_numpy() for name in ("position_before", "position_after", "level_before")]
    for place, there in group_by_key(rows, QUEUE):
        own = there[np.argsort(columns[0][there])]
        found = count_passed_by_level(columns[1][own], columns[2][own])
        passing, passed = np.nonzero(found)
        yield pa.record_batch(
            [
                *[pa.array([name] * len(passing), pa.string()) for name in place],
                pa.array(passing, pa.int32()),
                pa.array(passed, pa.int32()),
                pa.array(found[passing, passed], pa.int64()),
            ],
            names=WHATIF_PAIRS.names,
        )
