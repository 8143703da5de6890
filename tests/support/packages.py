"""What is installed: all of PySpark or its client alone (make setup ENGINE=embedded), and further tools."""

import os
from pathlib import Path
from typing import NoReturn

import pyspark
import pytest

JARS = Path(pyspark.__file__).parent / "jars"
UNREACHED = ("Failed to fetch", "error sending request", "dns error", "network was disabled")
"""What uv says where it does not reach the package index."""


def needs(found: object, name: str, reason: str) -> pytest.MarkDecorator:
    """Skip a test where something is not found, unless REQUIRE_<name> is set: then it fails there."""
    return pytest.mark.skipif(not found and not os.environ.get(f"REQUIRE_{name}"), reason=reason)


def lacks(name: str, reason: str) -> NoReturn:
    """End a test that finds out by itself that something is not there."""
    if os.environ.get(f"REQUIRE_{name}"):
        pytest.fail(reason)
    pytest.skip(reason)


needs_whole_pyspark = needs(JARS.is_dir(), "SPARK", "PySpark's client alone is installed")
