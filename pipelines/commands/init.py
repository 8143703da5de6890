"""Write a commented skeleton of settings, catalog and rules for folders of event files."""

from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from pipelines.commands.options import Parser
from pipelines.config.errors import ConfigError, OutputError
from pipelines.config.find_settings import FILE
from pipelines.config.json_schema import FOLDER
from pipelines.console.invocation import name_command
from pipelines.console.terminal import escape_line

FILES = (FILE, "catalog.yaml", "rules.yaml")
SCHEMAS = ".priorities"
"""The folder of the JSON Schemas, which the first line of each file names to editors."""
EVENTS = ("events/endpoint_events", "events/message_events")


def main(argv: Sequence[str]) -> int:
    """Parse the command line, write the files and say what to do next."""
    parser = Parser(
        "init",
        "Write a commented skeleton of settings, catalog and rules for folders of event files.",
        example="--out priorities",
        config=False,
    )
    parser.add_argument("--out", type=Path, default=Path(), metavar="DIR", help="folder (default this one)")
    folder: Path = parser.parse_args(argv).out
    if there := [folder / name for name in FILES if (folder / name).exists()]:
        raise ConfigError(f"init: {there[0]} is there already; remove it, or name another folder with --out")
    try:
        _write(folder)
    except OSError as error:
        raise OutputError(
            f"init: {error.filename or folder} can't be written ({error.strerror}); name another folder "
            "with --out"
        ) from error
    print(escape_line(f"wrote {', '.join(str(folder / name) for name in FILES)}"))
    print(escape_line(f"made the folders {' and '.join(str(folder / name) for name in EVENTS)}"))
    print("next: write your instances, databases, queues and services into catalog.yaml and your rules into")
    print(f"rules.yaml, put event files into the folders, and run {name_command('check')}")
    return 0


def _write(folder: Path) -> None:
    for name in (*EVENTS, SCHEMAS):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for schema in FOLDER.glob("*.json"):
        _write_text(folder / SCHEMAS / schema.name, schema.read_text(encoding="utf-8"))
    skeleton = resources.files("pipelines.commands") / "skeleton"
    for name in FILES:
        _write_text(folder / name, (skeleton / name).read_text(encoding="utf-8"))


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
