"""The public interface: `import pipelines` opens a warehouse, reads tables and asks questions."""

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import pipelines
from pipelines.console.terminal import to_json
from pipelines.nightly.night import describe
from tests.field.running import run
from tests.support.factories import at
from tests.support.processes import ended, run_program
from tests.support.small_project import a_bit_of_everything, project_in

pytestmark = pytest.mark.slow

NEWEST, EARLIER = at(60), at(30)


@pytest.fixture(scope="module")
def config(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Settings of a warehouse with two published moments, the earlier one written last."""
    project = project_in(tmp_path_factory.mktemp("api"))
    with Path(project.config).open("a") as settings:
        settings.write("expect:\n- {oldest_wait: 1 d}\n- {contract: Contract, level_at_least: 2}\n")
    project.add(a_bit_of_everything())
    project.run(session, NEWEST)
    describe(project.warehouse(session), project.settings(), EARLIER)
    return str(project.config)


@pytest.fixture
def warehouse(session: SparkSession, config: str) -> pipelines.OpenWarehouse:
    return pipelines.open_warehouse(config, spark=session)


def test_the_public_names() -> None:
    assert set(pipelines.__all__) <= set(dir(pipelines))
    assert all(getattr(pipelines, name).__doc__ for name in pipelines.__all__)
    methods = [
        getattr(pipelines.OpenWarehouse, name) for name in dir(pipelines.OpenWarehouse) if name[0] != "_"
    ]
    assert all(method.__doc__ for method in methods)
    with pytest.raises(AttributeError, match="has no attribute 'other'"):
        _ = pipelines.other


def test_the_package_imports_nothing_until_it_is_asked() -> None:
    ask = "import pipelines, sys; print([name for name in sys.modules if name.startswith('pipelines')])"
    assert ended([sys.executable, "-c", ask]).stdout == "['pipelines']\n"


def test_tables_are_those_of_the_newest_as_of_or_of_another(warehouse: pipelines.OpenWarehouse) -> None:
    assert warehouse.as_ofs == [EARLIER, NEWEST]
    asked: list[str | datetime | None] = [None, "latest", EARLIER, "2026-11-20T12:30:00Z"]
    for as_of, found in zip(asked, [NEWEST, NEWEST, EARLIER, EARLIER], strict=True):
        for table in ("unresolved", "receive_schedule"):
            rows = warehouse.read(table, as_of).collect()
            assert {row.as_of.replace(tzinfo=UTC) for row in rows} == {found}
    for table in ("receive_schedule", "endpoints"):
        assert len(warehouse.read_pandas(table)) == warehouse.read(table).count() > 0


@pytest.mark.parametrize(
    ("ask", "options"),
    [
        ("next", {"queue": "SQL1.B.TargetQueue"}),
        ("why", {"queue": "SQL1.B.TargetQueue", "limit": 2}),
        ("waiting", {"limit": 3}),
        ("expect", {}),
        ("coverage", {}),
        ("leaks", {"days": 1}),
        ("rejected", {"limit": 2}),
    ],
)
def test_answers_are_those_of_the_commands(
    warehouse: pipelines.OpenWarehouse, config: str, ask: str, options: dict[str, object]
) -> None:
    words = [str(word) for name, value in options.items() for word in (f"--{name}", value)]
    done = run(ask, "--config", config, "--format", "json", *words)
    assert done.code == 0, done.err
    assert json.loads(to_json(getattr(warehouse, ask)(**options))) == json.loads(done.out)


def test_explanations(warehouse: pipelines.OpenWarehouse) -> None:
    row = warehouse.read("receive_schedule").head()
    assert row is not None
    assert warehouse.explain_message(row.message_id)["message_id"] == row.message_id
    assert warehouse.explain_conversation(row.conversation_id)["conversation_id"] == row.conversation_id
    assert warehouse.explain_group(row.conversation_group_id)


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda it: it.read("receive_shedule"), "there is no table 'receive_shedule'; did you mean"),
        (lambda it: it.read("endpoints", NEWEST), "table endpoints is not written for each as_of; leave out"),
        (lambda it: it.read("unresolved", "yesterday"), "as_of: 'yesterday' is not"),
        (lambda it: it.read("unresolved", datetime(2026, 11, 20)), "has no time zone; add tzinfo"),
        (lambda it: it.read("unresolved", at(31)), "--as-of 2026-11-20T12:31:00Z was not published"),
        (lambda it: it.next(), "next: name a queue, or an instance"),
        (lambda it: it.next("Queue", limit=0), "limit: 0 is not a whole number of 1 or more"),
        (lambda it: it.why(limit=float("nan")), "limit: nan is not a whole number of 1 or more"),
        (lambda it: it.rejected(limit=True), "limit: True is not a whole number of 1 or more"),
        (lambda it: it.leaks(days=-1), "days: -1 is not a whole number from 1 to 36500"),
        (lambda it: it.leaks(grace=timedelta(-1)), "is not a timedelta of 0 or more"),
        (lambda it: it.leaks(grace=60), "grace: 60 is not a timedelta of 0 or more"),
        (lambda it: it.differences(), "snapshots: there are none to compare with"),
    ],
)
def test_errors_are_one_line(warehouse: pipelines.OpenWarehouse, ask: object, says: str) -> None:
    with pytest.raises(pipelines.PipelineError) as raised:
        ask(warehouse)  # type: ignore[operator]
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


HOST = """
import faulthandler, os, sys, threading
import pipelines

faulthandler.dump_traceback_later(600, exit=True)

def said(ask):
    try:
        return ask()
    except pipelines.PipelineError as error:
        return str(error)

opened = []
threads = [threading.Thread(target=lambda: opened.append(pipelines.open_warehouse())) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(opened), "opened")
sys.stdout.flush()
if not (child := os.fork()):
    print(said(lambda: opened[0].as_ofs))
    print(said(pipelines.open_warehouse))
    sys.stdout.flush()
    os._exit(0)
os.waitpid(child, 0)
opened[0].spark.stop()
print(said(lambda: opened[0].as_ofs))
print(len(pipelines.open_warehouse().as_ofs), "moments")
print(os.getpid())
"""


def test_threads_a_fork_and_a_stopped_session(config: str, tmp_path: Path) -> None:
    """The embedded engine in a program of its own."""
    done = run_program(tmp_path, HOST, PRIORITIES_CONFIG=config)
    assert done.returncode == 0, done.stderr
    *said, process = done.stdout.splitlines()
    forked = (
        f"process {process} opened the engine, and this one is a fork of it; open the warehouse in a process "
        "that is started by itself (multiprocessing: the start method spawn)"
    )
    stopped = "the session was stopped; open the warehouse again"
    assert said == ["4 opened", forked, forked, stopped, "2 moments"], done.stderr


def test_settings_are_found_as_the_commands_find_them(
    session: SparkSession, config: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRIORITIES_CONFIG", config)
    assert pipelines.open_warehouse(spark=session).as_ofs == [EARLIER, NEWEST]
    monkeypatch.delenv("PRIORITIES_CONFIG")
    with pytest.raises(pipelines.ConfigError, match="settings: none found"):
        pipelines.open_warehouse(spark=session)
