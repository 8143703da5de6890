"""The order of the rooms: a room imports lower steps, and rooms of its own step without a circle."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STEPS = (
    ("blocks", "config", "schemas"),
    ("rules", "text"),
    ("console", "server"),
    ("capture", "engine", "settings"),
    ("storage",),
    ("ladder", "state"),
    ("activation", "ingest", "queue_machine", "schedules"),
    ("conformance", "expectations", "explain", "lint", "questions", "replay", "whatif"),
    ("changes", "metrics", "why"),
    ("nightly", "report"),
    ("commands",),
    ("api", "cli"),
    ("jobs",),
)
STEP = {room: number for number, rooms in enumerate(STEPS) for room in rooms}


def room_of(module: str) -> str:
    """The room of a module: the first name below `pipelines`, or its package at the top level."""
    first, _, rest = module.partition(".")
    return (rest.partition(".")[0] or first) if first == "pipelines" else first


def imports() -> list[tuple[str, str, str]]:
    """Imports of one room by another: the file, its room, and the imported room."""
    found = []
    for top in ("pipelines", "schemas", "jobs"):
        for path in (ROOT / top).rglob("*.py"):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                names = [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
                if isinstance(node, ast.Import):
                    names = [alias.name for alias in node.names]
                for name in names:
                    # The package itself has the version, and no room.
                    if name != "pipelines" and name.partition(".")[0] in ("pipelines", "schemas", "jobs"):
                        found.append((str(path.relative_to(ROOT)), room_of(module), room_of(name)))
    return [each for each in found if each[1] != each[2]]


def test_every_folder_is_a_room() -> None:
    folders = {path.name for path in (ROOT / "pipelines").iterdir() if (path / "__init__.py").exists()}
    assert folders | {"api", "cli", "schemas", "jobs"} == set(STEP)


def test_no_import_runs_up() -> None:
    assert [each for each in imports() if each[1] in STEP and STEP[each[1]] < STEP[each[2]]] == []


def test_rooms_of_one_step_import_each_other_without_a_circle() -> None:
    graph: dict[str, set[str]] = {}
    for _, room, imported in imports():
        if room in STEP and STEP[room] == STEP[imported]:
            graph.setdefault(room, set()).add(imported)
    TopologicalSorter(graph).prepare()
