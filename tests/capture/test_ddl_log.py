"""The script of the DDL trigger is T-SQL, and its table is what is read."""

import pytest
from sqlfluff.core import FluffConfig, Linter

from pipelines import cli
from pipelines.capture.script import ddl_log_script
from pipelines.config.errors import ConfigError
from pipelines.server.ddl_log import COLUMNS


def test_the_script_is_tsql_and_writes_what_is_read() -> None:
    script = ddl_log_script()
    parsed = Linter(config=FluffConfig(overrides={"dialect": "tsql"})).parse_string(script)
    assert parsed.violations == []
    for column in (*COLUMNS, "ServerName"):
        assert f"    {column} " in script
        assert f"{column})[1]'" in script


def test_capture_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["capture", "--print-sql", "--ddl-log"]) == 0
    assert capsys.readouterr().out == ddl_log_script()
    with pytest.raises((ConfigError, SystemExit)):
        cli.run(["capture", "--ddl-log", "--server", "SQL1"])
