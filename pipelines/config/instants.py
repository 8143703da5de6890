"""Instants as people write them."""

import re
from datetime import UTC, datetime
from typing import Literal

_INSTANT = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d)(:\d\d(?:\.\d{1,6})?)? ?([Zz]|[+-]\d\d(?::?\d\d)?)?)?", re.ASCII
)
LATEST: Literal["latest"] = "latest"
AsOf = datetime | Literal["latest"]
"""An as_of as it is asked for. Of a night, `latest` is the first moment before which all data lies; of a
question, the newest published as_of."""
_HINT = "is not a moment in time; write it like 2026-01-01T00:00:00Z"


def parse_instant(text: str) -> datetime:
    """Read a date or a date and time; what is left out is zero, and an instant without an offset is in UTC.

    Raises:
        ValueError: It is neither, or no such day or time exists.
    """
    match = _INSTANT.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} {_HINT}")
    day, minutes, seconds, offset = match.groups()
    written = f"{day}T{minutes or '00:00'}{seconds or ':00'}{(offset or 'Z').upper()}"
    try:
        return datetime.fromisoformat(written).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text!r} {_HINT}") from error


def format_written(time: datetime) -> str:
    """Write a time of a server as the server wrote it, whose zone is not documented."""
    return f"{time.astimezone(UTC).replace(tzinfo=None).isoformat()} (zone not documented)"


def format_instant(instant: datetime) -> str:
    """Write an instant the way it may be read again, in UTC."""
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")
