"""Names of rules that are in use, and so no misspellings: see `pipelines/rules/near_names.py`."""

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, TypeAlias

from pyspark.sql import functions as F

from pipelines.config.catalog import Catalog
from pipelines.config.rules.limits import CRITERIA
from pipelines.engine.frames import among
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from schemas.ledger import ENDPOINTS

AskedName: TypeAlias = tuple[str, str, str, str]
"""Instance, database, criterion and the name that a rule has there."""


def known_in_use(
    catalog: Catalog, endpoints: Iterable[Mapping[str, Any]] = ()
) -> Callable[[str, str, str, str], bool]:
    """Return what says of an AskedName whether it is in use, as far as catalog and some endpoints show.

    Args:
        catalog: its services are in use anywhere.
        endpoints: rows with ENDPOINT_NAMES; their names are in use in their database and column.
    """
    names = {
        (row["instance"], row["database"], criterion, row[criterion])
        for row in endpoints
        for criterion in CRITERIA
    }
    services = {service for _, _, service, _ in catalog.service_bindings()}

    def is_in_use(instance: str, database: str, criterion: str, name: str) -> bool:
        return (instance, database, criterion, name) in names or (
            criterion != "contract" and name in services
        )

    return is_in_use


def find_names_in_use(warehouse: Warehouse, asked: Collection[AskedName], as_of: datetime) -> set[AskedName]:
    """Find which names an endpoint of their database has in their column.

    Args:
        warehouse: the tables; nothing is read if no name is asked for.
        asked: few names.
        as_of: endpoints created before it count, ended ones as well.
    """
    used: set[AskedName] = set()
    endpoints = warehouse.read(ENDPOINTS).where(F.col("created_at") < F.lit(as_of))
    for criterion in CRITERIA:
        names = sorted({(name,) for _, _, of, name in asked if of == criterion})
        if names:
            rows = among(endpoints, names, f"{criterion} string").select("instance", "database", criterion)
            used |= {
                (row["instance"], row["database"], criterion, row[criterion])
                for row in collect_rows(rows.distinct())
            }
    return used & set(asked)
