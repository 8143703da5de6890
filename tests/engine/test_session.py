"""What is said of a server that does not answer."""

import socket

import pytest

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


def _open(monkeypatch: pytest.MonkeyPatch, remote: str) -> None:
    monkeypatch.setenv("SPARK_REMOTE", remote)
    monkeypatch.delenv("ENGINE", raising=False)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    open_session("test")
