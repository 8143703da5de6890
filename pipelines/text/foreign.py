"""Files that are no CSV of views or events: what they seem to be, and what to do."""

import re

TRACES = "docs/exporting.md#traces"
TRACE = f"this is a trace; see {TRACES}"
AS_UTF8 = "save it as UTF-8"
SIGNATURES = {
    b"PK\x03\x04": "it is an Excel workbook or another zip file",
    b"\xd0\xcf\x11\xe0": "it is an old Excel workbook",
    b"PAR1": "it is a Parquet file",
    b"\x1f\x8b": "it is compressed by gzip, though its name does not end with .gz",
    b"%PDF": "it is a PDF file",
    b"BZh91AY&SY": "it is compressed by bzip2, though its name does not end with .bz2",
    b"\x28\xb5\x2f\xfd": "it is compressed by zstd, though its name does not end with .zst",
    b"\xfd7zXZ\x00": "it is compressed by xz",
    b"\x04\x22\x4d\x18": "it is compressed by lz4",
    b"\xff\x06\x00\x00sNaPpY": "it is compressed by Snappy",
    b"7z\xbc\xaf\x27\x1c": "it is a 7-Zip archive",
    b"Rar!\x1a\x07": "it is a RAR archive",
    b"Obj\x01": "it is an Avro file",
    b"SQLite format 3\x00": "it is an SQLite database",
}
TAR = slice(257, 262), b"ustar"
"""Where a tar archive has its mark, behind the name of its first file."""
TRACE_EVENTS = re.compile(rb"<(?:event\b|RingBufferTarget\b|events\b|TraceData\b)", re.IGNORECASE)
HTML = re.compile(rb"<(?:!doctype html|html|head|body|table)\b", re.IGNORECASE)
TRACE_COLUMNS = frozenset({"eventclass", "eventsubclass", "eventsequence", "textdata", "spid"})
"""Columns of a trace table of Profiler; two of them are enough."""
EXTENDED_COLUMNS = frozenset({"conversation_action", "event_data", "event_sequence", "package", "event_name"})
"""Columns of Extended Events that were saved as a table."""
SAMPLE = 60
"""Characters of a file that a message shows."""


def foreign_text(head: bytes, *, is_json: bool = False) -> str | None:
    """What a file seems to be by its first bytes, and what to do; None if it may be what was asked for.

    Args:
        head: the first bytes, without a byte order mark.
        is_json: whether JSON lines were asked for; else CSV.
    """
    what = "JSON lines" if is_json else "CSV"
    for signature, told in SIGNATURES.items():
        if head.startswith(signature):
            return f"{told}; export it as {what}"
    if head[TAR[0]] == TAR[1]:
        return f"it is a tar archive; unpack it, and export it as {what}"
    start = head.lstrip()
    if start.startswith(b"<"):
        if TRACE_EVENTS.search(start[:4096]):
            return TRACE
        return f"it is {'HTML' if HTML.match(start) else 'XML'}; export it as {what}"
    if not is_json and re.match(rb"\[\s*[{\[\]]|\{\s*\"", start):
        return "it is JSON; export it as CSV"
    if is_json and re.match(rb"\[\s*\{", start):
        return "it is one JSON array; write one object a line"
    if is_json and re.match(rb"\{[ \t]*[\r\n]", start):
        return "it has an object over several lines; write one object a line"
    nuls = head[:256]
    for name, even, odd in (("UTF-16 LE", 1, 0), ("UTF-16 BE", 0, 1)):
        if len(nuls) > 3 and not nuls[even::2].strip(b"\0") and nuls[odd::2].strip(b"\0"):
            encoding = "utf-16-le" if even else "utf-16-be"
            # A line of events may begin with the body of a message, which no message of ours shows.
            text = nuls[: len(nuls) // 2 * 2].decode(encoding, errors="replace")
            begins = "" if is_json else f" (it begins {sample(text)})"
            return f"it is {name} without a byte order mark{begins}; {AS_UTF8}"
    return None


def is_trace(header: set[str]) -> bool:
    """Whether columns, by names in lower case, are those of a trace."""
    return len(header & TRACE_COLUMNS) > 1 or bool(
        header & EXTENDED_COLUMNS and header & {"timestamp", "event_data", "conversation_action"}
    )


def sample(text: str) -> str:
    """The beginning of the first line of a text, in quotes."""
    line = text.strip().splitlines()[0] if text.strip() else ""
    return repr(line if len(line) <= SAMPLE else f"{line[:SAMPLE]}...")
