"""What packages and environment say of the engine, before one starts: its name, memory, working files."""

import os
import tempfile
from importlib.util import find_spec
from pathlib import Path

import psutil

from pipelines.config.errors import ConfigError
from pipelines.console.invocation import ENGINE, SPARK, is_under_spark_submit

EMBEDDED = "embedded"
MEMORY = "ENGINE_MEMORY"
"""How much memory the engine may use, such as 8g; half of the machine's by default."""
LEAST_MEMORY = 512 << 20
"""Bytes: with less, Apache Spark does not start, and the embedded engine finishes no night."""
UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
TEMPORARY = "TMPDIR"


def check_environment() -> None:
    """Refuse what no engine can work with.

    Raises:
        ConfigError: ENGINE names no engine; ENGINE_MEMORY is no size that fits the machine; TMPDIR is no
            folder for working files; a limit of the system is too low.
    """
    if limit := tight_limit():
        raise ConfigError(limit)
    engine = os.environ.get(ENGINE, "")
    if engine not in ("", SPARK, EMBEDDED):
        raise ConfigError(f"{ENGINE}: {engine!r} is no engine; set {SPARK} or {EMBEDDED}, or unset it")
    memory()
    _check_temporary()


def memory() -> int:
    """Bytes that the engine may use: ENGINE_MEMORY, else half of what the machine has.

    Raises:
        ConfigError: ENGINE_MEMORY is no size, is too little for an engine, or is more than the machine has.
    """
    whole = int(psutil.virtual_memory().total)
    given = os.environ.get(MEMORY, "")
    if not given:
        return whole // 2
    number, unit = given[:-1], given[-1].lower()
    if not (number.isascii() and number.isdecimal()) or unit not in UNITS:
        raise ConfigError(f"{MEMORY}: {given!r} is no size; write one such as 4g or 512m")
    size = int(number) * UNITS[unit]
    if size < LEAST_MEMORY:
        raise ConfigError(f"{MEMORY}: {given} is too little; an engine needs 512m or more")
    if size > whole:
        raise ConfigError(f"{MEMORY}: {given} is more than the {whole >> 20}m of this machine; write less")
    return size


def _check_temporary() -> None:
    """Look at TMPDIR: Python passes over one that is of no use, and the engine fails at it in the middle."""
    given = os.environ.get(TEMPORARY)
    if not given:
        # Empty is not set to Python, and the current folder to the embedded engine.
        os.environ.pop(TEMPORARY, None)
        return
    if not given.isprintable():
        raise ConfigError(f"{TEMPORARY}: {given!r} has a control character; name another folder")
    try:
        with tempfile.TemporaryFile(dir=given):
            pass
    except OSError as error:
        raise ConfigError(
            f"{TEMPORARY}: no file can be written in {given} ({error.strerror}); name a folder for working "
            "files, or unset it"
        ) from error


FILES = 64
"""Open files: with fewer, connections to the engine fail, and nothing says so."""
ADDRESS_SPACE = 6 << 30
"""Bytes: with less, libraries can't be loaded, or threads of the engine can't start."""


def tight_limit() -> str | None:
    """What limit is too low, and what to do; None if none is."""
    try:
        import resource
    except ImportError:  # Windows has no such limits.
        return None
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= files < FILES:
        return f"ulimit -n: this process may open {files} files; allow {FILES} or more"
    space, _ = resource.getrlimit(resource.RLIMIT_AS)
    if 0 <= space < ADDRESS_SPACE:
        return (
            f"ulimit -v: this process may use {space >> 20}m of address space; allow {ADDRESS_SPACE >> 30}g "
            "or more, or set it to unlimited"
        )
    return None


NAME = "conversation-priorities"
CLIENTS = ("pyspark", "pyspark_client")
"""Two distributions with the same modules: Apache Spark, and its client alone."""


def require_engine() -> None:
    """Require the packages of one engine, and that those of two do not overwrite each other.

    Raises:
        ConfigError: there is none, or there are two.
    """
    clients = installed_clients()
    if clients is None:
        raise ConfigError(
            f"engine: none is installed; install the extra embedded (pip install '{NAME}[embedded]'), or "
            "spark for Apache Spark"
        )
    if len(clients) > 1:
        raise ConfigError(
            "engine: pyspark and pyspark-client are both installed, and each has overwritten files of the "
            "other; uninstall both (pip uninstall pyspark pyspark-client), then install "
            f"'{NAME}[embedded]' or '{NAME}[spark]'"
        )
    if not is_under_spark_submit() and "SPARK_REMOTE" not in os.environ and find_spec("pysail") is None:
        raise ConfigError(
            "engine: pyspark is installed without the embedded engine; install the extra embedded or spark "
            f"(pip install '{NAME}[spark]'), start with ./spark-submit.sh, or set SPARK_REMOTE"
        )


def installed_clients() -> list[str] | None:
    """The distributions that pyspark comes from; None if there is no pyspark.

    Empty where it was not installed by one, as on the machines of a cluster.
    """
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        return None
    folder = Path(found.origin).parent.parent
    names = [path.name for path in folder.glob("pyspark*.dist-info")] if folder.is_dir() else []
    return [client for client in CLIENTS if any(name.startswith(f"{client}-") for name in names)]
