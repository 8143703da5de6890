"""The warehouse of a settings file: the way in for notebooks, shells and programs."""

from pyspark.sql import SparkSession

from pipelines.config.errors import ConfigError
from pipelines.engine.session import is_classic, open_session
from pipelines.settings.load import KNOWN_ONLY, Settings, load_settings
from pipelines.storage.warehouse import Warehouse

UTC_NAMES = {"UTC", "Etc/UTC", "Z", "GMT", "Etc/GMT", "GMT+0", "UTC+00:00", "GMT+00:00", "+00:00", "Zulu"}
"""Names of the session's time zone under which a time means what the tables say."""


def open_warehouse(config: str, spark: SparkSession | None = None) -> tuple[Settings, Warehouse]:
    """Open the warehouse that a settings file names.

    Args:
        config: path of the settings file, e.g. conf/local.yaml.
        spark: a session with Delta, in UTC. Without one, the session that is open in this process is taken,
            and if none is, `pipelines.engine.session.open_session` opens one: that of the embedded engine,
            unless SPARK_REMOTE names a server.

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
