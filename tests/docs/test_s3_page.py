"""What S3 needs has to be of the Hadoop that Spark brings: another version fails at the first file."""

import re
from pathlib import Path

from tests.support.packages import JARS, needs_whole_pyspark

ROOT = Path(__file__).resolve().parents[2]


@needs_whole_pyspark
def test_the_documented_package_is_of_sparks_hadoop() -> None:
    documented = re.findall(
        r"org\.apache\.hadoop:hadoop-aws:([\d.]+)", (ROOT / "docs" / "running.md").read_text("utf-8")
    )
    (bundled,) = JARS.glob("hadoop-client-api-*.jar")
    assert set(documented) == {bundled.stem.removeprefix("hadoop-client-api-")}
