"""The sentences about causes, on tiny logs: each holds where it should, and not one step beside."""

import pytest

from tests.support.model.moment import OpenMessage
from tests.support.model.why import CODES, causes_by_message, why
from tests.support.why_scenes import SCENES, Scene

BY_NAME = pytest.mark.parametrize("scene", SCENES, ids=[scene.name for scene in SCENES])


@BY_NAME
def test_causes_of_each_message(scene: Scene) -> None:
    causes = causes_by_message(scene.moment())
    several = [message.message_id for message in causes]

    def key(message: OpenMessage) -> str:
        twice = several.count(message.message_id) > 1
        return f"{message.message_id}@{message.place[0]}" if twice else message.message_id

    found = {key(message): [cause.code for cause in own] for message, own in causes.items()}
    assert found == scene.causes


@BY_NAME
def test_details(scene: Scene) -> None:
    found = {row["code"]: row["details"] for row in why(scene.moment())["causes"]}
    assert {code: found[code] for code in scene.details} == scene.details


def test_scenes_have_every_code_with_and_without_it() -> None:
    # A capture shows whether its view of monitors is complete: see tests/field/test_stopped.py.
    # Two causes are about databases and not about open messages: see tests/why/test_databases.py.
    for code in set(CODES) - {"monitor_missing", "broker_changed", "conversations_gone"}:
        about = [scene for scene in SCENES if scene.name.startswith(f"{code}: ")]
        holds = [code in codes for scene in about for codes in scene.causes.values()]
        assert set(holds) == {True, False}, code
        assert any(code in scene.details for scene in about), code


def test_scenes_have_names_of_their_own() -> None:
    names = [scene.name for scene in SCENES]
    assert sorted(set(names)) == sorted(names)
