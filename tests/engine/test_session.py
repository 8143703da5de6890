"""What a session writes, and what is said of a server that does not answer."""

import socket
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from pipelines.config.errors import ConfigError
from pipelines.engine.session import open_session


@pytest.mark.parametrize("remote", ["localhost", "http://localhost:15002", "sc://", "sc://localhost:port"])
def test_what_is_no_address_of_a_server(monkeypatch: pytest.MonkeyPatch, remote: str) -> None:
    with pytest.raises(ConfigError) as caught:
        _open(monkeypatch, remote)
    assert str(caught.value) == (
        "SPARK_REMOTE is no address of a server; write one such as sc://localhost:15002"
    )


def test_a_server_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its client would go on trying for minutes."""
    with socket.socket() as taken:
        # A port that is taken and that nobody listens to.
        taken.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ConfigError) as caught:
            _open(monkeypatch, f"sc://{place}/;token=secret")
    assert str(caught.value) == (
        f"SPARK_REMOTE: no server answers at {place} (Connection refused); start it, or unset SPARK_REMOTE"
    )


def test_spark_writes_times_as_the_embedded_engine_reads_them(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ENGINE", "spark")
    # This is what Spark does where nobody says otherwise.
    spark.conf.set("spark.sql.parquet.outputTimestampType", "INT96")
    rows = open_session("test").sql("SELECT timestamp'2026-11-20 12:00:00' AS at")
    rows.write.parquet(f"{tmp_path}/rows")
    [file] = tmp_path.glob("rows/*.parquet")
    assert pq.read_schema(file).field("at").type == pa.timestamp("us", tz="UTC")


def _open(monkeypatch: pytest.MonkeyPatch, remote: str) -> None:
    monkeypatch.setenv("SPARK_REMOTE", remote)
    monkeypatch.delenv("ENGINE", raising=False)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    open_session("test")
