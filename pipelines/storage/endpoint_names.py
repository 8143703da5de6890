"""The contracts and services that a warehouse's endpoints have, read without an engine."""

from collections.abc import Iterable

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from pyarrow import ArrowException, dataset

from schemas.ledger import ENDPOINTS

CONTRACT = ("contract",)
SERVICE = ("local_service", "remote_service")


def find_endpoint_names(
    root: str, names: Iterable[tuple[str, tuple[str, ...]]]
) -> set[tuple[str, tuple[str, ...]]]:
    """Find which names an endpoint has.

    Args:
        root: the warehouse's folder or URI. Where only an engine can open it, no name is found.
        names: names, each with `CONTRACT` or `SERVICE`: the columns that may have it.
    """
    try:
        endpoints = DeltaTable(f"{root}/{ENDPOINTS.name}").to_pyarrow_dataset()
        return {
            (name, columns)
            for name, columns in names
            # A scan ends at the first endpoint of the name.
            if any(
                endpoints.scanner(columns=[column], filter=dataset.field(column) == name).head(1).num_rows
                for column in columns
            )
        }
    except (DeltaError, ArrowException, OSError):
        return set()
