"""Many scenes as one log, for few runs of the engine; and what an answer to it says of each scene."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from tests.support.factories import NOON, Row, by_source
from tests.support.harness import MARKED, one_log
from tests.support.model.moment import Moment
from tests.support.model.snapshots import Snapshot
from tests.support.strategies import Log

from .scene import AS_OF, Scene

IDS = (*MARKED, "conversation_handle")


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
        more = {"snapshots": self.snapshots, "activation_settings": self.activation}
        return Moment(self.log.events, **self.log.settings, **more)


def join_scenes(scenes: Iterable[Scene]) -> list[JoinedScenes]:
    """One log for each set of settings."""
    groups: dict[str, list[Scene]] = {}
    for scene in scenes:
        groups.setdefault(repr(sorted(scene.settings.items())), []).append(scene)
    marked = [{f"{number:02d}.": scene for number, scene in enumerate(group)} for group in groups.values()]
    return [_join(group) for group in marked]


def _join(scenes: Mapping[str, Scene]) -> JoinedScenes:
    return JoinedScenes(
        scenes=scenes,
        log=one_log([_log(scene, mark) for mark, scene in scenes.items()]),
        snapshots=[_marked(snapshot, mark) for mark, scene in scenes.items() for snapshot in scene.snapshots],
        activation=next(iter(scenes.values())).settings.get("activation_settings", {}),
    )


def _log(scene: Scene, mark: str) -> Log:
    """The scene's log; its handles have the mark, all else gets it when logs become one."""
    rows = [row | _ids(row, mark, ["conversation_handle"]) for row in scene.rows]
    settings = {name: scene.settings.get(name) for name in ("top", "starvation", "blocks")}
    return Log(**by_source(*rows), catalog=scene.catalog, rules=[*scene.rules], as_of=AS_OF, **settings)


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
    times = Counter(row["message_id"] for row in there)
    for row in there:
        mark, message = _parted(row["message_id"])
        if times[row["message_id"]] > 1:
            message = f"{message}@{row['instance'].removeprefix(mark)}"
        found[joined.scenes[mark].name][message] = list(row["codes"])
    return found


def details_of_scenes(joined: JoinedScenes, answer: Row) -> dict[tuple[str, str], list[dict[str, str]]]:
    """The details by scene and code, as `Scene.details` has them: of all places of the scene."""
    found: dict[tuple[str, str], list[dict[str, str]]] = {}
    for place in answer["places"]:
        for cause in place["causes"]:
            for row in cause["details"]:
                mark, _ = _parted(place["instance"] or row["instance"])
                shown = {name: _shown(value, mark) for name, value in row.items()}
                found.setdefault((joined.scenes[mark].name, cause["code"]), []).append(shown)
    return found


def _parted(id: str) -> tuple[str, str]:
    mark, dot, bare = id.partition(".")
    return mark + dot, bare


def _shown(value: Any, mark: str) -> str:
    if isinstance(value, datetime):
        return f"{(value - NOON) / timedelta(minutes=1):g}"
    return "-" if value is None else str(value).removeprefix(mark)
