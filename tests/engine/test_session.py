"""Errors for a server that does not answer, and for a warehouse that an engine can't take."""

import socket

import pytest

from pipelines.config.errors import ConfigError
from pipelines.config.model import SparkSchema
from pipelines.engine.session import open_session, require_engine_of


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


@pytest.mark.parametrize("warehouse", ["s3a://b/x", "hdfs:/x", SparkSchema.model_validate({"schema": "x"})])
def test_the_embedded_engine_takes_folders_of_this_machine(
    monkeypatch: pytest.MonkeyPatch, warehouse: str | SparkSchema
) -> None:
    for name in ("SPARK_REMOTE", "ENGINE", "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError) as caught:
        open_session("test", warehouse)
    place = "spark_catalog.x" if isinstance(warehouse, SparkSchema) else warehouse
    assert str(caught.value) == (
        f"warehouse: the embedded engine takes a folder of this machine, and no {place}; name a folder, or "
        "run this with ./spark-submit.sh"
    )
    require_engine_of("file:///data/x")


def _open(monkeypatch: pytest.MonkeyPatch, remote: str) -> None:
    monkeypatch.setenv("SPARK_REMOTE", remote)
    monkeypatch.delenv("ENGINE", raising=False)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    open_session("test")
