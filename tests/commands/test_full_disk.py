"""A night on a disk that is full: it says so, and the next one makes it good."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.disks import disk_at, fills
from tests.support.factories import at
from tests.support.harness import Project
from tests.support.processes import finish
from tests.support.small_project import a_bit_of_everything, project_in
from tests.support.warehouses import changed, contents

pytestmark = [pytest.mark.slow, pytest.mark.long]

AS_OF = at(60)


def test_a_full_disk_loses_nothing(embedded: SparkSession, tmp_path: Path) -> None:
    with disk_at(tmp_path / "warehouse") as disk:
        project: Project = project_in(tmp_path)
        project.add(a_bit_of_everything())
        project.run(embedded, AS_OF)
        expected, whole = contents(project), disk.used()
        for share in (0.2, 0.8):
            assert fills(disk, int(whole * share), "embedded", project, AS_OF)
        finish("embedded", project, AS_OF)
        assert changed(expected, contents(project)) == {}
