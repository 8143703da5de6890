"""The section about rejected rows has every reason of events and of snapshots."""

import inspect
import re

from dev.rejection_reasons import rejection_reasons
from pipelines.ingest.reasons import REASONS, SNAPSHOT_REASONS
from pipelines.ingest.snapshots import validation


def test_every_reason_has_a_line() -> None:
    named = re.findall(r"^- `(\S+)`: .", rejection_reasons(), re.MULTILINE)
    assert named == [*REASONS, *SNAPSHOT_REASONS]


def test_the_reasons_of_snapshots_are_those_of_their_validation() -> None:
    written = set(re.findall(r'"(unknown_\w+|repeated_\w+|\w+_out_of_range)"', inspect.getsource(validation)))
    assert written == set(SNAPSHOT_REASONS)
