"""The answer to why messages wait: the situation, the causes, and both by place."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, functions as F

from pipelines.config.catalog import Catalog
from pipelines.config.load import Settings
from pipelines.engine.concurrency import run_concurrently
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from pipelines.why.codes import CODES, KINDS, OF_ORDER, PLACE
from pipelines.why.details import details_of
from pipelines.why.explained import Explained, explained_rows
from pipelines.why.filters import Filters, find_queues, require_known_names
from pipelines.why.sentences import Teller
from pipelines.why.situation import Place, Row, describe_ahead, describe_places, place_of
from pipelines.why.teller import teller_of

FIRST = 5
"""Pairs of place and cause to look at first."""


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
            partial(_causes, found, fitting, limit),
            partial(describe_ahead, found.rows, fitting),
        )
        places = sorted(
            (place for place in situations if place is not None),
            key=lambda place: (
                -situations[place]["messages"],
                KINDS.index(place[0]),
                *[name.encode() for name in place[1:]],
            ),
        )
        for place, situation in situations.items():
            situation["ahead"] = ahead.get(place) if place is not None else None
        if len(ahead) == 1:
            situations[None]["ahead"] = next(iter(ahead.values()))
    told = {
        place: [teller.tell(cause, place) for cause in causes.get(place, ())] for place in (None, *places)
    }
    return {
        "as_of": as_of,
        "situation": situations[None],
        "causes": told[None],
        "places": [
            {
                **{name: value or None for name, value in zip(PLACE, place, strict=True)},
                "situation": situations[place],
                "causes": told[place],
            }
            for place in places
        ],
    }


def look_at_first(answer: Mapping[str, Any]) -> list[tuple[Row, Row]]:
    """The largest pairs of place and cause, without those that only say where in the order messages stand."""
    pairs = [
        (-cause["messages"], CODES.index(cause["code"]), number, place, cause)
        for number, place in enumerate(_in_name_order(answer["places"]))
        for cause in place["causes"]
        if cause["code"] not in OF_ORDER
    ]
    return [(place, cause) for *_, place, cause in sorted(pairs, key=lambda pair: pair[:3])[:FIRST]]


def first_causes(warehouse: Warehouse, settings: Settings, as_of: datetime) -> list[tuple[Row, Row]]:
    """`look_at_first` of a published as_of, over all places."""
    answer = report_why(
        warehouse,
        settings.catalog,
        Filters(),
        teller_of(settings, as_of),
        as_of=as_of,
        limit=FIRST,
        is_activation_computed=settings.activation is not None,
    )
    return look_at_first(answer)


def _in_name_order(places: Sequence[Row]) -> list[Row]:
    return sorted(
        places,
        key=lambda place: (
            KINDS.index(place["kind"]),
            *[(place[name] or "").encode() for name in PLACE[1:]],
        ),
    )


def _causes(found: Explained, fitting: DataFrame, limit: int) -> dict[Place | None, list[Row]]:
    """The causes of each place, most messages first, and of all places, whose key is None."""
    by_code = fitting.select(
        *PLACE, "message_id", "conversation_id", "since", F.explode("codes").alias("code")
    )
    counts = [
        F.count(F.lit(1)).alias("messages"),
        F.count_distinct("conversation_id").alias("conversations"),
        F.min(F.struct("since", "message_id")).alias("oldest"),
    ]
    of_places = collect_rows(_flat(by_code.groupBy(*PLACE, "code").agg(*counts)))
    of_all = collect_rows(_flat(by_code.groupBy("code").agg(*counts)))
    codes = [row["code"] for row in of_all]
    spark = fitting.sparkSession
    details = dict(
        zip(
            codes,
            run_concurrently(spark, *[partial(details_of, code, found, fitting, limit) for code in codes]),
            strict=True,
        )
    )
    causes: dict[Place | None, list[Row]] = {}
    for row in [*of_places, *({**row, "kind": None} for row in of_all)]:
        place = None if row["kind"] is None else place_of(row)
        causes.setdefault(place, []).append(
            {
                "code": row["code"],
                "messages": row["messages"],
                "conversations": row["conversations"],
                "example_message_id": row["example_message_id"],
                "details": details[row["code"]].get(place, []),
            }
        )
    for each in causes.values():
        each.sort(key=lambda cause: (-cause["messages"], CODES.index(cause["code"])))
    return causes


def _flat(counted: DataFrame) -> DataFrame:
    return counted.withColumn("example_message_id", F.col("oldest.message_id")).drop("oldest")
