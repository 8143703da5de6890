"""Find the settings file of a command that names none."""

import os
from pathlib import Path

from pipelines.config.errors import ConfigError

VARIABLE = "PRIORITIES_CONFIG"
FILE = "priorities.yaml"


def find_settings(given: str | None = None, *, otherwise: str = "") -> str:
    """Return the settings file: the given one, else PRIORITIES_CONFIG, else the nearest priorities.yaml.

    The nearest is that of the current folder, or of the first folder above it that has one.

    Args:
        given: the value of --config.
        otherwise: what else the command takes instead of settings, for the error.

    Raises:
        ConfigError: there is none.
    """
    if found := given or os.environ.get(VARIABLE):
        return found
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / FILE).is_file():
            return os.path.relpath(folder / FILE, here)
    raise ConfigError(
        f"settings: none found; name the file with --config or {VARIABLE}, or run this in a folder with a "
        f"{FILE}, or below it; init writes one{otherwise}"
    )
