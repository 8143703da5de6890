"""The versions of a warehouse's tables, to see that no commit was lost."""

import logging

from deltalake.exceptions import DeltaError, TableNotFoundError

from config.errors import WarehouseError
from schemas import TABLES
from storage.inputs.contract import first_line
from storage.inputs.delta_log import current_version
from storage.inputs.places import on_local_disk

log = logging.getLogger(__name__)
REBUILD = "rebuild the warehouse (docs/operations.md, Rebuild a warehouse)"
"""What is left to do where nothing can be put back."""


def versions_of(root: str) -> dict[str, int] | None:
    """The version of each table that is there, by name; None if they can't be reached.

    They are read by delta-rs, which may have no credentials for a place that Apache Spark can reach.

    Raises:
        WarehouseError: the log of a table on local disk is damaged; every such table is listed.
    """
    damaged = []
    found = {}
    for name in TABLES:
        try:
            found[name] = current_version(f"{root}/{name}")
        except TableNotFoundError:
            continue
        except (DeltaError, OSError) as error:
            fault = first_line(error)
            if on_local_disk(root) is None:
                log.warning(
                    "the versions under %s can't be read, so lost commits stay unseen: %s", root, fault
                )
                return None
            damaged.append(
                f"warehouse: {root}/{name}: its log is damaged ({fault}). Put back what is missing, or "
                f"{REBUILD}"
            )
    if damaged:
        raise WarehouseError(*damaged)
    return found
