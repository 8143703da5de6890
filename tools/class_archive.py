"""A small job whose classes Java archives: `tools/setup` starts it. It ends after Java."""

import tempfile

from pyspark.sql import SparkSession, Window, functions as F

with tempfile.TemporaryDirectory() as folder:
    spark = SparkSession.builder.getOrCreate()
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    rows = spark.range(9).withColumn("day", F.expr("date_add(DATE'2026-11-20', int(id % 2))"))
    rows.write.format("delta").partitionBy("day").save(f"{folder}/table")
    read = spark.read.format("delta").load(f"{folder}/table").where("day > DATE'2026-11-19'")
    ranked = read.withColumn("rank", F.row_number().over(Window.partitionBy("day").orderBy("id")))
    joined = ranked.join(F.broadcast(rows.groupBy("day").agg(F.max("id").alias("last"))), "day", "left")
    joined.orderBy("day", "id").write.parquet(f"{folder}/rows")
    spark.read.parquet(f"{folder}/rows").unionByName(joined).distinct().collect()
    spark.stop()
gateway.shutdown()
gateway.proc.stdin.close()
gateway.proc.wait()
