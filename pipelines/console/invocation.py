"""How this process was started, and so how a message names a command that the user can paste next."""

import os
import shlex
import shutil
import sys
from collections.abc import Sequence

PROGRAM = "priorities"
"""The command that is installed."""
ENGINE = "ENGINE"
"""The variable that names the engine; spark-submit.sh sets it."""
SPARK = "spark"
SCRIPT = "SPARK_SUBMIT_SH"
"""The variable that says how spark-submit.sh was called."""
JOBS = {"ingest": "fold", "lint": "lint_rules"}
"""Files of `jobs` whose name is not that of their command."""
PACKAGE = "jobs"
WITH_VALUE = ("-X", "-W")
"""Options of Python itself whose value is a word of its own."""

_config: list[str] = []
"""The settings file that the command line names."""


def is_under_spark_submit() -> bool:
    """Whether the session of this process is Apache Spark's."""
    # A shell of Spark's own and a plain spark-submit leave the port of their JVM.
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return True
    # spark-submit.sh sets the engine, and unsets the address of a server.
    return os.environ.get(ENGINE) == SPARK and "SPARK_REMOTE" not in os.environ


def remember_config(path: str | None) -> None:
    """Keep what --config names for the commands that are printed; None if nothing does."""
    _config[:] = [] if path is None else [path]


def name_command(name: str) -> str:
    """Return what to type for a command, in the form in which this process was started.

    That is `priorities NAME`, `./spark-submit.sh jobs/NAME.py`, `python -m jobs.NAME` or `python
    jobs/NAME.py`; the first where a notebook or another program asks.
    """
    job = JOBS.get(name, name.replace("-", "_"))
    if is_under_spark_submit():
        script = os.environ.get(SCRIPT, "spark-submit.sh")
        return shlex.join([script if "/" in script else f"./{script}", f"{PACKAGE}/{job}.py"])
    return shlex.join(_started(list(sys.orig_argv), name, job))


def command_line(name: str, *options: str, config: str | None = None) -> str:
    """Return a command with its options, each in quotes where a shell needs them.

    Args:
        name: of the command.
        options: the words behind it.
        config: the settings file; without it, what --config of this process names.
    """
    file = config or next(iter(_config), None)
    words = [*(["--config", file] if file else []), *options]
    return f"{name_command(name)} {shlex.join(words)}".rstrip()


def is_anywhere() -> bool:
    """Whether commands can be typed in any folder: their program is no path that begins here."""
    program = shlex.split(name_command("version"))[0]
    return "/" not in program or os.path.isabs(program)


def _started(words: Sequence[str], name: str, job: str) -> list[str]:
    """The words of a command for a process that was started by these words."""
    for number, word in enumerate(words[1:], start=1):
        before = list(words[:number])
        if word == "-m":
            package, _, module = "".join(words[number + 1 : number + 2]).partition(".")
            if package == PACKAGE:
                return [*before, "-m", *([f"{PACKAGE}.{job}"] if module else [PACKAGE, name])]
            break
        if word.startswith("-") or words[number - 1] in WITH_VALUE:
            continue
        folder, file = os.path.split(word)
        if os.path.basename(folder) == PACKAGE and file.endswith(".py"):
            return [*before, os.path.join(folder, f"{job}.py")]
        if file == PROGRAM:
            found = shutil.which(PROGRAM)
            is_on_path = found is not None and os.path.samefile(found, word)
            return [PROGRAM if is_on_path else word, name]
        break
    return [PROGRAM, name]
