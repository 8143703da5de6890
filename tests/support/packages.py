"""What is installed: all of PySpark, or its client alone (make setup ENGINE=embedded)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pyspark
import pytest

JARS = Path(pyspark.__file__).parent / "jars"
T = TypeVar("T", bound=Callable[..., Any])


def needs_whole_pyspark(test: T) -> T:
    """Skip it where the client alone is installed."""
    return pytest.mark.skipif(not JARS.is_dir(), reason="PySpark's client alone is installed")(test)
