"""Gains and losses by queue or instance, contract, service and level, and pairs of levels that overtake."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, functions as F

from pipelines.engine.frames import union_all
from pipelines.questions.overtaken import count_passed_by_level, group_by_key
from schemas.keys import QUEUE
from schemas.whatif import WHATIF_PAIRS, WHATIF_SUMMARY


def summary(moves: DataFrame) -> DataFrame:
    """The table `whatif_summary`.

    Args:
        moves: `received_moves` and `sent_moves`.

    Messages without a position are not counted. Contract and service are those of the receiving endpoint, and
    for transmission those of the sending endpoint.
    """
    rows = moves.where("moved is not null")
    is_receive = F.col("kind") == "receive"
    dimensions = {
        "scope": F.when(is_receive, _bracketed("instance", "database", "queue")).otherwise(
            _bracketed("instance")
        ),
        "contract": F.col("contract"),
        "local_service": F.col("local_service"),
        "level": F.col("level_before").cast("string"),
    }
    parts = [_by(rows, dimension, name) for dimension, name in dimensions.items()]
    return union_all(parts).select(*WHATIF_SUMMARY.names)


def _by(rows: DataFrame, dimension: str, name: Column) -> DataFrame:
    scope = F.when(F.col("kind") == "receive", "queue").otherwise("instance")
    gain, loss = F.greatest(F.col("moved"), F.lit(0)), F.greatest(-F.col("moved"), F.lit(0))
    return (
        rows.withColumns({"dimension": scope if dimension == "scope" else F.lit(dimension), "name": name})
        .groupBy("kind", "dimension", "name")
        .agg(
            F.count(F.lit(1)).alias("messages"),
            F.count(F.when(F.col("moved") > 0, 1)).alias("gained"),
            F.count(F.when(F.col("moved") < 0, 1)).alias("lost"),
            F.sum(gain).alias("positions_gained"),
            F.sum(loss).alias("positions_lost"),
            F.max(gain).alias("largest_gain"),
            F.max(loss).alias("largest_loss"),
            F.median("moved").cast("double").alias("median_moved"),
        )
    )


def _bracketed(*names: str) -> Column:
    """Names as T-SQL writes them: [instance].[database].[queue], with ] doubled."""
    doubled = [F.concat(F.lit("["), F.replace(name, F.lit("]"), F.lit("]]")), F.lit("]")) for name in names]
    return F.concat_ws(".", *doubled)


def pairs(moved: DataFrame) -> DataFrame:
    """The table `whatif_pairs`.

    Args:
        moved: `whatif_messages`.

    Pairs are counted and never joined: numpy counts them from the positions of a queue, in time n log n. A
    queue is one task, with some 100 bytes a message. Queues without moves are left out before.
    """
    rows = moved.where("kind = 'receive' and moved is not null")
    changed = rows.where("moved <> 0").select(*QUEUE).distinct()
    of_changed = rows.join(F.broadcast(changed), QUEUE, "left_semi").select(
        *QUEUE, "position_before", "position_after", "level_before"
    )
    counted = ", ".join(f"{column.name} {column.type}" for column in WHATIF_PAIRS.columns)
    return of_changed.repartition(*QUEUE).mapInArrow(_count, counted)


def _count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Count the pairs of each queue of a partition."""
    whole = [batch for batch in batches if batch.num_rows]
    if not whole:
        return
    rows = pa.Table.from_batches(whole)
    columns = [rows[name].to_numpy() for name in ("position_before", "position_after", "level_before")]
    for queue, indices in group_by_key(rows, QUEUE):
        in_order = indices[np.argsort(columns[0][indices])]
        counts = count_passed_by_level(columns[1][in_order], columns[2][in_order])
        passing, passed = np.nonzero(counts)
        yield pa.record_batch(
            [
                *[pa.array([name] * len(passing), pa.string()) for name in queue],
                pa.array(passing, pa.int32()),
                pa.array(passed, pa.int32()),
                pa.array(counts[passing, passed], pa.int64()),
            ],
            names=WHATIF_PAIRS.names,
        )
