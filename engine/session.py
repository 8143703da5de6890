"""The session: Apache Spark under spark-submit, the embedded engine elsewhere, or a server that is named."""

import atexit
import os
import socket
import time
from typing import Any
from urllib.parse import urlsplit

from pyspark.sql import SparkSession

from config.errors import ConfigError
from config.model import SparkSchema

MEMORY = "ENGINE_MEMORY"
"""How much memory the engine may use, such as 8g; half of the machine's by default."""
CONNECT_PORT = 15002
"""Of a Spark Connect server, if its address names none."""
ANSWERS_WITHIN = 20
"""Seconds."""
UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}

_embedded: dict[str, Any] = {}
"""The embedded server of this process and its session, once it was started."""


def open_session(name: str, warehouse: str | SparkSchema | None = None) -> SparkSession:
    """Open the session of this process; times are UTC, whatever the machine says.

    Apache Spark writes them as numbers of microseconds. By default it takes twelve bytes of an old form
    that tells no time zone, and the embedded engine can't read such tables.

    Under spark-submit it is Apache Spark's. Else it is that of the Spark Connect server which SPARK_REMOTE
    names. Else the embedded engine starts in this process, which takes about a second.

    Args:
        name: what a cluster's pages show.
        warehouse: a schema needs a metastore, which only Apache Spark has.

    Raises:
        ConfigError: the engine can't do what is asked of it.
    """
    # Collected timestamps come in the time zone of the process.
    os.environ["TZ"] = "UTC"
    time.tzset()
    if under_spark_submit():
        builder = SparkSession.builder.appName(name)
        if isinstance(warehouse, SparkSchema):
            # Tables that have names need a catalog that outlives the session: a metastore.
            builder = builder.enableHiveSupport()
        spark = builder.getOrCreate()
    elif isinstance(warehouse, SparkSchema) and "SPARK_REMOTE" not in os.environ:
        raise ConfigError(
            f"warehouse: the embedded engine knows no schema {warehouse}; name a folder, or run this with "
            "./spark-submit.sh"
        )
    elif "SPARK_REMOTE" in os.environ:
        _require_server(os.environ["SPARK_REMOTE"])
        spark = SparkSession.builder.appName(name).getOrCreate()
    else:
        spark = _embedded_session()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    if not is_embedded(spark):
        spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    return spark


def is_embedded(spark: SparkSession) -> bool:
    """Whether this is the session of the embedded engine."""
    return spark is _embedded.get("session")


def is_classic(spark: SparkSession) -> bool:
    """Whether this is a session of Apache Spark in this process, not one of a server."""
    return not type(spark).__module__.startswith("pyspark.sql.connect")


def under_spark_submit() -> bool:
    """Whether the session of this process is Apache Spark's."""
    # spark-submit.sh says so; a shell of Spark's own and a plain spark-submit leave the port of their JVM.
    return os.environ.get("ENGINE") == "spark" or "PYSPARK_GATEWAY_PORT" in os.environ


def _require_server(remote: str) -> None:
    """See that a Spark Connect server answers; its client would try again for minutes, without a word.

    Raises:
        ConfigError: none does. What stands behind the port, such as a token, is not repeated.
    """
    address = urlsplit(remote)
    try:
        host, port = address.hostname, address.port or CONNECT_PORT
    except ValueError:
        host, port = None, CONNECT_PORT
    if address.scheme != "sc" or not host:
        raise ConfigError("SPARK_REMOTE is no address of a server; write one such as sc://localhost:15002")
    try:
        socket.create_connection((host, port), timeout=ANSWERS_WITHIN).close()
    except OSError as error:
        raise ConfigError(
            f"SPARK_REMOTE: no server answers at {host}:{port} ({error.strerror or error}); start it, or "
            "unset SPARK_REMOTE"
        ) from error


def _embedded_session() -> SparkSession:
    if "session" not in _embedded:
        # The server reads its settings once, when it starts.
        os.environ.setdefault("RUST_LOG", "error")
        os.environ["SAIL_RUNTIME__MEMORY_POOL__TYPE"] = "fair"
        os.environ["SAIL_RUNTIME__MEMORY_POOL__FAIR__MAX_SIZE"] = str(memory())
        os.environ.setdefault("SAIL_PARQUET__COMPRESSION", "zstd(1)")
        # Rows that a filter or a join with few rows leaves out are not decoded in their other columns.
        os.environ.setdefault("SAIL_PARQUET__PUSHDOWN_FILTERS", "true")
        # Its allocator keeps what it has got; given back, each page is cleared again when it is next used.
        os.environ.setdefault("MIMALLOC_PURGE_DELAY", "-1")
        os.environ.setdefault("MIMALLOC_ALLOW_THP", "0")
        from pysail.spark import SparkConnectServer

        server = SparkConnectServer("127.0.0.1", 0)
        server.start(background=True)
        host, port = server.listening_address
        _embedded["server"] = server
        # create(): a session of another server may be open in this process.
        _embedded["session"] = SparkSession.builder.remote(f"sc://{host}:{port}").create()
        atexit.register(_stop_embedded)
    session: SparkSession = _embedded["session"]
    return session


def _stop_embedded() -> None:
    if "session" in _embedded:
        _embedded.pop("session").stop()
        _embedded.pop("server").stop()


def memory() -> int:
    """Bytes that the engine may use: ENGINE_MEMORY, else half of what the machine has.

    Raises:
        ConfigError: ENGINE_MEMORY is no size.
    """
    given = os.environ.get(MEMORY, "")
    if not given:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    number, unit = given[:-1], given[-1].lower()
    if not number.isdecimal() or unit not in UNITS:
        raise ConfigError(f"{MEMORY}: {given!r} is no size; write one such as 4g or 512m")
    return int(number) * UNITS[unit]
