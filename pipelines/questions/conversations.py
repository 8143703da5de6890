"""A conversation by its id, or by the handle of one of its endpoints."""

from pyspark.sql import DataFrame, functions as F

from pipelines.config.errors import PipelineError
from pipelines.console.wording import format_list
from pipelines.state.messages import UNKNOWN
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from schemas.ids import canonical_text
from schemas.ledger import ENDPOINTS

CASE = "case counts unless it is a GUID"


def find_conversation(warehouse: Warehouse, name: str, rows: DataFrame) -> str:
    """Find the conversation_id that a name of the command line means.

    Args:
        warehouse: its endpoints are known.
        name: a conversation_id, or the conversation_handle of an endpoint; GUIDs in any spelling.
        rows: open messages with conversation_id; one may be of a conversation without endpoints.

    Raises:
        PipelineError: nothing has it, or the handle is of several conversations.
    """
    id = canonical_text(name)
    is_id = F.col("conversation_id") == id
    if not rows.where(is_id).isEmpty() or not warehouse.read(ENDPOINTS).where(is_id).isEmpty():
        return id
    if found := conversation_of_handle(warehouse, id):
        return found
    alone = f"{id}{UNKNOWN}"
    if not rows.where(F.col("conversation_id") == alone).isEmpty():
        return alone
    raise unknown_conversation(warehouse, name)


def conversation_of_handle(warehouse: Warehouse, handle: str) -> str | None:
    """Find the conversation whose endpoint has the handle; None if no endpoint has it.

    Raises:
        PipelineError: endpoints of several conversations have the handle.
    """
    rows = warehouse.read(ENDPOINTS).where(F.col("conversation_handle") == handle)
    ids = sorted(row["conversation_id"] for row in collect_rows(rows.select("conversation_id").distinct()))
    if len(ids) > 1:
        raise PipelineError(
            f"handle {handle!r}: endpoints of several conversations have it: {format_list(ids)}; name one "
            "of them"
        )
    return ids[0] if ids else None


def unknown_conversation(warehouse: Warehouse, name: str) -> PipelineError:
    """The error for a name that nothing has."""
    return PipelineError(
        f"conversation {name!r}: no endpoint has this conversation_id or conversation_handle; check the id "
        f"({CASE}), and whether its creation is among the inputs or in rejected_events{or_pruned(warehouse)}"
    )


def or_pruned(warehouse: Warehouse) -> str:
    """Return the end of a sentence about what is not known."""
    return "" if warehouse.first_day is None else f", or closed before {warehouse.first_day}, and so pruned"
