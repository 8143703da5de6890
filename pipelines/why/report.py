"""The answer to why messages wait: the situation, the causes, and both by place."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, functions as F

from pipelines.config.catalog import Catalog
from pipelines.config.load import Settings
from pipelines.engine.concurrency import run_concurrently
from pipelines.state.events_before import DIGITS, moment_of
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from pipelines.why.causes import BY_CODE, CODES, OF_ORDER
from pipelines.why.causes.cause import Explained, Occurrence, Teller
from pipelines.why.details import details_of
from pipelines.why.explained import explained_rows
from pipelines.why.filters import Filters, find_queues, require_known_names
from pipelines.why.places import KINDS, PLACE, Place, Row, place_of
from pipelines.why.situation import describe_ahead, describe_places
from pipelines.why.teller import teller_of

FIRST = 5
"""Pairs of place and cause to look at first."""
MOST_TOLD = 3
"""Rows of details that a sentence may name."""


def report_why(
    warehouse: Warehouse,
    catalog: Catalog,
    filters: Filters,
    teller: Teller,
    *,
    as_of: datetime,
    limit: int,
    is_activation_computed: bool,
) -> Row:
    """Say why the open messages at a published as_of wait.

    Args:
        warehouse: the tables.
        catalog: bindings, honor flags and monitors.
        filters: which messages are asked about.
        teller: writes sentences, actions and commands.
        as_of: an as_of that was published.
        limit: rows of kinds and details.
        is_activation_computed: whether the settings have activation.

    Returns:
        `as_of`, `situation`, `causes` and `places`; see docs/why.md.

    Raises:
        ConfigError: a filter names a queue, contract or service that is unknown.
    """
    with warehouse.materializing() as materialize:
        found = explained_rows(
            warehouse,
            catalog,
            as_of=as_of,
            is_activation_computed=is_activation_computed,
            materialize=materialize,
        )
        queues = find_queues(filters, found.rows, catalog)
        require_known_names(warehouse, filters, found.rows, catalog, as_of)
        fitting = found.rows if filters == Filters() else materialize(filters.of(found.rows, queues))
        situations, causes, ahead = run_concurrently(
            warehouse.spark,
            partial(describe_places, fitting, as_of, limit),
            partial(_all_causes, found, fitting, limit),
            partial(describe_ahead, found.rows, fitting),
        )
    for place, situation in situations.items():
        situation["ahead"] = ahead.get(place) if place is not None else None
    if len(ahead) == 1:
        situations[None]["ahead"] = next(iter(ahead.values()))
    told = {
        place: [tell(each, place, limit, teller) for each in of_place] for place, of_place in causes.items()
    }
    places = sorted(
        (place for place in situations if place is not None),
        key=lambda place: (-situations[place]["messages"], _name_key(place)),
    )
    return {
        "as_of": as_of,
        "situation": situations[None],
        "causes": told.get(None, []),
        "places": [
            {**place_row(place), "situation": situations[place], "causes": told.get(place, [])}
            for place in places
        ],
    }


def first_causes(
    warehouse: Warehouse,
    settings: Settings,
    as_of: datetime,
    off: Sequence[Mapping[str, Any]] | None = None,
) -> list[tuple[Row, Row]]:
    """The largest pairs of place and cause, without those that only say where in the order messages stand.

    Args:
        warehouse: the tables.
        settings: the catalog, and where rules are written.
        as_of: an as_of that was published.
        off: `queues_off_at`, if it is known.

    Returns:
        Place and cause, as `report_why` has them.
    """
    teller = teller_of(settings, as_of)
    with warehouse.materializing() as materialize:
        found = explained_rows(
            warehouse,
            settings.catalog,
            as_of=as_of,
            is_activation_computed=settings.activation is not None,
            materialize=materialize,
            off=off,
            is_order_told=False,
        )
        counted = _count_causes(found.rows, *PLACE, left_out=OF_ORDER)
        pairs = [(place_of(row), row) for row in counted]
        pairs.sort(key=lambda pair: (*_cause_key(pair[1]), _name_key(pair[0])))
        first = pairs[:FIRST]
        details = _details({row["code"] for _, row in first}, found, found.rows, FIRST)
    return [
        (place_row(place), tell({**row, "details": details[row["code"]][place]}, place, FIRST, teller))
        for place, row in first
    ]


def tell(row: Row, place: Place | None, limit: int, teller: Teller) -> Row:
    """A cause at a place in words: with `sentence`, `action` and `command`, and its details up to a limit."""
    cause, details = BY_CODE[row["code"]], row["details"]
    counts = {name: row[name] for name in ("messages", "conversations", "example_message_id")}
    at = Occurrence(**counts, details=details, kind=None if place is None else place[0], teller=teller)
    return {
        "code": cause.code,
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


def _cause_key(cause: Row) -> tuple[int, int]:
    return -cause["messages"], CODES.index(cause["code"])


def _all_causes(found: Explained, fitting: DataFrame, limit: int) -> dict[Place | None, list[Row]]:
    """The causes of each place, most messages first, and of all places, whose key is None."""
    of_places, of_all = _count_causes(fitting, *PLACE), _count_causes(fitting)
    details = _details({row["code"] for row in of_all}, found, fitting, limit)
    causes: dict[Place | None, list[Row]] = {}
    for place, row in [*((place_of(row), row) for row in of_places), *((None, row) for row in of_all)]:
        causes.setdefault(place, []).append({**row, "details": details[row["code"]].get(place, [])})
    for each in causes.values():
        each.sort(key=_cause_key)
    return causes


def _count_causes(rows: DataFrame, *by: str, left_out: Sequence[str] = ()) -> list[Row]:
    """Count messages and conversations of each cause, by further columns, with the oldest message."""
    by_code = rows.select(*by, "message_id", "conversation_id", "since", F.explode("codes").alias("code"))
    counted = by_code.where(~F.col("code").isin(*left_out)) if left_out else by_code
    counted = counted.groupBy(*by, "code").agg(
        F.count(F.lit(1)).alias("messages"),
        F.count_distinct("conversation_id").alias("conversations"),
        F.min(F.concat(moment_of("since"), "message_id")).alias("oldest"),
    )
    example = F.expr(f"substring(oldest, {DIGITS + 1})")
    return collect_rows(counted.withColumn("example_message_id", example).drop("oldest"))


def _details(
    codes: Collection[str], found: Explained, fitting: DataFrame, limit: int
) -> dict[str, dict[Place | None, list[Row]]]:
    """The details of causes, by code and place; enough rows for the sentences, whatever the limit."""
    asked = [partial(details_of, BY_CODE[code], found, fitting, max(limit, MOST_TOLD)) for code in codes]
    return dict(zip(codes, run_concurrently(fitting.sparkSession, *asked), strict=True))
