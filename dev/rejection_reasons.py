"""The section of the data dictionary about the reasons of `rejected_events`.

`make docs` appends it: python -m dev.rejection_reasons >> docs/data-dictionary.md
"""

import sys

from pipelines.ingest.reasons import REASONS, SNAPSHOT_REASONS

INTRODUCTION = """\
## Reasons of rejected rows

Of events, column `reason` of [rejected_events](#rejected_events):"""

OF_SNAPSHOTS = """\
Rows of [snapshots](snapshots.md) have the first three and these:"""


def rejection_reasons() -> str:
    """Write the section: one line per reason, of events and then of snapshots."""
    return f"{INTRODUCTION}\n\n{_list(REASONS)}\n\n{OF_SNAPSHOTS}\n\n{_list(SNAPSHOT_REASONS)}\n"


def _list(reasons: dict[str, str]) -> str:
    return "\n".join(f"- `{reason}`: {meaning}" for reason, meaning in reasons.items())


if __name__ == "__main__":
    # Bytes, so that no locale decides about the page's encoding.
    sys.stdout.buffer.write(rejection_reasons().encode("utf-8"))
