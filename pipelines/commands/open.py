"""Open the session and the warehouse of a command."""

from argparse import Namespace

from pipelines.commands.launch import suspect
from pipelines.config.load import Settings, load_settings
from pipelines.engine.session import open_session
from pipelines.storage.warehouse import Warehouse


def opened(options: Namespace, name: str) -> tuple[Settings, Warehouse]:
    """Read the settings that --config names, then open the session and the warehouse.

    Raises:
        ConfigError: the settings, the catalog or the rules are wrong (no engine was started for that), or
            the warehouse is one of an older version.
    """
    settings = load_settings(options.config)
    return settings, warehouse_of(settings, name)


def warehouse_of(settings: Settings, name: str) -> Warehouse:
    """Open the session and the warehouse, for a command that looks at its settings first.

    Raises:
        ConfigError: the warehouse is one of an older version, or shares files with an input.
    """
    warehouse = Warehouse(open_session(name, settings.warehouse), settings.warehouse)
    suspect(warehouse.root)
    settings.require_apart(warehouse.root)
    warehouse.require_this_shape()
    return warehouse
