"""The tables of a warehouse, by name: the way in for notebooks and shells."""

from difflib import get_close_matches

from pyspark.sql import DataFrame, SparkSession

from pipelines.errors import ConfigError
from pipelines.settings.load import load_settings
from schemas import TABLES
from storage.warehouse import Warehouse


def open_table(spark: SparkSession, config: str, name: str) -> DataFrame:
    """Open a table of the warehouse that a settings file names.

    Args:
        spark: a session with Delta.
        config: path of the settings file, e.g. conf/local.yaml.
        name: name of the table; docs/data-dictionary.md lists them with grain, keys and columns.

    Returns:
        All rows of the table, in no order; none if no run has written it yet.

    Raises:
        ConfigError: there is no such table, or the settings are wrong.
    """
    if name not in TABLES:
        near = get_close_matches(name, TABLES, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(TABLES)}"
        raise ConfigError(f"there is no table {name!r}; {hint}")
    return Warehouse(spark, load_settings(config).warehouse).read(TABLES[name])
