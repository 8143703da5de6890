"""How this process was started, and so how a message names a command that the user can run next."""

import os

PROGRAM = "priorities"
"""The command that is installed."""
ENGINE = "ENGINE"
"""The variable that names the engine; spark-submit.sh sets it."""
SPARK = "spark"
JOBS = {"ingest": "fold", "lint": "lint_rules"}
"""Files of `jobs` whose name is not that of their command."""


def is_under_spark_submit() -> bool:
    """Whether the session of this process is Apache Spark's."""
    # A shell of Spark's own and a plain spark-submit leave the port of their JVM.
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return True
    # spark-submit.sh sets the engine, and unsets the address of a server.
    return os.environ.get(ENGINE) == SPARK and "SPARK_REMOTE" not in os.environ


def name_command(name: str) -> str:
    """Return what to type for a command, on the engine of this process: `priorities NAME`, or its job."""
    if is_under_spark_submit():
        return f"./spark-submit.sh jobs/{JOBS.get(name, name.replace('-', '_'))}.py"
    return f"{PROGRAM} {name}"
