"""What a capture says: its header, its databases, and their views."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pipelines.server.captures.rows import ViewKey
from pipelines.server.snapshots.views import VIEWS

LARGE = tuple(view.name for view in VIEWS.values() if view.is_large)
"""Views whose rows an engine reads."""
SMALL = tuple(view.name for view in VIEWS.values() if not view.is_large)
"""Views whose rows are read at once; rows of other views are counted and ignored."""
Row = dict[str, Any]


@dataclass
class CapturedView:
    """A view of a database.

    Attributes:
        key: which view it is.
        rows: how many rows the capture has.
        count: how many it says that it has; None without a line about the view.
        line: of that line, else of its first row.
        complete: whether it shows all that there is.
        error: the server's error, or why rows are missing.
        other_statuses: of a queue, how many rows have each status but 1; None if the capture does not say.
        system_rows: of the endpoints, how many are the system's and not shown; None if it does not say.
        small: its rows with their lines, if no engine reads them.
    """

    key: ViewKey
    rows: int = 0
    count: int | None = None
    line: int = 0
    complete: bool = False
    error: str | None = None
    other_statuses: dict[int, int] | None = None
    system_rows: int | None = None
    small: list[tuple[int, Row]] = field(default_factory=list)

    @property
    def is_there(self) -> bool:
        """Whether the view was read: one that failed has no rows and an error."""
        return self.rows > 0 or self.error is None


@dataclass
class CapturedDatabase:
    """A database: whether it was read, else why not; and whether the login sees all of its catalog.

    Its rows are written with `number`, if they are.
    """

    name: str
    is_read: bool = True
    reason: str | None = None
    view_definition: bool | None = None
    number: int | None = None
    views: dict[ViewKey, CapturedView] = field(default_factory=dict)


@dataclass
class Capture:
    """What a capture says.

    Attributes:
        path: the file.
        id: of the run of the script.
        server: the server's own name.
        product_version: the server's version.
        taken_at: the moment that it shows, UTC.
        utc_offset_minutes: of the server's clock; None if it does not say.
        is_light: whether it has the endpoints of waiting messages alone.
        databases: by name.
        sha256: of the lines from the first to the last.
    """

    path: str
    id: str = ""
    server: str = ""
    product_version: str | None = None
    taken_at: datetime = datetime.min
    utc_offset_minutes: int | None = None
    is_light: bool = False
    databases: dict[str, CapturedDatabase] = field(default_factory=dict)
    sha256: str = ""
