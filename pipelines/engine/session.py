"""The session: Apache Spark under spark-submit, the embedded engine elsewhere, or a server that is named."""

import atexit
import os
import socket
import threading
import time
from typing import Any, cast
from urllib.parse import urlsplit

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from pipelines.config.errors import ConfigError, EngineError
from pipelines.config.model import SparkSchema
from pipelines.config.paths import URI, local_folder
from pipelines.console.invocation import ENGINE, SPARK, is_under_spark_submit
from pipelines.engine.environment import check_environment, memory
from pipelines.engine.java import stop_java_at_exit

CONNECT_PORT = 15002
"""Of a Spark Connect server, if its address names none."""
ANSWERS_WITHIN = 20
"""Seconds."""
GRPC_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")
"""The variables of a proxy that the client of Spark Connect takes notice of."""

_embedded: dict[str, Any] = {}
"""The embedded server and its session, once it was started, and the process that started it."""
_opening = threading.RLock()
"""One thread opens a session at a time."""


def open_session(name: str, warehouse: str | SparkSchema | None = None) -> SparkSession:
    """Open the session of this process; times are UTC, whatever the machine says.

    Apache Spark writes them as numbers of microseconds. By default it takes twelve bytes of an old form
    that tells no time zone, and the embedded engine can't read such tables.

    Under spark-submit it is Apache Spark's. Else it is that of the Spark Connect server which SPARK_REMOTE
    names. Else the embedded engine starts in this process, which takes about a second.

    Args:
        name: what a cluster's pages show.
        warehouse: a schema needs a metastore, and a URI a connector, which only Apache Spark has.

    Raises:
        ConfigError: the engine can't do what is asked of it.
        EngineError: Apache Spark did not start, or the session belongs to the process before a fork.
    """
    with _opening:
        return _open(name, warehouse)


def require_no_fork() -> None:
    """Refuse the embedded engine after a fork: its threads stay in the process that started it.

    Raises:
        EngineError: another process started it.
    """
    if _embedded.get("process", os.getpid()) != os.getpid():
        raise EngineError(
            f"process {_embedded['process']} opened the engine, and this one is a fork of it; open "
            "the warehouse in a process that is started by itself (multiprocessing: the start method spawn)"
        )


def _open(name: str, warehouse: str | SparkSchema | None) -> SparkSession:
    require_no_fork()
    check_environment()
    require_engine_of(warehouse)
    # PySpark collects timestamps in the time zone of the process, which Windows can't change: what is read
    # for people and programs is collected as microseconds (storage/collect.py).
    os.environ["TZ"] = "UTC"
    if hasattr(time, "tzset"):
        time.tzset()
    if is_under_spark_submit():
        _require_submitted()
        builder = SparkSession.builder.appName(name)
        if isinstance(warehouse, SparkSchema):
            # Tables that have names need a catalog that outlives the session: a metastore.
            builder = builder.enableHiveSupport()
        spark = _started(builder)
        stop_java_at_exit()
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


def takes_embedded() -> bool:
    """Whether `open_session` would take the embedded engine."""
    return not is_under_spark_submit() and "SPARK_REMOTE" not in os.environ


def require_engine_of(warehouse: str | SparkSchema | None) -> None:
    """Require Apache Spark for a warehouse that is no folder of this machine.

    Raises:
        ConfigError: the embedded engine would be taken.
    """
    is_elsewhere = isinstance(warehouse, SparkSchema) or URI.match(local_folder(warehouse or "")) is not None
    if is_elsewhere and takes_embedded():
        raise ConfigError(
            f"warehouse: the embedded engine takes a folder of this machine, and no {warehouse}; name a "
            "folder, or run this with ./spark-submit.sh"
        )


def is_classic(spark: SparkSession) -> bool:
    """Whether this is a session of Apache Spark in this process, not one of a server."""
    return not type(spark).__module__.startswith("pyspark.sql.connect")


def _started(builder: Any) -> SparkSession:
    """The session of Apache Spark, whose Java starts now if it does not run yet.

    Raises:
        EngineError: Java did not start, and has said why.
    """
    try:
        spark = cast(SparkSession, builder.getOrCreate())
    except PySparkRuntimeError as error:
        if error.getCondition() != "JAVA_GATEWAY_EXITED":
            raise
        raise EngineError(
            "Apache Spark did not start; the lines above say why. Correct what stands after --spark, "
            "SPARK_MASTER or SPARK_DRIVER_MEMORY, or free memory"
        ) from error
    if is_classic(spark):
        look_up_names_once(spark)
    return spark


def _require_submitted() -> None:
    """Require that something has told Apache Spark where its settings and jars are.

    Raises:
        ConfigError: ENGINE is set in a shell, and nothing else.
    """
    if {"PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS"} & os.environ.keys():
        return
    if SparkSession.getActiveSession() is None:
        raise ConfigError(
            f"{ENGINE} is {SPARK}, but the job was not started on Apache Spark; start it with "
            f"./spark-submit.sh, or unset {ENGINE}"
        )


def _require_server(remote: str) -> None:
    """Require that a Spark Connect server answers; its client would try again for minutes, without a word.

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
        # A server that only a proxy reaches is asked by way of it, below.
        if _proxy() is None:
            socket.create_connection((host, port), timeout=ANSWERS_WITHIN).close()
        _require_answer(remote)
    except OSError as error:
        raise ConfigError(
            f"SPARK_REMOTE: no server answers at {host}:{port} ({error.strerror or error}); start it, or "
            "unset SPARK_REMOTE"
        ) from error


def _proxy() -> str | None:
    """The variable that names the proxy, if the client of Spark Connect has to take one."""
    return next((name for name in GRPC_PROXIES if os.environ.get(name)), None)


def _require_answer(remote: str) -> None:
    """Require that what listens there speaks as a Spark Connect server does.

    Raises:
        ConfigError: the address has options that the client does not know.
        TimeoutError: it does not.
    """
    # Its library would log failed attempts in lines of its own; the error says what failed.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    import grpc
    from pyspark.errors import PySparkException
    from pyspark.sql.connect.client import DefaultChannelBuilder

    try:
        channel = DefaultChannelBuilder(remote).toChannel()
    except PySparkException as error:
        raise ConfigError(
            "SPARK_REMOTE is no address of a server; write one such as sc://localhost:15002"
        ) from error
    try:
        grpc.channel_ready_future(channel).result(timeout=ANSWERS_WITHIN)
    except grpc.FutureTimeoutError:
        proxy = _proxy()
        through = f", through the proxy that {proxy} names" if proxy else ""
        raise TimeoutError(
            f"what listens there did not answer as Spark Connect does within {ANSWERS_WITHIN} s{through}"
        ) from None
    finally:
        channel.close()


def _session_without_proxy(address: str) -> SparkSession:
    """The session of a server in this process: a proxy of the user is for other machines."""
    from pyspark.sql.connect.client import DefaultChannelBuilder
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    # PySpark's own functions look here for which kind of session there is.
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
    channel = DefaultChannelBuilder(address, channelOptions=[("grpc.enable_http_proxy", 0)])
    # create(): a session of another server may be open in this process.
    return cast(SparkSession, ConnectSession.builder.channelBuilder(channel).create())


def _embedded_session() -> SparkSession:
    if "server" not in _embedded:
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
        _embedded.update(server=server, process=os.getpid())
        atexit.register(_stop_embedded)
    if "session" not in _embedded or _embedded["session"].is_stopped:
        host, port = _embedded["server"].listening_address
        _embedded["session"] = _session_without_proxy(f"sc://{host}:{port}")
        # Before the first column; conf/spark/local.conf says why.
        _embedded["session"].conf.set("spark.python.sql.dataFrameDebugging.enabled", "false")
    session: SparkSession = _embedded["session"]
    return session


def _stop_embedded() -> None:
    if _embedded.get("process") == os.getpid():
        _embedded.pop("session").stop()
        _embedded.pop("server").stop()


OFTEN_CALLED = ("functions", "org.apache.spark.sql.functions", "PythonUtils")
"""The classes that PySpark calls for each column, by the names that it has for them."""


class _Names:
    """A class of Java whose methods are looked up once."""

    def __init__(self, java_class: Any) -> None:
        self._java_class = java_class

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._java_class, name)
        setattr(self, name, method)
        return method


def look_up_names_once(spark: SparkSession) -> None:
    """Let PySpark remember the classes and methods that it calls for each column.

    By default it asks Java for both before each call, which is a third of what it says to Java in a night.
    For a class without its package, Java looks into all jars.
    """
    view = spark.sparkContext._jvm
    for name in OFTEN_CALLED:
        if name not in vars(view):
            setattr(view, name, _Names(getattr(view, name)))
