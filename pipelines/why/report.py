"""The answer to why messages wait: the situation, the causes, and both by place."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from pyspark.sql import DataFrame, functions as F

from pipelines.console.wording import format_code, format_count, format_list
from pipelines.engine.concurrency import run_concurrently
from pipelines.questions.caveats import say_unknown_honor
from pipelines.questions.conversations import find_conversation
from pipelines.settings.load import Settings
from pipelines.storage.warehouse import Warehouse
from pipelines.why.causes import BY_CODE, CODES
from pipelines.why.causes.cause import ORDER, SEVERITIES, Explained, Occurrence, Teller
from pipelines.why.counts import Counts, count_causes
from pipelines.why.details import details_of
from pipelines.why.explained import explained_rows
from pipelines.why.filters import Filters, find_queues, require_known_names
from pipelines.why.places import KINDS, PLACE, Place, Row
from pipelines.why.read import read_published
from pipelines.why.situation import describe_ahead, describe_places
from pipelines.why.teller import teller_of
from pipelines.why.verdict import verdict_sentence

FIRST = 5
"""Findings to look at first."""
MOST_TOLD = 3
"""Rows of details that a sentence may name."""
MOST_DETAILS = 10
"""Rows of kinds and details of an answer, unless another limit is given."""
COUNTED = ("code", "severity", "messages", "conversations")
"""Of a finding, without its place and words."""


def report_why(
    warehouse: Warehouse, settings: Settings, filters: Filters, *, as_of: datetime, limit: int
) -> Row:
    """Say why the open messages at a published as_of wait.

    Args:
        warehouse: the tables.
        settings: bindings, honor flags, monitors and snapshots, and where rules are written.
        filters: which messages are asked about.
        as_of: an as_of that was published.
        limit: rows of kinds and details.

    Returns:
        `as_of`, `caveats` (sentences), `situation`, `causes`, `findings` and `places`; see docs/why.md.

    Raises:
        ConfigError: a filter names a queue, contract or service that is unknown.
        PipelineError: nothing has the conversation that a filter names.
    """
    catalog, teller = settings.catalog, teller_of(settings, as_of)
    with read_published(warehouse, as_of) as tables:
        found = explained_rows(tables, settings)
        if filters.conversation is not None:
            conversation = find_conversation(warehouse, filters.conversation, found.rows)
            filters = replace(filters, conversation=conversation)
        queues = find_queues(filters, found.rows, catalog)
        require_known_names(tables, filters, found.rows, catalog)
        fitting = found.rows if filters == Filters() else tables.materialize(filters.of(found.rows, queues))
        counts = count_causes(fitting, teller)
        situations, causes, ahead = run_concurrently(
            warehouse.spark,
            partial(describe_places, fitting, counts.conversations, as_of, limit),
            partial(_with_details, counts, found, fitting, limit),
            partial(describe_ahead, found.rows, fitting),
        )
        sent = fitting.where("state = 'transmission' and honored is null")
        caveats = [*say_unknown_honor(sent.withColumn("database", F.col("held_by")))]
    for place, situation in situations.items():
        situation["ahead"] = ahead.get(place) if place is not None else None
    if len(ahead) == 1:
        situations[None]["ahead"] = next(iter(ahead.values()))
    told = {
        place: [tell(each, kind_of(place, each["code"], causes), limit, teller) for each in of_place]
        for place, of_place in causes.items()
    }
    places = sorted(
        (place for place in situations if place is not None),
        key=lambda place: (
            _worst(causes.get(place, ())),
            -situations[place]["messages"],
            _name_key(place),
        ),
    )
    findings = [(place, cause) for place in places for cause in told.get(place, ())]
    of_databases = [each for each in found.of_databases if filters.takes(each[0], queues)]
    findings += [(place, tell(row, place[0], limit, teller)) for place, row in of_databases]
    findings.sort(key=lambda pair: (_cause_key(pair[1]), _name_key(pair[0])))
    return {
        "as_of": as_of,
        "caveats": caveats,
        "situation": situations[None],
        "causes": told.get(None, []),
        "findings": [_finding(place, cause) for place, cause in findings],
        "places": [
            {**place_row(place), "situation": situations[place], "causes": told.get(place, [])}
            for place in places
        ],
    }


def conversation_findings(
    warehouse: Warehouse, settings: Settings, conversation_id: str, as_of: datetime
) -> tuple[Row, ...]:
    """The findings of the messages of a known conversation; `explain` shows them, too."""
    only = Filters(conversation=conversation_id)
    return tuple(report_why(warehouse, settings, only, as_of=as_of, limit=MOST_DETAILS)["findings"])


@dataclass(frozen=True)
class Findings:
    """What the open messages of an as_of say.

    Attributes:
        verdict: `verdict_sentence`.
        counted: one row a code and place, the worst and largest first: `code`, `severity`, PLACE (null where
            the place has none), `messages` and `conversations`.
        told: rows as `findings` of `report_why` has them.
        off: `queues_off_at`.
        since: since when the oldest message of each of these waits, if it is known.
    """

    verdict: str
    counted: list[Row]
    told: list[Row]
    off: Sequence[Row]
    since: list[datetime | None]

    @property
    def more(self) -> str:
        """How many findings of each severity are not told, and their codes; empty if none is left.

        Without those of the order.
        """
        left = Counter((row["severity"], row["code"]) for row in self.counted)
        left -= Counter((row["severity"], row["code"]) for row in self.told)
        parts = []
        for severity in SEVERITIES:
            codes = {code: count for (each, code), count in left.most_common() if each == severity}
            if codes and severity != ORDER:
                names = format_list([format_code(code) for code in codes])
                parts.append(f"{sum(codes.values()):,} {severity}: {names}")
        in_all = sum(count for (severity, _), count in left.items() if severity != ORDER)
        return f"and {format_count(in_all, 'more finding')} ({'; '.join(parts)})" if parts else ""


def first_findings(
    warehouse: Warehouse, settings: Settings, as_of: datetime, *, most: int = FIRST
) -> Findings:
    """The findings of a published as_of, without those of the order; see `find_findings`."""
    with read_published(warehouse, as_of) as tables:
        found = explained_rows(tables, settings, is_order_told=False)
        return find_findings(settings, found, as_of, most=most)


def find_findings(
    settings: Settings, found: Explained, as_of: datetime, *, is_all_told: bool = False, most: int = FIRST
) -> Findings:
    """Count all findings, and tell the first ones in words.

    Args:
        settings: the catalog, and where rules are written.
        found: `explained_rows` of all open messages.
        as_of: their as_of.
        is_all_told: whether every finding is told; else `most`, and none of the order.
        most: findings to tell, and rows of the details of each.
    """
    teller = teller_of(settings, as_of)
    counts = count_causes(found.rows, teller, are_all_counted=False)
    pairs = [*((place, row) for place, row in counts.causes if place is not None), *found.of_databases]
    pairs.sort(key=lambda pair: (_cause_key(pair[1]), _name_key(pair[0])))
    urgent = [pair for pair in pairs if pair[1]["severity"] != ORDER]
    asked, limit = (pairs, MOST_DETAILS) if is_all_told else (urgent[:most], most)
    codes = {row["code"] for _, row in asked if "details" not in row}
    details = _details(codes, found, found.rows, limit)
    told = [
        _finding(
            place, tell({"details": details.get(row["code"], {}).get(place), **row}, place[0], limit, teller)
        )
        for place, row in asked
    ]
    verdict = verdict_sentence(settings.catalog, found.rows, urgent, as_of)
    rows = [{**{name: row[name] for name in COUNTED}, **place_row(place)} for place, row in pairs]
    since = [row["since"] if row["example_message_id"] else None for _, row in asked]
    return Findings(verdict, rows, told, found.queues_off, since)


def kind_of(place: Place | None, code: str, causes: Mapping[Place | None, Sequence[Row]]) -> str | None:
    """The kind of a place; of all places that of those with the cause, None if they are of several kinds."""
    if place is not None:
        return place[0]
    kinds = {
        each[0] for each, of_place in causes.items() if each and any(row["code"] == code for row in of_place)
    }
    return kinds.pop() if len(kinds) == 1 else None


def tell(row: Row, kind: str | None, limit: int, teller: Teller) -> Row:
    """A cause in words: with `sentence`, `action` and `command`, and its details up to a limit.

    Args:
        row: the cause.
        kind: of the place; None for places of several kinds.
        limit: rows of details.
        teller: what the words depend on.
    """
    cause, details = BY_CODE[row["code"]], row["details"]
    counts = {name: row[name] for name in ("messages", "conversations", "example_message_id")}
    is_forwarded = 0 < row["messages"] == row.get("forwarded")
    at = Occurrence(**counts, details=details, kind=kind, teller=teller, is_forwarded=is_forwarded)
    return {
        "code": cause.code,
        "severity": row["severity"],
        **counts,
        "sentence": cause.sentence(at),
        "action": cause.action(at),
        "command": teller.command(*cause.command(at)),
        "details": [
            {name: value for name, value in detail.items() if not name.startswith("_")}
            for detail in details[:limit]
        ],
    }


def place_row(place: Place) -> Row:
    """A place by its columns, null where it has none."""
    return {name: value or None for name, value in zip(PLACE, place, strict=True)}


def _name_key(place: Place) -> tuple[object, ...]:
    return KINDS.index(place[0]), *[name.encode() for name in place[1:]]


def _cause_key(cause: Row) -> tuple[int, int, int]:
    return SEVERITIES.index(cause["severity"]), -cause["messages"], CODES.index(cause["code"])


def _worst(causes: Sequence[Row]) -> int:
    return min((SEVERITIES.index(cause["severity"]) for cause in causes), default=len(SEVERITIES))


def _finding(place: Place, cause: Row) -> Row:
    """A cause at a place, without the example."""
    names = ("messages", "conversations", "sentence", "action", "command", "details")
    of_cause = {name: cause[name] for name in names}
    return {"code": cause["code"], "severity": cause["severity"], **place_row(place), **of_cause}


def _with_details(
    counts: Counts, found: Explained, fitting: DataFrame, limit: int
) -> dict[Place | None, list[Row]]:
    """The causes of each place, the worst and largest first, and of all places, whose key is None."""
    details = _details({row["code"] for _, row in counts.causes}, found, fitting, limit)
    causes: dict[Place | None, list[Row]] = {}
    for place, row in counts.causes:
        causes.setdefault(place, []).append({**row, "details": details[row["code"]].get(place, [])})
    for each in causes.values():
        each.sort(key=_cause_key)
    return causes


def _details(
    codes: Collection[str], found: Explained, fitting: DataFrame, limit: int
) -> dict[str, dict[Place | None, list[Row]]]:
    """The details of causes, by code and place; enough rows for the sentences, whatever the limit."""
    asked = [partial(details_of, BY_CODE[code], found, fitting, max(limit, MOST_TOLD)) for code in codes]
    return dict(zip(codes, run_concurrently(fitting.sparkSession, *asked), strict=True))
