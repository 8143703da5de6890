"""The tables of a warehouse, by name: the way in for notebooks and shells."""

from typing import overload

from pyspark.sql import DataFrame, SparkSession

from pipelines.config.errors import ConfigError
from pipelines.config.load import KNOWN_ONLY, Settings, load_settings
from pipelines.config.nearest import suggest_nearest
from pipelines.engine.session import is_classic, open_session
from pipelines.storage.warehouse import Warehouse
from schemas import TABLES

UTC_NAMES = {"UTC", "Etc/UTC", "Z", "GMT", "Etc/GMT", "GMT+0", "UTC+00:00", "GMT+00:00", "+00:00", "Zulu"}
"""Names of the session's time zone under which a time means what the tables say."""


@overload
def open_table(config: str, name: str, /) -> DataFrame: ...


@overload
def open_table(spark: SparkSession, config: str, name: str, /) -> DataFrame: ...


def open_table(given: str | SparkSession, *names: str) -> DataFrame:
    """Open a table of the warehouse that a settings file names.

    Args:
        given: the path of the settings file, e.g. conf/local.yaml; a session may come before it, else it
            is that of `open_warehouse`.
        names: the rest of it, last the name of the table: docs/data-dictionary.md lists them with grain,
            keys and columns.

    Returns:
        All rows of the table, in no order; none if no run has written it yet.

    Raises:
        ConfigError: there is no such table, the settings are wrong, or the session lacks what the tables
            need; the message says what to add.
    """
    spark, config = (None, given) if isinstance(given, str) else (given, names[0])
    name = names[-1]
    if name not in TABLES:
        raise ConfigError(f"there is no table {name!r}; {suggest_nearest(name, TABLES)}")
    _, warehouse = open_warehouse(config, spark)
    return warehouse.read(TABLES[name])


def open_warehouse(config: str, spark: SparkSession | None = None) -> tuple[Settings, Warehouse]:
    """Open the warehouse that a settings file names.

    Args:
        config: path of the settings file, e.g. conf/local.yaml.
        spark: a session with Delta, in UTC. Without one, the session that is open in this process is taken,
            and if none is, `pipelines.engine.session.open_session` opens one: that of the embedded engine,
            unless
            SPARK_REMOTE names a server.

    Raises:
        ConfigError: the settings are wrong, or the session lacks what the tables need.
    """
    settings = load_settings(config, KNOWN_ONLY)
    opened = spark or SparkSession.getActiveSession() or open_session("notebook", settings.warehouse)
    _require_session(opened)
    return settings, Warehouse(opened, settings.warehouse, settings.places, settings.switches)


def _require_session(spark: SparkSession) -> None:
    # The embedded engine has Delta built in; a server of Spark's says itself what it lacks.
    if is_classic(spark) and "io.delta.sql.DeltaSparkSessionExtension" not in (
        spark.conf.get("spark.sql.extensions", "") or ""
    ):
        raise ConfigError(
            "this session lacks Delta: start it with --properties-file conf/spark/local.conf and --jars with "
            "the jars of .jars; docs/running.md has the whole line"
        )
    zone = spark.conf.get("spark.sql.session.timeZone", "")
    if zone not in UTC_NAMES:
        raise ConfigError(
            f"this session's time zone is {zone}, and the tables are in UTC: add "
            'spark.conf.set("spark.sql.session.timeZone", "UTC")'
        )
