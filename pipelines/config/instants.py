"""Instants as people write them."""

import re
from datetime import UTC, datetime
from typing import Literal

_INSTANT = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d)(:\d\d(?:\.\d{1,6})?)? ?([Zz]|[+-]\d\d(?::?\d\d)?)?)?", re.ASCII
)
FIRST, END = datetime(1900, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)
"""The first moment that a run can use, and the end of those; every time zone can show what is between."""
LATEST: Literal["latest"] = "latest"
AsOf = datetime | Literal["latest"]
"""An as_of as it is asked for. Of a night, `latest` is the first moment before which all data lies; of a
question, the newest published as_of."""
_HINT = "is not a moment in time; write it like 2026-01-01T00:00:00Z"


def parse_instant(text: str) -> datetime:
    """Read a date or a date and time; what is left out is zero, and an instant without an offset is in UTC.

    Raises:
        ValueError: It is neither, no such day or time exists, or it is not from FIRST up to END.
    """
    match = _INSTANT.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} {_HINT}")
    day, minutes, seconds, offset = match.groups()
    written = f"{day}T{minutes or '00:00'}{seconds or ':00'}{(offset or 'Z').upper()}"
    try:
        instant = datetime.fromisoformat(written).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text!r} {_HINT}") from error
    if not FIRST <= instant < END:
        raise ValueError(f"{text!r} is before 1900 or after 9998; write a moment between")
    return instant


def format_written(time: datetime) -> str:
    """Write a time of a server as the server wrote it, whose zone is not documented."""
    return f"{time.astimezone(UTC).replace(tzinfo=None).isoformat()} (zone not documented)"


def format_instant(instant: datetime) -> str:
    """Write an instant the way it may be read again, in UTC."""
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")
