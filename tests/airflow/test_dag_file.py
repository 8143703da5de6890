"""The DAG file in Airflow's own environment; make airflow-test runs this with .venv-airflow."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from types import ModuleType

import pytest

# Before Airflow is imported: no settings of somebody's own, no examples, nothing written elsewhere.
HOME = tempfile.TemporaryDirectory(prefix="airflow-")
os.environ |= {"AIRFLOW_HOME": HOME.name, "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}

from airflow.sdk.exceptions import AirflowException, AirflowFailException  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
DAG_FILE = ROOT / "dags" / "conversation_priorities.py"
AT_THREE = datetime(2026, 11, 21, 3, tzinfo=UTC)
RETRIED = r"exit code {}, .*; tried again while tries are left"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("conversation_priorities", DAG_FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def module() -> ModuleType:
    return load()


@pytest.fixture
def stand_in(module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose spark-submit.sh is for the test to write."""
    monkeypatch.setattr(module, "PROJECT", tmp_path)
    script = tmp_path / "spark-submit.sh"
    script.touch(0o755)
    return script


def test_nothing_of_the_pipeline_is_imported() -> None:
    program = (
        "import runpy, sys; runpy.run_path(sys.argv[1]); "
        "print(sorted({name.split('.')[0] for name in sys.modules} & set(sys.argv[2:])))"
    )
    packages = ["jobs", "pipelines", "pysail", "pyspark", "schemas"]
    done = subprocess.run(
        [sys.executable, "-c", program, str(DAG_FILE), *packages],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"


def test_one_task_after_the_other_one_run_at_a_time(module: ModuleType) -> None:
    dag = module.dag
    order = [task.task_id for task in dag.topological_sort()]
    following = {name: dag.get_task(name).downstream_task_ids for name in order}

    assert order == ["as_of", "fold", "schedules", "expect"]
    assert following == {
        "as_of": {"fold"},
        "fold": {"schedules"},
        "schedules": {"expect"},
        "expect": set(),
    }
    assert (dag.max_active_runs, dag.catchup) == (1, False)
    assert {task.retries for task in dag.tasks} == {2}


@pytest.mark.parametrize("engine", ["spark", "embedded"])
@pytest.mark.parametrize("job", ["fold", "schedules", "expect"])
def test_the_jobs_are_there_on_every_engine(module: ModuleType, engine: str, job: str) -> None:
    program, *parts = [part.format(job) for part in module.COMMANDS[engine]]

    assert (ROOT / program).exists()
    assert (ROOT / parts[-1].removesuffix(".py").replace(".", "/")).with_suffix(".py").exists()


def test_an_unknown_engine_is_not_tried_again(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ENGINE", "sail")

    with pytest.raises(AirflowFailException, match="'sail' is no engine; write spark or embedded"):
        execute(module, module.PipelineJob(task_id="x", job="x", options=[]))


GIVEN = "2026-11-18T12:30:00Z"
IN_BERLIN = datetime(2026, 11, 21, 1, tzinfo=timezone(timedelta(hours=2)))
AS_OF = {
    "at three": (None, "midnight", AT_THREE, "2026-11-21T00:00:00+00:00"),
    "at midnight": (None, "midnight", AT_THREE.replace(hour=0), "2026-11-21T00:00:00+00:00"),
    "another zone": (None, "midnight", IN_BERLIN, "2026-11-20T00:00:00+00:00"),
    "latest": (None, "latest", AT_THREE, "latest"),
    "a backfill of latest": (GIVEN, "latest", AT_THREE, GIVEN),
    "given": (GIVEN, "midnight", AT_THREE, GIVEN),
}


@pytest.mark.parametrize("case", AS_OF)
def test_as_of(module: ModuleType, case: str) -> None:
    given, default, moment, expected = AS_OF[case]
    assert module.decide_as_of(given, default, moment) == expected


def test_the_environment_says_what_a_scheduled_run_describes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CONVERSATION_PRIORITIES_AS_OF", raising=False)
    params = load().dag.params
    assert (params["as_of"], params["default_as_of"]) == (None, "midnight")
    monkeypatch.setenv("CONVERSATION_PRIORITIES_AS_OF", "latest")
    assert load().dag.params["default_as_of"] == "latest"
    monkeypatch.setenv("CONVERSATION_PRIORITIES_AS_OF", "noon")
    with pytest.raises(ValueError, match="'noon' is unknown; write midnight or latest"):
        load()


@pytest.mark.parametrize(
    ("line", "error", "message"),
    [
        ("exit 1", AirflowException, RETRIED.format(1)),
        ("exit 2", AirflowFailException, "exit code 2, .*; not tried again"),
        ("exit 3", AirflowFailException, "exit code 3, .*; not tried again"),
        ("exit 6", AirflowFailException, "exit code 6, .*; not tried again"),
        ("exit 77", AirflowException, RETRIED.format(77)),
        ("exit 143", AirflowException, RETRIED.format(143)),
        # As a shell tells it.
        (
            "kill -9 $$",
            AirflowException,
            "exit code 137, it was killed, .*; tried again.*",
        ),
    ],
)
def test_exit_codes(
    module: ModuleType, stand_in: Path, line: str, error: type[Exception], message: str
) -> None:
    stand_in.write_text(f"#!/bin/bash\n{line}\n")
    with pytest.raises(error, match=f"^x: {message}$") as raised:
        execute(module, module.PipelineJob(task_id="x", job="x", options=[]))
    assert type(raised.value) is error


def test_the_job_gets_its_options_as_they_are(module: ModuleType, stand_in: Path, tmp_path: Path) -> None:
    stand_in.write_text('#!/bin/bash\nprintf "%s|" "$PWD" "$@" >told\n')

    execute(module, module.PipelineJob(task_id="x", job="x", options=["--config", "two words"]))

    assert (tmp_path / "told").read_text() == f"{tmp_path}|jobs/x.py|--config|two words|"


def test_a_task_that_is_ended_ends_its_job(module: ModuleType, stand_in: Path, tmp_path: Path) -> None:
    stand_in.write_text("#!/bin/bash\ntrap 'exit 143' TERM\ntouch ready\nwhile :; do sleep 0.05; done\n")
    job = module.PipelineJob(task_id="x", job="x", options=[])
    errors: list[str] = []

    def run() -> None:
        try:
            execute(module, job)
        except AirflowException as error:
            errors.append(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    until = time.monotonic() + 10
    while not (tmp_path / "ready").exists() and time.monotonic() < until:
        time.sleep(0.01)
    job.on_kill()
    thread.join(timeout=10)

    assert not thread.is_alive()
    assert errors == ["x: exit code 143, it was asked to end; tried again while tries are left"]


def execute(module: ModuleType, job: object) -> None:
    """The operator's own code, without the guard that wants a task's run around it."""
    module.PipelineJob.execute.__wrapped__(job, {})
