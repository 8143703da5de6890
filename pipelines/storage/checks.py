"""CHECKs of tables that an earlier version created."""

import logging

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from pipelines.storage.inputs.contract import first_line
from pipelines.storage.warehouse import Warehouse
from schemas.table import Table

log = logging.getLogger(__name__)
PREFIX = "delta.constraints."


def _plain(check: str) -> str:
    """A CHECK without what delta-rs spells otherwise: keywords in capitals, and blanks."""
    return " ".join(check.lower().split())


def renew_checks(warehouse: Warehouse, table: Table) -> None:
    """Give an existing table the CHECKs of its declaration, where an earlier version declared others.

    delta-rs does it on both engines. Where it cannot reach the table, the table keeps its CHECKs, and a write
    that breaks one fails.
    """
    if not warehouse.exists(table):
        return
    try:
        found = DeltaTable(warehouse.path(table))
        held = {
            name.removeprefix(PREFIX): check
            for name, check in found.metadata().configuration.items()
            if name.startswith(PREFIX)
        }
        for name, check in table.checks.items():
            if _plain(held.get(name, check)) != _plain(check):
                found.alter.drop_constraint(name)
                found.alter.add_constraint({name: check})
    except (DeltaError, OSError) as error:
        log.warning("the checks of %s could not be renewed: %s", warehouse.path(table), first_line(error))
