"""Warehouses of an older version, which are refused."""

from pipelines.config.errors import ConfigError
from pipelines.console.invocation import name_command

OLD_TABLE = "ledger_batches"
"""A table that every warehouse of the older shape has, and none of this one."""


def older_shape(root: str, why: str = "whose tables are not read") -> ConfigError:
    """What is said of such a warehouse."""
    return ConfigError(
        f"warehouse: {root} was written by an older version, {why}; move the folder away (or name "
        f"another one) and run {name_command('nightly')} again: it makes all tables anew from the event "
        "files "
        "(docs/operations.md, Old warehouses)"
    )
