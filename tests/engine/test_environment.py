"""What the environment says of the engine is checked before one starts."""

import os
import resource
import sys
from pathlib import Path

import pytest

from pipelines import cli
from pipelines.commands.launch import outcome_of
from pipelines.config.errors import ConfigError
from pipelines.engine.environment import check_environment, installed_clients, memory, require_engine
from pipelines.engine.session import open_session


def complaint() -> str:
    with pytest.raises(ConfigError) as caught:
        check_environment()
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("ENGINE_MEMORY", "abc", "'abc' is no size; write one such as 4g or 512m"),
        ("ENGINE_MEMORY", "-1g", "'-1g' is no size; write one such as 4g or 512m"),
        ("ENGINE_MEMORY", "1", "'1' is no size; write one such as 4g or 512m"),
        ("ENGINE_MEMORY", "٣g", "'٣g' is no size; write one such as 4g or 512m"),
        ("ENGINE_MEMORY", "511m", "511m is too little; an engine needs 512m or more"),
        ("ENGINE_MEMORY", "999999g", "999999g is more than the "),
        ("ENGINE", "banana", "'banana' is no engine; set spark or embedded, or unset"),
        ("TMPDIR", "not there", ""),
        ("TMPDIR", "file", ""),
        ("TMPDIR", "a\nb", ""),
    ],
)
def test_a_variable_that_no_engine_works_with(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, value: str, says: str
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv(name, str(tmp_path / value) if name == "TMPDIR" else value)
    assert complaint().startswith(f"{name}: {says}")


def test_memory_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    half = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    monkeypatch.setenv("ENGINE_MEMORY", "")
    assert memory() == half
    monkeypatch.setenv("ENGINE_MEMORY", "1G")
    assert memory() == 1 << 30


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
    assert complaint() == says
    assert outcome_of(ImportError("no segment")) == (2, says)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages that is all that there is."""
    for name in [name for name in sys.modules if name.partition(".")[0] in ("pyspark", "pysail")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    for variable in ("ENGINE", "SPARK_REMOTE", "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path


def install(site: Path, module: str, *distributions: str) -> None:
    (site / module).mkdir()
    (site / module / "__init__.py").touch()
    for distribution in distributions:
        (site / f"{distribution}-4.2.0.dist-info").mkdir()


def test_none(site: Path) -> None:
    assert installed_clients() is None
    with pytest.raises(ConfigError) as raised:
        cli.run(["next", "--help"])
    assert str(raised.value).startswith("engine: none is installed; install the extra embedded (pip install ")


def test_one_and_two(site: Path) -> None:
    install(site, "pyspark", "pyspark_client")
    with pytest.raises(ConfigError, match="pyspark is installed without the embedded engine"):
        require_engine()
    install(site, "pysail")
    require_engine()
    assert installed_clients() == ["pyspark_client"]
    (site / "pyspark-4.2.0.dist-info").mkdir()
    with pytest.raises(ConfigError, match=r"^engine: pyspark and pyspark-client are both installed, and .*$"):
        require_engine()


@pytest.mark.parametrize(
    ("variable", "value"),
    [("SPARK_REMOTE", "sc://localhost"), ("ENGINE", "spark"), ("PYSPARK_GATEWAY_PORT", "1")],
)
def test_another_engine_needs_no_embedded_one(
    site: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    install(site, "pyspark", "pyspark")
    monkeypatch.setenv(variable, value)
    require_engine()
