"""Commands that are printed have the form in which the process was started."""

import sys
from pathlib import Path

import pytest

from pipelines.console import invocation
from pipelines.console.invocation import command_line, is_anywhere, name_command, remember_config


@pytest.fixture(autouse=True)
def without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PYSPARK_GATEWAY_PORT", invocation.ENGINE, invocation.SCRIPT):
        monkeypatch.delenv(name, raising=False)
    remember_config(None)


@pytest.mark.parametrize(
    ("started", "command"),
    [
        (["python3", "-m", "jobs.nightly", "--quiet"], "python3 -m jobs.lint_rules"),
        ([".venv/bin/python", "-X", "dev", "-m", "jobs.next"], ".venv/bin/python -X dev -m jobs.lint_rules"),
        ([".venv/bin/python", "-m", "jobs", "nightly"], ".venv/bin/python -m jobs lint"),
        (["python3", "/opt/my project/jobs/nightly.py"], "python3 '/opt/my project/jobs/lint_rules.py'"),
        (["python3", "jobs/nightly.py", "--out", "-m"], "python3 jobs/lint_rules.py"),
        (["python3", "-m", "pytest", "tests/jobs/x.py"], "priorities lint"),
        (["python3", "-m", "jobs_of_mine.nightly"], "priorities lint"),
        (["python3", "-c", "from pipelines import cli"], "priorities lint"),
        (["python3"], "priorities lint"),
    ],
    ids=str,
)
def test_a_command_is_named_as_the_process_was_started(
    monkeypatch: pytest.MonkeyPatch, started: list[str], command: str
) -> None:
    monkeypatch.setattr(sys, "orig_argv", started)
    assert name_command("lint") == command


def test_the_program_is_a_name_on_the_path_and_else_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for folder in ("bin", "other"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "priorities").touch(mode=0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(sys, "orig_argv", ["/usr/bin/python3", str(tmp_path / "bin" / "priorities"), "next"])
    assert (name_command("next"), is_anywhere()) == ("priorities next", True)
    monkeypatch.setattr(sys, "orig_argv", ["/usr/bin/python3", "other/priorities", "next"])
    assert (name_command("next"), is_anywhere()) == ("other/priorities next", False)


def test_under_spark_submit_it_is_the_script_as_it_was_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "orig_argv", ["python3", "jobs/nightly.py"])
    monkeypatch.setenv(invocation.ENGINE, "spark")
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    assert name_command("ingest") == "./spark-submit.sh jobs/fold.py"
    monkeypatch.setenv(invocation.SCRIPT, "../a b/spark-submit.sh")
    assert name_command("next") == "'../a b/spark-submit.sh' jobs/next.py"


def test_options_and_settings_can_be_pasted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "orig_argv", ["python3"])
    assert command_line("waiting") == "priorities waiting"
    remember_config("my conf/local.yaml")
    line = command_line("next", "--queue", "[Queue 1]")
    assert line == "priorities next --config 'my conf/local.yaml' --queue '[Queue 1]'"
    assert command_line("next", config="other.yaml") == "priorities next --config other.yaml"
