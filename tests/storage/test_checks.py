"""Tables of an earlier version get the CHECKs that are declared now."""

from dataclasses import replace
from pathlib import Path

from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.storage.checks import renew_checks
from pipelines.storage.warehouse import Warehouse
from schemas.outputs import ACTIVATION_SUMMARY


def test_an_older_check_is_renewed(session: SparkSession, tmp_path: Path) -> None:
    warehouse = Warehouse(session, str(tmp_path))
    older = replace(ACTIVATION_SUMMARY, checks={"known_advice": "advice in ('queue_off', 'keeps_up')"})
    warehouse.create_missing(older)
    renew_checks(warehouse, ACTIVATION_SUMMARY)
    table = DeltaTable(warehouse.path(ACTIVATION_SUMMARY))
    held = table.metadata().configuration["delta.constraints.known_advice"]
    assert held.lower() == ACTIVATION_SUMMARY.checks["known_advice"]
    version = table.version()
    # Nothing to renew: nothing is written.
    renew_checks(warehouse, ACTIVATION_SUMMARY)
    assert DeltaTable(warehouse.path(ACTIVATION_SUMMARY)).version() == version
