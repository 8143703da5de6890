"""What the environment says of the engine is checked before one starts."""

import os
import resource
from pathlib import Path

import pytest

from pipelines.commands.launch import outcome_of
from pipelines.config.errors import ConfigError
from pipelines.engine.environment import check_environment, memory
from pipelines.engine.session import open_session


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("abc", "ENGINE_MEMORY: 'abc' is no size; write one such as 4g or 512m"),
        ("-1g", "ENGINE_MEMORY: '-1g' is no size; write one such as 4g or 512m"),
        ("1", "ENGINE_MEMORY: '1' is no size; write one such as 4g or 512m"),
        ("g", "ENGINE_MEMORY: 'g' is no size; write one such as 4g or 512m"),
        ("٣g", "ENGINE_MEMORY: '٣g' is no size; write one such as 4g or 512m"),
        ("0m", "ENGINE_MEMORY: 0m is too little; an engine needs 512m or more"),
        ("511m", "ENGINE_MEMORY: 511m is too little; an engine needs 512m or more"),
    ],
)
def test_memory_that_no_engine_works_with(monkeypatch: pytest.MonkeyPatch, given: str, says: str) -> None:
    monkeypatch.setenv("ENGINE_MEMORY", given)
    with pytest.raises(ConfigError) as caught:
        check_environment()
    assert str(caught.value) == says


def test_more_memory_than_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGINE_MEMORY", "999999g")
    with pytest.raises(ConfigError, match=r"^ENGINE_MEMORY: 999999g is more than the \d+m of this machine;"):
        check_environment()


def test_memory_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    half = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    monkeypatch.setenv("ENGINE_MEMORY", "")
    assert memory() == half
    monkeypatch.setenv("ENGINE_MEMORY", "1G")
    assert memory() == 1 << 30


def test_an_engine_that_there_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGINE", "banana")
    with pytest.raises(ConfigError, match=r"^ENGINE: 'banana' is no engine; set spark or embedded, or unset"):
        check_environment()


def test_apache_spark_in_a_shell_that_does_not_start_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGINE", "spark")
    for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pipelines.engine.session.SparkSession.getActiveSession", lambda: None)
    with pytest.raises(ConfigError) as caught:
        open_session("test")
    assert str(caught.value) == (
        "ENGINE is spark, but the job was not started on Apache Spark; start it with ./spark-submit.sh, or "
        "unset ENGINE"
    )


@pytest.mark.parametrize("name", ["not there", "file", "a\nb"])
def test_no_folder_for_working_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TMPDIR", str(tmp_path / name))
    with pytest.raises(ConfigError, match=r"^TMPDIR: "):
        check_environment()


def test_an_empty_tmpdir_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "")
    check_environment()
    assert "TMPDIR" not in os.environ


@pytest.mark.parametrize(
    ("limit", "value", "says"),
    [
        ("RLIMIT_NOFILE", 32, "ulimit -n: this process may open 32 files; allow 64 or more"),
        (
            "RLIMIT_AS",
            4 << 30,
            "ulimit -v: this process may use 4096m of address space; allow 6g or more, or set it to "
            "unlimited",
        ),
    ],
)
def test_a_limit_that_is_too_low(monkeypatch: pytest.MonkeyPatch, limit: str, value: int, says: str) -> None:
    of_limits = {getattr(resource, limit): (value, value)}
    monkeypatch.setattr(resource, "getrlimit", lambda which: of_limits.get(which, (-1, -1)))
    with pytest.raises(ConfigError) as caught:
        check_environment()
    assert str(caught.value) == says
    assert outcome_of(ImportError("no segment")) == (2, says)
