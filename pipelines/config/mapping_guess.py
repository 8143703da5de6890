"""A mapping's skeleton for a file: guesses by the names of its columns, marked as guesses."""

import json
from collections.abc import Iterator, Sequence

from pipelines.config.mapping import HANDLE, MappedColumn, known_columns, missing_columns
from schemas.events import CONTRACTS

NAMES = {
    "event_id": ("eventid", "logid", "auditid", "rowid"),
    "event_time": (
        *("eventtime", "processedat", "receivedat", "loggedat", "insertedat", "createdat", "sentat"),
        *("logtime", "logdate", "timestamp", "enqueuetime", "messageenqueuetime", "processedon", "time"),
    ),
    "instance": ("instance", "servername", "server", "instancename"),
    "database": ("database", "databasename", "dbname"),
    "event_type": ("eventtype",),
    "message_id": ("messageid", "msgid"),
    "conversation_id": ("conversationid", "convid", "dialogid"),
    HANDLE: ("conversationhandle", "handle", "convhandle", "dialoghandle"),
    "sent_by_initiator": ("sentbyinitiator",),
    "message_sequence_number": ("messagesequencenumber", "sequencenumber", "seqno", "seq", "msgseq"),
    "message_type": ("messagetypename", "messagetype", "msgtype", "type"),
    "size_bytes": ("sizebytes", "size", "bodylength", "messagelength", "datalength", "bytes"),
    "queuing_order": ("queuingorder",),
    "transaction_id": ("transactionid",),
}
BODIES = ("messagebody", "body", "msgbody", "payload")
"""Columns of which the length is the size."""
EXAMPLES = {
    "event_time": "{from: COLUMN, zone: Europe/Berlin}",
    "event_type": "{value: RECEIVED}",
    "instance": "{value: SQL1}",
    "database": "{value: Claims}",
}
TABLE = "message_events"
GUESS = "# guess"


def guess_columns(there: Sequence[str]) -> dict[str, dict[str, str]]:
    """What the columns of a table of messages may be, by the names of the file's columns."""
    plain = {"".join(filter(str.isalnum, name)).lower(): name for name in reversed(there)}
    guessed = {}
    for column in known_columns(CONTRACTS[TABLE]):
        found = next((plain[each] for each in NAMES.get(column, ()) if each in plain), None)
        if found is not None:
            guessed[column] = {"from": found}
    body = next((plain[each] for each in BODIES if each in plain), None)
    if body is not None and "size_bytes" not in guessed:
        guessed["size_bytes"] = {"from": body, "length": "bytes"}
    return guessed


def write_skeleton(name: str, path: str, format: str, there: Sequence[str]) -> Iterator[str]:
    """The lines of the section `inputs` for a file of messages that a procedure logged."""
    guessed = guess_columns(there)
    mapped = {column: MappedColumn.model_validate(each) for column, each in guessed.items()}
    missing = missing_columns(CONTRACTS[TABLE], mapped)
    yield "inputs:"
    yield f"  {TABLE}:"
    yield f"    - name: {_quoted(name)}"
    yield f"      path: {_quoted(path)}"
    yield f"      format: {format}"
    yield "      columns:"
    for column, each in guessed.items():
        written = ", ".join(f"{key}: {_quoted(value)}" for key, value in each.items())
        local = "; times are UTC unless zone: or offset: says otherwise" if column == "event_time" else ""
        yield f"        {column}: {{{written}}} {GUESS} by the name{local}"
    if missing:
        yield "        # An event needs these, which no name of a column fits:"
    for column in missing:
        first = column.partition(" ")[0]
        yield f"        # {first}: {EXAMPLES.get(first, '{from: COLUMN}')}" + (
            f" # or {column.partition(' or ')[2]}" if " or " in column else ""
        )
    taken = {each["from"] for each in guessed.values()}
    if left := [column for column in there if column not in taken]:
        yield f"      # Columns that are not taken: {', '.join(map(_quoted, left))}"
    yield "      # where: [{from: COLUMN, is: [VALUE]}]"


def _quoted(text: str) -> str:
    """A text as YAML takes it in every place; JSON's is one form of it."""
    is_plain = text.isascii() and text.isalpha() and text.lower() not in ("true", "false", "null", *"yn")
    is_switch = text.lower() in ("yes", "no", "on", "off")
    return text if is_plain and not is_switch else json.dumps(text, ensure_ascii=False)
