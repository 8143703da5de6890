"""Open the session and the warehouse of a command."""

from argparse import Namespace

from pipelines.commands.launch import suspect
from pipelines.engine.scratch import local_scratch
from pipelines.engine.session import open_session
from pipelines.settings.load import KNOWN_ONLY, CaptureReading, Settings, load_settings
from pipelines.storage.warehouse import Warehouse


def opened(options: Namespace, name: str, reading: CaptureReading = KNOWN_ONLY) -> tuple[Settings, Warehouse]:
    """Read the settings that --config names, then open the session and the warehouse.

    Args:
        options: the command line.
        name: of the command.
        reading: how new captures are read; a question passes over them.

    Raises:
        ConfigError: the settings, the catalog or the rules are wrong (no engine was started for that), or
            the warehouse is one of an older version.
    """
    settings = load_settings(options.config, reading)
    return settings, warehouse_of(settings, name)


def read_new_captures() -> CaptureReading:
    """How a night reads captures: new ones are written as Parquet files, which go with the process."""
    return CaptureReading(folder=local_scratch() / "captures")


def warehouse_of(settings: Settings, name: str) -> Warehouse:
    """Open the session and the warehouse, for a command that looks at its settings first.

    Raises:
        ConfigError: the warehouse is one of an older version, or shares files with an input.
    """
    warehouse = Warehouse(
        open_session(name, settings.warehouse), settings.warehouse, settings.places, settings.switches
    )
    suspect(warehouse.root)
    settings.require_apart(warehouse.root)
    warehouse.require_this_shape()
    return warehouse
