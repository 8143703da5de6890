"""The ids of an input's rows in their one spelling, and those of messages that have none."""

from collections.abc import Callable
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.ingest.snapshots.identity import own_id
from pipelines.storage.inputs.mapped_rows import SourceMapping
from schemas import EventContract
from schemas.ids import IDS, canonical_id

WRITTEN = "written"


def is_in_other_spelling(contract: EventContract) -> Column:
    """Whether an id of the row is not in its canonical spelling; never null."""
    return _any_id(contract, lambda id: canonical_id(id) != id)


def has_more_than_case(contract: EventContract) -> Column:
    """Whether an id of the row in upper case is not its canonical spelling; never null."""
    return _any_id(contract, lambda id: canonical_id(id) != F.upper(id))


def _any_id(contract: EventContract, differs: Callable[[Column], Column]) -> Column:
    return reduce(or_, [differs(F.col(name)).eqNullSafe(True) for name in _ids(contract)])


def with_canonical_ids(rows: DataFrame, contract: EventContract, *, by_case: bool) -> DataFrame:
    """Give the ids of rows their canonical spelling; see `schemas.ids`.

    Args:
        rows: rows of `with_reasons`; one row per row of the input.
        contract: the input's contract.
        by_case: no row `has_more_than_case`; upper case takes a third of the processor time.

    Returns:
        The rows, with `written`: the ids as the input has them.
    """
    names = _ids(contract)
    spell = F.upper if by_case else canonical_id
    canonical = {name: spell(F.col(name)) for name in names}
    return rows.withColumns({WRITTEN: F.struct(*names), **canonical})


def with_written_ids(rows: DataFrame, contract: EventContract) -> DataFrame:
    """The rows with their ids as the input has them."""
    if WRITTEN not in rows.columns:
        return rows
    return rows.withColumns({name: F.col(f"{WRITTEN}.{name}") for name in _ids(contract)})


def _ids(contract: EventContract) -> list[str]:
    return [name for name in contract.names if name in IDS]


NUMBERED = ("conversation_id", "sent_by_initiator", "message_sequence_number")
"""What a message is known by where it has no id."""


def with_message_ids(rows: DataFrame, mapping: SourceMapping) -> DataFrame:
    """Give messages without an id the one that snapshots give them; one without a number has none."""
    if "message_id" not in mapping.contract.names:
        return rows
    is_known = (
        F.col(NUMBERED[0]).isNotNull() & F.col(NUMBERED[1]).isNotNull() & F.col(NUMBERED[2]).isNotNull()
    )
    made = F.when(is_known, own_id(canonical_id(F.col("conversation_id"))))
    return rows.withColumn("message_id", F.coalesce("message_id", made))
