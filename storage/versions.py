"""The versions of a warehouse's tables, to see that no commit was lost."""

import logging

from deltalake.exceptions import DeltaError, TableNotFoundError

from schemas import TABLES
from storage.inputs.delta_log import current_version

log = logging.getLogger(__name__)


def versions_of(root: str) -> dict[str, int] | None:
    """The version of each table that is there, by name; None if they can't be read.

    They are read by delta-rs, which may have no credentials for a place that Apache Spark can reach.
    """
    found = {}
    for name in TABLES:
        try:
            found[name] = current_version(f"{root}/{name}")
        except TableNotFoundError:
            continue
        except (DeltaError, OSError) as error:
            log.warning("the versions under %s can't be read, so lost commits stay unseen: %s", root, error)
            return None
    return found
