"""What is installed: all of PySpark, or its client alone (make setup ENGINE=embedded)."""

from pathlib import Path

import pyspark
import pytest

JARS = Path(pyspark.__file__).parent / "jars"
needs_whole_pyspark = pytest.mark.skipif(not JARS.is_dir(), reason="PySpark's client alone is installed")
