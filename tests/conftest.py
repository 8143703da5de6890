"""One session for all tests of a process: the embedded engine's, or with TEST_ENGINE=spark Apache Spark's.

PySpark speaks to one kind of engine in a process. All tests but those in `tests/engines` are of the embedded
engine; `make test-spark` runs those with TEST_ENGINE=spark. A test that asks for the fixture `session` takes
either; `embedded` and `spark` are for tests of one engine.
"""

import os
import sys
import time
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

# A loaded machine is no fault of a test.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")
# Hypothesis also draws constants of the modules that are loaded. Without them a test draws the same examples
# alone and in a whole run, and no module is parsed.
providers._get_local_constants = lambda: providers._local_constants
# Before an engine starts: naive datetimes of collected rows are UTC then.
os.environ["TZ"] = "UTC"
time.tzset()
os.environ.setdefault("ENGINE_MEMORY", "3g")
# A worker of pytest-xdist has a main module without a file, which the client of Spark Connect takes for a
# doctest: it then wants the whole of PySpark.
if not hasattr(sys.modules["__main__"], "__file__"):
    sys.modules["__main__"].__file__ = __file__

from pyspark.sql import SparkSession  # noqa: E402

from pipelines.console.invocation import remember_config  # noqa: E402
from tests.support.drawn import draw as draw  # noqa: E402

ON_SPARK = os.environ.get("TEST_ENGINE") == "spark"


@pytest.fixture(autouse=True)
def no_command_line() -> None:
    """Commands that are printed name no settings of an earlier test."""
    remember_config(None)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the engine of this process is not for."""

    other = "embedded" if ON_SPARK else "spark"
    kept = [item for item in items if other not in getattr(item, "fixturenames", ())]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


@pytest.fixture(scope="session")
def session() -> Iterator[SparkSession]:
    """The session of this process."""
    if not ON_SPARK:
        from pipelines.engine.session import open_session

        yield open_session("tests")
        return
    from tests.support.apache_spark import open_apache_spark

    opened = open_apache_spark()
    yield opened
    opened.stop()


@pytest.fixture(scope="session")
def embedded(session: SparkSession) -> SparkSession:
    """The embedded engine's session; the test does not run on Apache Spark."""
    return session


@pytest.fixture(scope="session")
def spark(session: SparkSession) -> SparkSession:
    """Apache Spark's session; the test does not run on the embedded engine."""
    return session
