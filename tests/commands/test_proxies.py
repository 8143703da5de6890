"""A user's proxy is for other machines: the embedded engine speaks to itself without one."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipelines.config.errors import ConfigError
from pipelines.engine import session
from tests.support.processes import run_program

ASKS = """
import os
from pipelines.engine.session import open_session
before = dict(os.environ)
assert open_session("test").range(3).count() == 3
names = [name for name in before if name.lower().endswith("_proxy")]
assert names and all(os.environ[name] == before[name] for name in names)
"""
NAMES = ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "grpc_proxy")


@contextmanager
def proxy() -> Iterator[tuple[str, list[bytes]]]:
    """A proxy that answers nothing, and what came to it."""
    came: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def listen() -> None:
            while True:
                try:
                    came.append(server.accept()[0].recv(100))
                except OSError:
                    return

        threading.Thread(target=listen, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", came


def test_the_embedded_engine_takes_no_proxy_and_leaves_it_set(tmp_path: Path) -> None:
    with proxy() as (address, came):
        variables = dict.fromkeys(NAMES, address) | {"no_grpc_proxy": "example.org", "NO_PROXY": ""}
        done = run_program(tmp_path, ASKS, **variables)
    assert done.returncode == 0, done.stderr
    assert came == []


def test_a_server_behind_a_proxy_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxy is asked, and the job says within seconds that nobody answers."""
    monkeypatch.setattr(session, "ANSWERS_WITHIN", 2)
    with proxy() as (address, came):
        monkeypatch.setenv("http_proxy", address)
        with pytest.raises(ConfigError) as raised:
            session._require_server("sc://engine.invalid:15002")
    assert str(raised.value) == (
        "SPARK_REMOTE: no server answers at engine.invalid:15002 (what listens there did not answer as Spark "
        "Connect does within 2 s, through the proxy that http_proxy names); start it, or unset SPARK_REMOTE"
    )
    assert came[0].startswith(b"CONNECT engine.invalid:15002")
