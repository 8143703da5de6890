"""The details of causes: which rules, queues, groups and names they are about."""

from pyspark.sql import DataFrame, functions as F

from pipelines.why.cause_bits import has_any
from pipelines.why.causes.cause import Cause, Explained
from pipelines.why.places import PLACE, Place, Row, place_of
from pipelines.why.situation import top_rows


def details_of(
    cause: Cause, found: Explained, fitting: DataFrame, limit: int
) -> dict[Place | None, list[Row]]:
    """Rows of the details of a cause by place; those of all places together have the key None.

    Args:
        cause: the cause.
        found: `explained_rows`.
        fitting: those of its rows that fit.
        limit: rows of each place, and of all.

    Returns:
        The columns of the cause and `messages`, most messages first; what sentences need beside them begins
        with `_`.
    """
    rows = cause.rows_of_details(found, fitting.where(has_any([cause.code])))
    # Some are named as a column of the place: details have names of their own until they are counted.
    named = [F.expr(value).alias(f"d_{name}") for name, value in cause.columns.items()]
    greatest = None if cause.greatest is None else f"d_{cause.greatest}"
    most = limit if cause.most_details is None else min(limit, cause.most_details)
    details: dict[Place | None, list[Row]] = {}
    counted = top_rows(
        rows.select(*PLACE, *named),
        [f"d_{name}" for name in cause.columns],
        most,
        greatest=greatest,
        are_few=cause.are_details_few,
        is_of_place=set(PLACE) <= set(cause.columns),
    )
    for row in counted:
        place = None if row["kind"] is None else place_of(row)
        values = {name: row[f"d_{name}"] for name in cause.columns}
        more = {f"_{name}": value for name, value in cause.more_of_details(found, values).items()}
        details.setdefault(place, []).append({**values, **more, "messages": row["messages"]})
    return details
