"""Names of rules that are in use, and so no misspellings: see `pipelines/rules/near_names.py`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from pyspark.sql import functions as F

from pipelines.config.catalog import Catalog
from pipelines.engine.frames import among
from pipelines.rules.near_rules import NearRule
from pipelines.rules.statements import CRITERIA
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from schemas.ledger import ENDPOINTS

Key = TypeVar("Key")


def known_in_use(
    catalog: Catalog, endpoints: Iterable[Mapping[str, Any]] = ()
) -> Callable[[str, str, str, str], bool]:
    """Return what says whether a name is in use, as far as catalog and some endpoints show.

    It takes instance, database, criterion and the name that a rule has there.

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


def drop_names_in_use(
    warehouse: Warehouse, near: Mapping[Key, Sequence[NearRule]], as_of: datetime
) -> dict[Key, list[NearRule]]:
    """Return near rules without those whose name, at a distance of edits, is in use.

    Here an endpoint of the rule's database uses it, in the criterion's column. Where case and blanks alone
    differ, the rule stays, with `is_in_use`.

    Args:
        warehouse: the tables; endpoints are read only if there are such rules.
        near: few near rules.
        as_of: endpoints created before it count, ended ones as well.
    """
    asked = {each.name for of_key in near.values() for each in of_key if not each.is_in_use}
    used = set()
    endpoints = warehouse.read(ENDPOINTS).where(F.col("created_at") < F.lit(as_of))
    for criterion in CRITERIA:
        names = sorted({(name,) for _, _, of, name in asked if of == criterion})
        if names:
            rows = among(endpoints, names, f"{criterion} string").select("instance", "database", criterion)
            used |= {
                (row["instance"], row["database"], criterion, row[criterion])
                for row in collect_rows(rows.distinct())
            }
    return {
        key: [
            replace(each, is_in_use=True) if each.name in used else each
            for each in of_key
            if not each.edits or each.name not in used
        ]
        for key, of_key in near.items()
    }
