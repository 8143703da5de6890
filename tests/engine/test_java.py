"""What the log says when the process of Java ends."""

import logging

import pytest

from pipelines.engine.java import is_of_another_than_py4j


def test_py4j_logs_no_traceback_when_java_has_ended(caplog: pytest.LogCaptureFixture) -> None:
    root = logging.getLogger()
    root.addFilter(is_of_another_than_py4j)
    try:
        logged = compile(
            "logging.exception('Exception while sending command.')", "/venv/py4j/java_gateway.py", "exec"
        )
        exec(logged, {"logging": logging})
        logging.error("a table is gone")
    finally:
        root.removeFilter(is_of_another_than_py4j)
    assert [record.message for record in caplog.records] == ["a table is gone"]
