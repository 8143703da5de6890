"""When snapshots showed all endpoints of databases."""

from pyspark.sql import DataFrame, functions as F

from pipelines.config.snapshots.views import ENDPOINTS
from pipelines.storage.warehouse import Warehouse
from schemas.outputs import SNAPSHOTS


def read_complete_endpoints(warehouse: Warehouse) -> DataFrame:
    """Read the complete views of endpoints: (instance, database, taken_at), unique."""
    views = warehouse.read(SNAPSHOTS).where((F.col("view") == ENDPOINTS) & F.col("complete"))
    return views.select("instance", "database", "taken_at").distinct()
