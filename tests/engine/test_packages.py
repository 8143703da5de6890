"""Which engine is installed: one, none or two; the start says so in one line."""

import sys
from pathlib import Path

import pytest

from pipelines import cli
from pipelines.config.errors import ConfigError
from pipelines.engine.packages import installed_clients, require_engine


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
