"""What the environment says of the engine, checked before one starts: its name, memory, working files."""

import os
import tempfile

import psutil

from pipelines.config.errors import ConfigError
from pipelines.console.invocation import ENGINE, SPARK

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
