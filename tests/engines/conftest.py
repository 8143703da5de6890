"""The tests of this folder need Apache Spark: `make test-spark` runs them, and no other target does."""

from tests.conftest import ON_SPARK

collect_ignore_glob = [] if ON_SPARK else ["test_*.py"]
