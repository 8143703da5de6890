"""Read snapshots that the settings name view by view: their small views, before an engine starts."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pipelines.config.model import Snapshot
from pipelines.server.snapshots.checks import check_snapshot
from pipelines.server.snapshots.files import find_view_files
from pipelines.server.snapshots.names import find_spellings
from pipelines.server.snapshots.server import Rows, ServerSnapshot, in_order, snapshot_error
from pipelines.server.snapshots.small_rows import read_small_rows
from pipelines.server.snapshots.view_file import ViewFile
from pipelines.server.snapshots.views import CATALOG_VIEWS, QUEUES

log = logging.getLogger(__name__)


def read_snapshots(declared: Sequence[Snapshot]) -> tuple[ServerSnapshot, ...]:
    """Find the views of all snapshots and read the small ones; by taken_at, instance and database.

    Raises:
        InputError: a view or a column is missing, or of a wrong type; all of them are listed.
    """
    read: list[ServerSnapshot] = []
    problems: list[str] = []
    for snapshot in declared:
        found = find_view_files(snapshot)
        problems += found.problems
        small: dict[str, Rows] = {}
        for view in CATALOG_VIEWS if not found.problems else ():
            if view in found.files:
                try:
                    small[view] = list(read_small_rows(found.files[view]))
                except ValueError as error:
                    problems.append(str(error))
        files, twice = _spell_queues(found.files, small.get(QUEUES, []))
        problems += twice
        spelled = {file.path: view for view, file in files.items()}
        complete = {spelled[found.files[view].path] for view in found.complete if not twice}
        server = ServerSnapshot(snapshot, files, small, frozenset(complete), found.unread)
        server, wrong = check_snapshot(server, is_right=not problems)
        problems += wrong
        read.append(server)
    if problems:
        raise snapshot_error(problems)
    for server in read:
        for line in server.unread:
            log.warning("snapshots: %s", line)
    return in_order(read)


def _spell_queues(files: Mapping[str, ViewFile], queues: Rows) -> tuple[dict[str, ViewFile], list[str]]:
    """The files by view, with queues spelled as `service_queues` has them; and what stands there twice."""
    spelled = find_spellings(files, (row["name"] for row in queues))
    by_view: dict[str, ViewFile] = {}
    problems = []
    for each, file in files.items():
        view = spelled.get(each, each)
        if view in by_view:
            problems.append(f"{file.path}: {by_view[view].path} is the same view; leave one of them there")
        by_view[view] = replace(file, view=view)
    return by_view, problems
