"""Write settings: for a capture of a server, or a commented skeleton for folders of event files."""

import filecmp
import os
import shlex
import shutil
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from pipelines.commands.options import FILE, Parser
from pipelines.config.errors import ConfigError, OutputError
from pipelines.config.instants import format_instant
from pipelines.config.paths import with_slashes
from pipelines.config.queue_filter import queue_text
from pipelines.console.invocation import command_line, is_anywhere
from pipelines.console.terminal import escape_line
from pipelines.console.wording import format_count
from pipelines.settings.json_schema import FOLDER

if TYPE_CHECKING:
    from pipelines.server.captures.captured import Capture

FILES = (FILE, "catalog.yaml", "rules.yaml")
SCHEMAS = ".priorities"
"""The folder of the JSON Schemas, which the first line of each file names to editors."""
EVENTS = ("events/endpoint_events", "events/message_events")
CAPTURES = "captures"
"""The folder of captures that the settings name."""
SAMPLE = Path(__file__).parents[1] / "capture" / "sample"
"""Captures of an invented insurer, which the package has."""
SAMPLE_QUESTION = ("--queue", "ClaimIntakeQueue", "--remote-service", "//acme/portal/Gold")
IGNORED = ".gitignore"
IGNORES = f"warehouse/\n{CAPTURES}/\n"


def main(argv: Sequence[str]) -> int:
    """Parse the command line, write the files and say what to do next."""
    parser = Parser(
        "init",
        "Write settings: for a capture of a server, or a commented skeleton for folders of event files.",
        example="claims --capture capture.txt",
        config=False,
    )
    parser.add_argument(
        "folder", nargs="?", type=Path, default=Path(), metavar="DIR", help="folder (default this one)"
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--capture",
        type=Path,
        metavar="PATH",
        help="result of the capture script, saved by any tool, or a folder of such files with its subfolders "
        "named by a day; they are copied into the folder",
    )
    source.add_argument(
        "--like",
        type=Path,
        metavar="FILE",
        help="table in which a procedure logs messages: how its columns map, with guesses by their names",
    )
    source.add_argument(
        "--sample", action="store_true", help="captures of an invented insurer, to try the questions on"
    )
    options = parser.parse_args(argv)
    folder: Path = options.folder
    files = FILES if options.capture is None and not options.sample else (FILE,)
    if there := [folder / name for name in files if os.path.lexists(folder / name)]:
        raise ConfigError(f"init: {there[0]} is there already; remove it, or name another folder")
    try:
        if options.sample:
            lines = _sample(folder)
        elif options.like is not None:
            lines = _like(folder, options.like)
        else:
            lines = _skeleton(folder) if options.capture is None else _capture(folder, options.capture)
    except OSError as error:
        raise OutputError(
            f"init: {error.filename or folder} can't be written ({error.strerror}); name another folder"
        ) from error
    for line in lines:
        print(escape_line(line))
    return 0


def _skeleton(folder: Path) -> list[str]:
    """Write the skeleton; the lines that say so."""
    for name in EVENTS:
        (folder / name).mkdir(parents=True, exist_ok=True)
    _write_schemas(folder)
    for name in FILES:
        _write_text(folder / name, _template(name))
    check = command_line("check", config=_config(folder))
    return [
        f"wrote {', '.join(str(folder / name) for name in FILES)}",
        f"made the folders {' and '.join(str(folder / name) for name in EVENTS)}",
        "next: write your instances, databases, queues and services into catalog.yaml and your rules into",
        f"rules.yaml, put event files into the folders, and run {check}",
    ]


def _like(folder: Path, file: Path) -> list[str]:
    """Write the skeleton with a mapping of a file's columns; the lines that say so, and the mapping.

    Raises:
        ConfigError: there is no such file.
        InputError: it can't be read.
    """
    from pipelines.config.mapping_guess import write_skeleton
    from pipelines.storage.inputs.columns import columns_of

    try:
        format, there = columns_of(with_slashes(str(file)))
    except FileNotFoundError:
        raise ConfigError(f"--like {file}: there is no such file; name an export of the table") from None
    path = with_slashes(os.path.relpath(file, folder))
    inputs = list(write_skeleton(file.stem.partition(".")[0], path, format, there))
    before, _, rest = _template(FILE).partition("inputs:\n")
    _, _, behind = rest.partition("\n\n")
    folder.mkdir(parents=True, exist_ok=True)
    _write_schemas(folder)
    endpoints = f"  {EVENTS[0].partition('/')[2]}: {{path: {EVENTS[0]}, format: json}}"
    (folder / EVENTS[0]).mkdir(parents=True, exist_ok=True)
    _write_text(folder / FILE, before + "\n".join([inputs[0], endpoints, *inputs[1:]]) + "\n\n" + behind)
    for name in FILES[1:]:
        _write_text(folder / name, _template(name))
    return [
        f"wrote {', '.join(str(folder / name) for name in FILES)}; the mapping is",
        *inputs,
        f"next: correct the guesses, and run {command_line('check', config=_config(folder))}",
    ]


def _sample(folder: Path) -> list[str]:
    """Write settings for the captures of the package, and copies of these; the lines that say so."""
    captures = sorted(SAMPLE.glob("*.jsonl"))
    for file in captures:
        _copy_capture(folder, file)
    has_ignored = _write_settings(folder)
    return [
        f"wrote {folder / FILE} and {format_count(len(captures), 'capture')} in {folder / CAPTURES}",
        *_next(folder, has_ignored, command_line("why", *SAMPLE_QUESTION, config=_config(folder))),
    ]


def _capture(folder: Path, given: Path) -> list[str]:
    """Write settings for a capture or a folder of captures, and copy them beside; the lines that say so.

    Raises:
        ConfigError: there is no such file or folder, or the folder has another one of a capture's name.
        InputError: a file is no whole capture, or none is in the folder.
    """
    is_folder = os.path.isdir(given)
    if not is_folder and not os.path.isfile(given):
        raise ConfigError(f"--capture {given}: there is no such file; name the saved result of the script")
    # Its packages take longer to import than all else.
    from pipelines.server.captures.capture import read_capture

    files = _captures_in(given) if is_folder else [given]
    try:
        newest = read_capture(str(files[-1]))
    except OSError as error:
        raise ConfigError(f"--capture {given}: can't be read ({error.strerror or error})") from error
    targets = [_copy_capture(folder, file) for file in files]
    has_ignored = _write_settings(folder)
    databases = format_count(sum(each.is_read for each in newest.databases.values()), "database")
    count = format_count(len(files), "capture")
    said = f"{given} has {count}; the newest" if is_folder else str(given)
    wrote = f"{count} in {folder / CAPTURES}" if is_folder else targets[0]
    return [
        f"{said} is a capture of {newest.server} at {format_instant(newest.taken_at)}: {databases}",
        f"wrote {folder / FILE} and {wrote}",
        *_next(folder, has_ignored, _question(newest, _config(folder))),
    ]


def _captures_in(folder: Path) -> list[Path]:
    """The captures of a folder and of its subfolders named by a day, the newest last, as a night finds them.

    Raises:
        InputError: a file is no whole capture, or there is none.
    """
    from pipelines.config.model import Captures
    from pipelines.server.captures.folder import read_captures

    entry = Captures(path=with_slashes(str(folder)))
    found = read_captures([entry], [], None, are_new_read=True).new
    return [Path(each.path) for each in sorted(found, key=lambda each: each.taken_at)]


def _copy_capture(folder: Path, file: Path) -> Path:
    """Copy a capture into the folder's captures, and return the copy; one of a day into its day's folder.

    Raises:
        ConfigError: the folder has another one of its name.
    """
    from pipelines.server.captures.folder import DAY

    day = file.parent.name if DAY.fullmatch(file.parent.name) else ""
    target = folder / CAPTURES / day / _name_in_folder(file)
    is_there = target.exists()
    if is_there and not filecmp.cmp(file, target, shallow=False):
        raise ConfigError(f"init: {target} is there already, with other content; remove it or rename {file}")
    target.parent.mkdir(parents=True, exist_ok=True)
    if not is_there:
        _copy(file, target)
    return target


def _write_settings(folder: Path) -> bool:
    """Write the settings of captures and what stands beside them; whether .gitignore was there."""
    _write_schemas(folder)
    has_ignored = (folder / IGNORED).exists()
    if not has_ignored:
        _write_text(folder / IGNORED, IGNORES)
    # Last: with this file, the folder is complete.
    _write_text(folder / FILE, _template("capture.yaml"))
    return has_ignored


def _next(folder: Path, has_ignored: bool, question: str) -> list[str]:
    """The lines that say what to run next: a night, and a question."""
    config = _config(folder)
    is_here = folder.resolve() == Path.cwd()
    change = "" if is_here or config else f"cd {shlex.quote(str(folder))} && "
    night = command_line("nightly", "--as-of", "latest", config=config)
    ignore = f"{folder / IGNORED} is there already; see that it has warehouse/ and {CAPTURES}/"
    return [*([ignore] if has_ignored else []), "next:", f"  {change}{night}", f"  {question}"]


def _config(folder: Path) -> str | None:
    """The settings of a folder that commands can't be typed in, for their program has another place."""
    return None if is_anywhere() or folder.resolve() == Path.cwd() else str(folder / FILE)


def _question(capture: "Capture", config: str | None) -> str:
    """A question that has an answer: what is next in the queue with the most messages, else who waits."""
    queues = [
        (view.rows, key.database, key.queue)
        for database in capture.databases.values()
        for key, view in database.views.items()
        if key.queue is not None and key.schema == "dbo" and view.rows
    ]
    if not queues:
        return command_line("waiting", config=config)
    _, database, queue = max(queues)
    name = queue_text([capture.server, database, queue])
    return command_line("next", "--queue", name, config=config)


def _name_in_folder(file: Path) -> str:
    """The name of a copy: that of the file, if a folder of captures reads files of such names."""
    from pipelines.server.captures.folder import ENDINGS, HIDDEN, PACKED

    name = file.name.lstrip("".join(HIDDEN)) or CAPTURES
    return name if name.lower().removesuffix(PACKED).endswith(ENDINGS) else f"{name}.jsonl"


def _copy(file: Path, target: Path) -> None:
    """Copy a file whole or not at all: a run passes over names that begin with a dot."""
    partial = target.parent / f".{uuid4()}.partial"
    try:
        shutil.copyfile(file, partial)
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def _write_schemas(folder: Path) -> None:
    (folder / SCHEMAS).mkdir(parents=True, exist_ok=True)
    for schema in FOLDER.glob("*.json"):
        _write_text(folder / SCHEMAS / schema.name, schema.read_text(encoding="utf-8"))


def _template(name: str) -> str:
    return (resources.files("pipelines.commands") / "skeleton" / name).read_text(encoding="utf-8")


def _write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all, and never through a link."""
    partial = path.parent / f".{uuid4()}.partial"
    try:
        partial.write_text(text, encoding="utf-8", newline="\n")
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
