"""Who gains and who loses: messages by queue or instance, contract, service and level."""

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.engine.union import union_all
from schemas.whatif import WHATIF_SUMMARY


def summary(moved: DataFrame) -> DataFrame:
    """The table `whatif_summary`.

    Args:
        moved: `received_moved` and `sent_moved`.

    Messages without a position are in no row. Contract and service are the receiving endpoint's, for
    transmission the sending one's. Source: our choice.
    """
    rows = moved.where("moved is not null")
    is_receive = F.col("kind") == "receive"
    dimensions = {
        "place": F.when(is_receive, _bracketed("instance", "database", "queue")).otherwise(
            _bracketed("instance")
        ),
        "contract": F.col("contract"),
        "local_service": F.col("local_service"),
        "level": F.col("level_before").cast("string"),
    }
    parts = [_by(rows, dimension, name) for dimension, name in dimensions.items()]
    return union_all(parts).select(*WHATIF_SUMMARY.names)


def _by(rows: DataFrame, dimension: str, name: Column) -> DataFrame:
    place = F.when(F.col("kind") == "receive", "queue").otherwise("instance")
    gain, loss = F.greatest(F.col("moved"), F.lit(0)), F.greatest(-F.col("moved"), F.lit(0))
    return (
        rows.withColumns({"dimension": place if dimension == "place" else F.lit(dimension), "name": name})
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
