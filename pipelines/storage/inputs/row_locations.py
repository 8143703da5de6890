"""Where in the files of an input a rejected row stands, for a message that names one."""

import csv
import hashlib
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pipelines.storage.inputs.paths import open_unpacked
from pipelines.text.json_objects import object_of

MOST_BYTES = 256 << 20
"""Text that is searched, at most: a message may do without a line, a user may not wait for minutes."""
SEPARATORS = ",;\t|"

Payload = Mapping[str, Any]


@dataclass(frozen=True)
class Located:
    """A rejected row: its index among the searched payloads, its file and line, from 1."""

    number: int
    path: str
    line: int


def locate(paths: Sequence[str], format: str, payloads: Sequence[Payload]) -> Located | None:
    """Find the first line of text files that is one of the payloads.

    Args:
        paths: the files, in the order in which they are searched.
        format: json or csv; nothing is found in others.
        payloads: as `pipelines.storage.inputs.payloads` makes them.
    """
    if format not in ("json", "csv"):
        return None
    wanted = _Wanted(payloads)
    left = MOST_BYTES
    for path in paths:
        try:
            for number, line in _lines(path, left):
                left -= len(line)
                found = wanted.match(line, format)
                if found is not None:
                    return Located(found, path, number)
        except (OSError, pa.ArrowException):
            continue
    return None


def _lines(path: str, most: int) -> Iterator[tuple[int, str]]:
    with io.TextIOWrapper(open_unpacked(path), encoding="utf-8-sig", errors="replace", newline=None) as text:
        number = 0
        while most > 0 and (line := text.readline(most)):
            number += 1
            most -= len(line)
            yield number, line.rstrip("\n")


class _Wanted:
    """The payloads to find, and the header of the file."""

    def __init__(self, payloads: Sequence[Payload]) -> None:
        self._hashes = {each["sha256"]: number for number, each in enumerate(payloads) if "sha256" in each}
        self._by_id: dict[Any, list[tuple[int, Payload]]] = {}
        for number, each in enumerate(payloads):
            if "sha256" not in each:
                self._by_id.setdefault(each.get("event_id"), []).append((number, each))
        self._names = {name for each in payloads for name in each}
        self._header: list[str] = []
        self._separator = ","

    def match(self, line: str, format: str) -> int | None:
        """The number of the payload that is this line's."""
        if (
            self._hashes
            and (found := self._hashes.get(hashlib.sha256(line.encode()).hexdigest())) is not None
        ):
            return found
        if not self._by_id:
            return None
        row = self._object(line) if format == "json" else self._record(line)
        candidates = self._by_id.get(row.get("event_id"), []) if row else []
        return next((number for number, each in candidates if each.items() <= row.items()), None)

    def _object(self, line: str) -> dict[str, Any]:
        found = object_of(line) or {}
        return {name: value for name, value in found.items() if not isinstance(value, dict | list)}

    def _record(self, line: str) -> dict[str, Any]:
        try:
            for separator in SEPARATORS:
                header = next(csv.reader([line], delimiter=separator), [])
                if len(self._names & set(header)) > 1:
                    self._header, self._separator = header, separator
                    return {}
            fields = next(csv.reader([line], delimiter=self._separator), [])
        except csv.Error:
            return {}
        return {name: value or None for name, value in zip(self._header, fields, strict=False)}
