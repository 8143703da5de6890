"""The recipes of docs/recipes.md and samples/recipes, and a folder in which they run unchanged.

`priorities capture` and commands of the system are stand-ins: shell scripts on the PATH. All other commands
are the program itself, on the embedded engine.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from uuid import NAMESPACE_DNS, uuid5

from tests.field.running import Row, table_of
from tests.support.captures import capture_lines, write_capture
from tests.support.factories import NOON, at
from tests.support.processes import PATIENCE, ROOT, environment
from tests.support.snapshot_views import ready, shown, views

PAGE = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
SAMPLES = ROOT / "samples" / "recipes"
FOLDER = "/srv/priorities"
"""The folder of the page; a test puts its own in place of it."""
SCRIPTS = ("night.sh", "watch.sh", "alert.sh", "weekly.sh")
SERVERS = "Several servers into one warehouse"

PRIORITIES = """#!/bin/sh
# `capture` copies the file of a server; the rest is the program.
echo "priorities $*" >>"{folder}/called"
if [ "$1" != capture ]; then exec "{python}" "{folder}/program.py" "$@"; fi
out=captures
if [ "$4" = --out ]; then mkdir -p "$5"; out=$5; fi
cp "{folder}/servers/$3"-* "$out/"
"""
PROGRAM = "import sys\nfrom pipelines.cli import main\nif __name__ == '__main__':\n    sys.exit(main())\n"
CALLED = '#!/bin/sh\necho "{name} $*" >>"{folder}/called"\n'
MAIL = '#!/bin/sh\n{ echo "$@"; cat; } >>"FOLDER/mails"\n'


def _fences(text: str) -> Iterator[tuple[str, str]]:
    """Language and text of each code block."""
    for match in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield match[1], match[2]


def blocks(heading: str, *languages: str) -> list[str]:
    """The code blocks of these languages below a heading; below every heading, if it is empty."""
    [section] = [
        text for text in (PAGE, *PAGE.split("\n## ")) if text.startswith(f"{heading}\n" if heading else "# ")
    ][:1]
    return [text for language, text in _fences(section) if language in languages]


def files() -> dict[str, str]:
    """The files of samples/recipes that have a path in their first comment, by that path."""
    found = {}
    for path in sorted(SAMPLES.iterdir()):
        text = path.read_text(encoding="utf-8")
        if match := re.match(r"(?:#!.*\n)?# (/[^\s:]+)", text):
            found[match[1]] = text
    return found


def cron_lines(heading: str = "cron") -> list[tuple[str, str]]:
    """Schedule and command of the crontab lines."""
    (block,) = blocks(heading, "crontab")
    fields = [line.split(maxsplit=5) for line in block.splitlines()]
    return [(" ".join(parts[:5]), parts[5]) for parts in fields]


def lines_of(server: str, taken_at: datetime, *numbers: int, known: bool = True) -> list[str]:
    """A capture of a database with a conversation of each number, and one message of it.

    Unless they are known, no endpoint has the messages' handles.
    """
    nameless = {} if known else {"conversation_group_id": None, "priority": None}
    given = views(
        conversation_endpoints=[shown(number, side) for number in numbers for side in (True, False) if known],
        dbo_TargetQueue=[
            ready(number, False, 0, message_enqueue_time=taken_at - timedelta(hours=1), **nameless)
            for number in numbers
        ],
    )
    id = str(uuid5(NAMESPACE_DNS, f"{server} {taken_at} {numbers}")).upper()
    return capture_lines({"B": given}, server=server, taken_at=taken_at, id=id)


class Place:
    """The folder of the recipes: their scripts, the settings of the page, and stand-ins on the PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("captures", "log", "servers", "venv/bin", "bin"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        self.install("venv/bin/priorities", PRIORITIES.format(folder=folder, python=sys.executable))
        (folder / "program.py").write_text(PROGRAM)
        self.install("bin/mail", MAIL.replace("FOLDER", str(folder)))
        for name in SCRIPTS:
            self.install(name, self.here(files()[f"{FOLDER}/{name}"]))
        (folder / "priorities.yaml").write_text(blocks(SERVERS, "yaml")[0], encoding="utf-8")

    def here(self, text: str) -> str:
        """A text of the page with this folder in it."""
        return text.replace(FOLDER, str(self.folder))

    def install(self, name: str, text: str) -> None:
        """Write an executable file."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def stand_in(self, *names: str) -> None:
        """Put commands on the PATH that only note how they were called."""
        for name in names:
            self.install(f"bin/{name}", CALLED.format(name=name, folder=self.folder))

    def serve(self, server: str, lines: Sequence[str]) -> str:
        """Let a server answer with a capture from now on; the name of the file that it becomes."""
        self.silence(server)
        digits = re.sub(r"[-:]|\..*", "", lines[0].partition('"taken_at":"')[2])
        name = f"{server}-{digits[:15]}Z.jsonl"
        write_capture(self.folder / "servers" / name, lines)
        return name

    def serve_both(self) -> None:
        """Let SQL1 and SQL2 answer, ten minutes apart."""
        self.serve("SQL1", lines_of("SQL1", at(-10), 1))
        self.serve("SQL2", lines_of("SQL2", NOON, 2))

    def silence(self, server: str) -> None:
        """Let a server answer no more."""
        for path in (self.folder / "servers").glob(f"{server}-*"):
            path.unlink()

    def sh(self, text: str) -> "subprocess.CompletedProcess[str]":
        """Run a text of the page in this folder as cron would: with sh and few variables."""
        plain = {name: value for name, value in environment().items() if not name.startswith("PRIORITIES_")}
        path = f"{self.folder}/bin:{self.folder}/venv/bin:{os.environ['PATH']}"
        return subprocess.run(
            ["sh", "-c", self.here(text)],
            cwd=self.folder,
            env=plain | {"PATH": path, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def night(self) -> int:
        """The exit code of night.sh; what it prints is the log."""
        done = self.sh(f"{FOLDER}/night.sh >>{FOLDER}/log/night.log 2>&1")
        return done.returncode

    @property
    def log(self) -> str:
        return (self.folder / "log" / "night.log").read_text()

    @property
    def called(self) -> list[str]:
        """The commands that stand-ins were called with."""
        return (self.folder / "called").read_text().splitlines()

    def receive(self) -> list[tuple[datetime, str, str]]:
        """As_of, instance and conversation of each message to be received."""
        rows: list[Row] = table_of(self.folder / "warehouse", "receive_schedule")
        return sorted((row["as_of"], row["instance"], row["conversation_id"][-2:]) for row in rows)

    @property
    def mails(self) -> list[str]:
        """What was mailed: a line with the arguments, and one with the text, for each."""
        path = self.folder / "mails"
        return path.read_text().splitlines() if path.exists() else []

    def write_units(self) -> list[Path]:
        """The units, written into a folder, with the paths and the user of the test."""
        folder = self.folder / "units"
        folder.mkdir()
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        for path, text in files().items():
            if path.startswith("/etc/systemd/system/"):
                (folder / Path(path).name).write_text(
                    self.here(text).replace("User=priorities", f"User={user}")
                )
        return sorted(folder.iterdir())
