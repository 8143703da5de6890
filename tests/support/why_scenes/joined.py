"""Many scenes as one log, for few runs of the engine; and what an answer to it says of each scene."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.support.factories import Row
from tests.support.harness import MARKED, one_log
from tests.support.model.moment import Moment
from tests.support.model.snapshots import Snapshot
from tests.support.model.why import MOST_OF_THOSE_AHEAD, OF_THOSE_AHEAD, in_order
from tests.support.strategies import Log

from .scene import Scene

IDS = (*MARKED, "conversation_handle")
PLACE = ("kind", "instance", "database", "queue")


@dataclass(frozen=True)
class JoinedScenes:
    """Scenes of the same settings as one log: their instances and ids have the scene's mark before them.

    Attributes:
        scenes: by mark.
        log: their events, catalogs and rules.
        snapshots: their server views.
        activation: the settings of activation; None computes none.
    """

    scenes: Mapping[str, Scene]
    log: Log
    snapshots: Sequence[Snapshot]
    activation: dict[str, Any] | None

    def moment(self) -> Moment:
        """The model's tables."""
        return Moment(
            self.log.events,
            **self.log.settings,
            snapshots=self.snapshots,
            activation_settings=self.activation,
        )


def join_scenes(scenes: Iterable[Scene]) -> list[JoinedScenes]:
    """One log for each set of settings."""
    groups: dict[str, list[Scene]] = {}
    for scene in scenes:
        groups.setdefault(repr((sorted(scene.settings.items()), scene.as_of)), []).append(scene)
    return [_join(group) for group in groups.values()]


def _join(scenes: Sequence[Scene]) -> JoinedScenes:
    first = scenes[0].settings
    marks = [f"{number:02d}." for number in range(len(scenes))]
    return JoinedScenes(
        scenes=dict(zip(marks, scenes, strict=True)),
        log=one_log([_log(scene, mark) for mark, scene in zip(marks, scenes, strict=True)]),
        snapshots=[
            _marked(snapshot, mark)
            for mark, scene in zip(marks, scenes, strict=True)
            for snapshot in scene.snapshots
        ],
        activation=first.get("activation_settings", {}),
    )


def _log(scene: Scene, mark: str) -> Log:
    """The scene's log; its handles have the mark, all else gets it when logs become one."""
    events = {
        source: [row | _ids(row, mark, ["conversation_handle"]) for row in rows]
        for source, rows in scene.events.items()
    }
    settings = {name: scene.settings.get(name) for name in ("top", "starvation", "blocks")}
    return Log(**events, catalog=scene.catalog, rules=list(scene.rules), as_of=scene.as_of, **settings)


def _marked(snapshot: Snapshot, mark: str) -> Snapshot:
    views = {view: [row | _ids(row, mark, IDS) for row in rows] for view, rows in snapshot.views.items()}
    return replace(snapshot, instance=mark + snapshot.instance, views=views)


def _ids(row: Row, mark: str, names: Iterable[str]) -> Row:
    return {name: mark + row[name] for name in names if row.get(name) is not None}


# What an answer says of a scene


def codes_of_scenes(joined: JoinedScenes, rows: Iterable[Row]) -> dict[str, dict[str, list[str]]]:
    """The codes of each open message by scene, as `Scene.causes` has them.

    Args:
        joined: the scenes.
        rows: instance (of the place; None for what cannot be placed), message_id and codes.
    """
    found: dict[str, dict[str, list[str]]] = {scene.name: {} for scene in joined.scenes.values()}
    there = list(rows)
    ids = [row["message_id"] for row in there]
    for row in there:
        mark, message = _parted(row["message_id"])
        if ids.count(row["message_id"]) > 1:
            message = f"{message}@{row['instance'].removeprefix(mark)}"
        found[joined.scenes[mark].name][message] = list(row["codes"])
    return found


def details_of_scenes(joined: JoinedScenes, answer: Row) -> dict[str, dict[str, list[Row]]]:
    """The details by scene and code, as `Scene.details` has them: of all places of the scene."""
    rows: dict[str, dict[str, dict[Any, list[Row]]]] = {scene.name: {} for scene in joined.scenes.values()}
    for place in answer["places"]:
        for cause in place["causes"]:
            for row in cause["details"]:
                mark, _ = _parted(place["instance"] or row["instance"])
                by_place = rows[joined.scenes[mark].name].setdefault(cause["code"], {})
                where = tuple(place[name] for name in PLACE)
                bare = {name: _without(value, mark) for name, value in row.items()}
                by_place.setdefault(where, []).append(bare)
    return {
        name: {code: _of_all_places(code, list(by_place.values())) for code, by_place in by_code.items()}
        for name, by_code in rows.items()
    }


def _parted(id: str) -> tuple[str, str]:
    mark, dot, bare = id.partition(".")
    return mark + dot, bare


def _without(value: Any, mark: str) -> Any:
    return value.removeprefix(mark) if isinstance(value, str) else value


def _of_all_places(code: str, places: list[list[Row]]) -> list[Row]:
    """The details of several places as one list; those of one place as they are."""
    if len(places) == 1:
        return places[0]
    rows = [row for place in places for row in place]
    ordered = in_order(rows, [name for name in rows[0] if name != "messages"])
    return ordered[:MOST_OF_THOSE_AHEAD] if code in OF_THOSE_AHEAD else ordered
