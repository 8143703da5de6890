"""Which engine is installed, found without importing it."""

import os
from importlib.util import find_spec
from pathlib import Path

from pipelines.config.errors import ConfigError
from pipelines.console.invocation import is_under_spark_submit

NAME = "conversation-priorities"
CLIENTS = ("pyspark", "pyspark_client")
"""Two distributions with the same modules: Apache Spark, and its client alone."""


def require_engine() -> None:
    """Require the packages of one engine, and that those of two do not overwrite each other.

    Raises:
        ConfigError: there is none, or there are two.
    """
    clients = installed_clients()
    if clients is None:
        raise ConfigError(
            f"engine: none is installed; install the extra embedded (pip install '{NAME}[embedded]'), or "
            "spark for Apache Spark"
        )
    if len(clients) > 1:
        raise ConfigError(
            "engine: pyspark and pyspark-client are both installed, and each has overwritten files of the "
            "other; uninstall both (pip uninstall pyspark pyspark-client), then install "
            f"'{NAME}[embedded]' or '{NAME}[spark]'"
        )
    if not is_under_spark_submit() and "SPARK_REMOTE" not in os.environ and find_spec("pysail") is None:
        raise ConfigError(
            "engine: pyspark is installed without the embedded engine; install the extra embedded or spark "
            f"(pip install '{NAME}[spark]'), start with ./spark-submit.sh, or set SPARK_REMOTE"
        )


def installed_clients() -> list[str] | None:
    """The distributions that pyspark comes from; None if there is no pyspark.

    Empty where it was not installed by one, as on the machines of a cluster.
    """
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        return None
    folder = Path(found.origin).parent.parent
    names = [path.name for path in folder.glob("pyspark*.dist-info")] if folder.is_dir() else []
    return [client for client in CLIENTS if any(name.startswith(f"{client}-") for name in names)]
