"""What is around a night: other moments, machines, settings of Spark, and a damaged warehouse."""

from contextlib import nullcontext
from datetime import datetime
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.config.errors import ConfigError, PipelineError
from pipelines.engine.errors import fault_of
from tests.support.factories import at, by_source, endpoint_event
from tests.support.harness import Project
from tests.support.processes import COMMANDS, ended
from tests.support.scene import (
    ENGINE,
    FIRST,
    SECOND,
    Saved,
    first_night,
    project,
    put,
    require_equal,
    second_night,
    tables,
)

BEFORE_ALL = at(day=-4000)
"""An as_of that is refused, after its night has ingested what is there."""


@pytest.fixture(scope="module")
def both_nights(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Saved]:
    """A project with both nights run; it may be changed and put back."""
    made = project(tmp_path_factory.mktemp("both"))
    put(made, "1.jsonl", first_night())
    made.run(session, FIRST)
    put(made, "2.jsonl", second_night())
    made.run(session, SECOND)
    return made, Saved(made)


def fresh(folder: Path) -> Project:
    made = project(folder)
    put(made, "1.jsonl", first_night())
    put(made, "2.jsonl", second_night())
    return made


@pytest.mark.parametrize(
    "order",
    [
        [at(day=4000), SECOND, FIRST],
        [BEFORE_ALL, FIRST, SECOND],
        [SECOND, FIRST, BEFORE_ALL, FIRST],
    ],
    ids=["from the future", "from before everything", "yesterday after today"],
)
def test_as_of_in_any_order(
    session: SparkSession, tmp_path: Path, both_nights: tuple[Project, Saved], order: list[datetime]
) -> None:
    """The schedules of an as_of don't depend on which ones were run before."""
    one, saved = both_nights
    saved.restore()
    one.run(session, FIRST)
    expected = of_both(one)
    other = fresh(tmp_path)
    for as_of in order:
        with pytest.raises(ConfigError) if as_of == BEFORE_ALL else nullcontext():
            other.run(session, as_of)
    assert of_both(other) == expected


def of_both(project: Project) -> dict[str, list[str]]:
    """The rows of these two as_ofs."""
    found = {}
    for name in ("group_priorities", "receive_schedule", "transmission_schedule", "unresolved"):
        rows = [row for row in project.table(name) if row["as_of"] in (FIRST, SECOND)]
        found[name] = sorted(str(sorted(row.items())) for row in rows)
    return found


@pytest.mark.parametrize(
    "machine",
    [
        {"TZ": "Asia/Kolkata", "LANG": "tr_TR.UTF-8", "LC_ALL": "tr_TR.UTF-8"},
        {"TZ": "America/St_Johns", "LANG": "C", "LC_ALL": "POSIX", "PYTHONUTF8": "0"},
    ],
    ids=["Kolkata and Turkey", "St. John's and POSIX"],
)
def test_on_another_machine(
    tmp_path: Path, both_nights: tuple[Project, Saved], machine: dict[str, str]
) -> None:
    one, saved = both_nights
    saved.restore()
    expected = tables(one)
    other = project(tmp_path)
    for number, (events, as_of) in enumerate(((first_night(), FIRST), (second_night(), SECOND))):
        put(other, f"{number + 1}.jsonl", events)
        command = [*COMMANDS[ENGINE], "--config", other.config, "--as-of", as_of.isoformat()]
        done = ended(command, machine)
        assert done.returncode == 0, done.stderr[-3000:]
    require_equal(expected, other)


@pytest.mark.parametrize("name", ["message_events", "endpoints", "batches", "receive_schedule"])
@pytest.mark.parametrize(
    "damage", ["a data file is gone", "a data file is cut", "a commit is no JSON", "a commit is gone"]
)
def test_a_damaged_table(
    session: SparkSession, both_nights: tuple[Project, Saved], name: str, damage: str
) -> None:
    """A run over it either stops and names the table, or does not need what is damaged."""
    one, saved = both_nights
    saved.restore()
    expected = tables(one)
    table = DeltaTable(str(one.folder / "warehouse" / name))
    data = sorted(Path(path.removeprefix("file://")) for path in table.file_uris())
    log = one.folder / "warehouse" / name / "_delta_log" / f"{table.version():020d}.json"
    if damage == "a data file is gone":
        data[-1].unlink()
    elif damage == "a data file is cut":
        data[-1].write_bytes(data[-1].read_bytes()[:50])
    elif damage == "a commit is no JSON":
        log.write_text("{")
    else:
        log.unlink()
    put(one, "3.jsonl", by_source(endpoint_event(conversation="third", event_time=at(70, day=1))))
    said = None
    try:
        one.run(session, SECOND)
    except PipelineError as error:
        said = str(error)
    except Exception as error:
        said = fault_of(error)
    for source in ("endpoint_events", "message_events", "queue_events"):
        (one.folder / source / "3.jsonl").unlink()
    if said is None:
        # What was damaged was replaced, or is of another day: nothing that is public was lost.
        require_equal(expected, one, but={"endpoint_events", "endpoints"})
        return
    assert name in said
    saved.restore()
    one.run(session, SECOND)
    require_equal(expected, one)


def test_clocks_that_jump_between_nights(session: SparkSession, tmp_path: Path) -> None:
    """One batch is a year ahead, one a year behind: what came before and after is as it was."""
    jumps = [
        by_source(endpoint_event(conversation=f"jump {sign}", event_time=at(3, day=365 * sign)))
        for sign in (1, -1)
    ]
    calm, jumpy = project(tmp_path / "calm"), project(tmp_path / "jumpy")
    for number, events in enumerate((first_night(), *jumps, second_night())):
        for made in (calm, jumpy):
            put(made, f"{number}.jsonl", events)
        jumpy.run(session, FIRST)
    calm.run(session, FIRST)
    for made in (calm, jumpy):
        made.run(session, SECOND)
    require_equal(tables(calm), jumpy)
