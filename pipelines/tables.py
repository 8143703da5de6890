"""The tables of a warehouse, by name: the way in for notebooks and shells."""

from difflib import get_close_matches

from pyspark.sql import DataFrame, SparkSession

from pipelines.errors import ConfigError
from pipelines.settings.load import load_settings
from schemas import TABLES
from storage.warehouse import Warehouse

UTC_NAMES = {"UTC", "Etc/UTC", "Z", "GMT", "Etc/GMT", "GMT+0", "UTC+00:00", "GMT+00:00", "+00:00", "Zulu"}
"""Names of the session's time zone under which a time means what the tables say."""


def open_table(spark: SparkSession, config: str, name: str) -> DataFrame:
    """Open a table of the warehouse that a settings file names.

    Args:
        spark: a session with Delta, in UTC.
        config: path of the settings file, e.g. conf/local.yaml.
        name: name of the table; docs/data-dictionary.md lists them with grain, keys and columns.

    Returns:
        All rows of the table, in no order; none if no run has written it yet.

    Raises:
        ConfigError: there is no such table, the settings are wrong, or the session lacks what the tables
            need; the message says what to add.
    """
    _require_session(spark)
    if name not in TABLES:
        near = get_close_matches(name, TABLES, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(TABLES)}"
        raise ConfigError(f"there is no table {name!r}; {hint}")
    return Warehouse(spark, load_settings(config).warehouse).read(TABLES[name])


def _require_session(spark: SparkSession) -> None:
    if "io.delta.sql.DeltaSparkSessionExtension" not in (spark.conf.get("spark.sql.extensions", "") or ""):
        raise ConfigError(
            "this session lacks Delta: start it with --properties-file conf/spark/local.conf and --jars with "
            "the jars of .jars; docs/notebooks.md has the whole line"
        )
    zone = spark.conf.get("spark.sql.session.timeZone", "")
    if zone not in UTC_NAMES:
        raise ConfigError(
            f"this session's time zone is {zone}, and the tables are in UTC: add "
            'spark.conf.set("spark.sql.session.timeZone", "UTC")'
        )
