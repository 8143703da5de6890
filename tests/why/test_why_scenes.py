"""Each cause of `why` holds on a log made for it, and is absent where its condition fails by one step."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.storage.collect import collect_rows
from pipelines.why.cause_bits import codes_of
from pipelines.why.causes import CODES
from pipelines.why.explained import explained_rows
from pipelines.why.read import read_published
from tests.support.factories import Row
from tests.support.model.why import why
from tests.support.random_logs import project_of
from tests.support.why_answers import answer_of, declare_snapshots, require_same_answer
from tests.support.why_scenes import SCENES
from tests.support.why_scenes.joined import JoinedScenes, codes_of_scenes, details_of_scenes, join_scenes


@dataclass(frozen=True)
class Told:
    """Scenes, each open message with its codes, and the answer to `why`."""

    joined: JoinedScenes
    rows: list[Row]
    answer: Row


@pytest.fixture(scope="module")
def told(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> list[Told]:
    """What the engine says; scenes of the same settings share a night."""
    return [ask(session, tmp_path_factory.mktemp("scenes"), joined) for joined in join_scenes(SCENES)]


def ask(session: SparkSession, folder: Path, joined: JoinedScenes) -> Told:
    declared = declare_snapshots(folder, joined.snapshots)
    project = project_of(folder, joined.log, snapshots=declared, activation=joined.activation)
    project.add(joined.log.events)
    project.run(session, joined.log.as_of)
    warehouse, settings = project.warehouse(session), project.settings()
    with read_published(warehouse, joined.log.as_of) as tables:
        found = explained_rows(tables, settings)
        rows = collect_rows(found.rows.select("instance", "message_id", "causes"))
    coded = [{**row, "codes": codes_of(row["causes"])} for row in rows]
    return Told(joined, coded, answer_of(project, session, joined.log.as_of))


@pytest.mark.slow
def test_causes_hold_where_they_should_and_not_one_step_beside(told: list[Told]) -> None:
    found = {}
    for each in told:
        found |= codes_of_scenes(each.joined, each.rows)
    assert len(found) == len(SCENES), "two scenes have one name"
    expected = {scene.name: dict(scene.causes) for scene in SCENES}
    wrong = [
        f"{name}: {found[name]} is not {expected[name]}" for name in expected if found[name] != expected[name]
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_details_are_literal(told: list[Told]) -> None:
    """The columns that a scene names."""
    wrong = []
    for each in told:
        found = details_of_scenes(each.joined, each.answer)
        for scene in each.joined.scenes.values():
            for code, rows in scene.details.items():
                drawn = [{name: row[name] for name in rows[0]} for row in found.get((scene.name, code), [])]
                if sorted(map(repr, drawn)) != sorted(map(repr, rows)):
                    wrong.append(f"{scene.name}: {code} has {drawn}, not {rows}")
    assert not wrong, "\n".join(wrong)


def test_the_answer_equals_the_model(told: list[Told]) -> None:
    for each in told:
        require_same_answer(each.answer, why(each.joined.moment()))


def test_every_code_has_scenes_with_it_and_without_it() -> None:
    # A capture shows whether its view of monitors is complete: see tests/field/test_stopped.py.
    # Two causes are about databases and not about open messages: see tests/why/test_databases.py.
    for code in set(CODES) - {"monitor_missing", "broker_changed", "conversations_gone"}:
        about = [scene for scene in SCENES if scene.name.startswith(f"{code}: ")]
        holds = [code in codes for scene in about for codes in scene.causes.values()]
        assert set(holds) == {True, False}, code
        assert any(code in scene.details for scene in about), code
