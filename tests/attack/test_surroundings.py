"""What is around a night: other machines, and a damaged warehouse."""

from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.config.errors import PipelineError
from pipelines.storage.damage import find_damage
from tests.support.factories import at, by_source, endpoint_event
from tests.support.harness import Project
from tests.support.processes import COMMANDS, ended
from tests.support.scene import (
    ENGINE,
    FIRST,
    SECOND,
    Saved,
    first_night,
    put,
    require_equal,
    second_night,
    tables,
)
from tests.support.small_project import project_in


@pytest.fixture(scope="module")
def both_nights(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Saved]:
    """A project with both nights run; it may be changed and put back."""
    made = project_in(tmp_path_factory.mktemp("both"))
    put(made, "1.jsonl", first_night())
    made.run(session, FIRST)
    put(made, "2.jsonl", second_night())
    made.run(session, SECOND)
    return made, Saved(made)


MACHINES = (
    {"TZ": "Asia/Kolkata", "LANG": "tr_TR.UTF-8", "LC_ALL": "tr_TR.UTF-8"},
    {"TZ": "America/St_Johns", "LANG": "C", "LC_ALL": "POSIX", "PYTHONUTF8": "0"},
)


def test_each_night_on_another_machine(tmp_path: Path, both_nights: tuple[Project, Saved]) -> None:
    one, saved = both_nights
    saved.restore()
    expected = tables(one)
    other = project_in(tmp_path)
    of_nights = zip((FIRST, SECOND), (first_night(), second_night()), MACHINES, strict=True)
    for as_of, events, machine in of_nights:
        put(other, f"{as_of.day}.jsonl", events)
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
    except Exception:
        # As the command does.
        said = "\n".join(find_damage(str(one.folder / "warehouse")))
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
