"""The inputs of a replay: messages with levels and work, readers, locks and status changes."""

from dataclasses import dataclass

from pyspark.sql import DataFrame, functions as F

from pipelines.engine.materialize import Materialize
from pipelines.replay.messages import (
    DESCRIPTION,
    arriving_messages,
    counts_for_medians,
    first_receipts,
    is_within,
    messages_of_period,
    ready_messages,
    receivers,
    services,
    with_receivers,
    with_service,
)
from pipelines.replay.readers import logged_readers
from pipelines.replay.request import Period, ReplayRequest
from pipelines.replay.timeline import Inputs
from pipelines.replay.transactions import first_filtered_receipts, open_transactions, outcomes
from pipelines.schedules.orders import Backlog, Catalog
from pipelines.settings.load import Settings
from pipelines.settings.proposal import keep_standing_rules
from pipelines.state.endpoints import SIDE
from pipelines.state.ledger import Ledger
from pipelines.state.messages import ARRIVALS, describe_messages
from pipelines.storage.histories import rules_frame
from pipelines.whatif.levels import as_proposed, changed_kinds
from schemas.keys import QUEUE

MILLISECOND = 1000


@dataclass(frozen=True)
class Sources:
    """The frames that a replay is made from.

    Attributes:
        ledger: the rows that can matter, with events of any time.
        catalog: where services are.
        backlog: the backlog at the start of the period.
        queues: (instance, database, queue) of the queues that are played, unique.
        complete: complete views of endpoints, as for `find_fates`.
        bindings: the queues of services at all times, as for `find_fates`.
    """

    ledger: Ledger
    catalog: Catalog
    backlog: Backlog
    queues: DataFrame
    complete: DataFrame
    bindings: DataFrame


def replay_inputs(
    sources: Sources, request: ReplayRequest, settings: Settings, materialize: Materialize
) -> Inputs:
    """Find what is played on the queues; without a proposal the proposed levels are the recorded ones."""
    ledger, period, waiting = sources.ledger, request.period, sources.backlog.messages
    all_receivers = receivers(ledger.endpoints, ledger.endpoint_events, sources.catalog, period)
    # Endpoints that are created after the period are not played. The work on their messages counts for
    # medians, and their readers are readers of the hour in which the period ends.
    around = materialize(F.broadcast(sources.queues).join(all_receivers, QUEUE))
    existing = around.where(F.col("created_at") < F.lit(period.end))
    ended = materialize(outcomes(ledger.queue_events))
    in_flight = waiting.where("in_flight").select("message_id", "conversation_id", "sent_by_initiator")
    now_open = open_transactions(ledger, ended, in_flight, existing, start=period.start)
    work = materialize(services(ledger, ended, materialize=materialize))
    messages = materialize(with_receivers(_messages_with_work(ledger, work, period, materialize), around))
    ready = ready_messages(waiting, now_open.returns, existing, period).join(work, "message_id", "left")
    played = messages_of_period(ready.unionByName(arriving_messages(messages, period)), period)
    default = settings.replay.default_service_ms * MILLISECOND
    with_work = with_service(played, messages.where(counts_for_medians(period)), default=default)
    with_levels = _with_levels(
        with_work.withColumnRenamed("priority", "level"), existing, request, materialize
    )
    return Inputs(
        messages=materialize(with_levels),
        first_received=first_receipts(ledger, around, sources.complete, sources.bindings, period),
        filtered_receipts=first_filtered_receipts(ledger, ended, existing, period),
        ledger=ledger,
        locks=now_open.locks,
        holds=now_open.holds,
        readers=materialize(logged_readers(ledger, ended, around, period, queues=sources.queues)),
        off=sources.backlog.off,
    )


def _messages_with_work(
    ledger: Ledger, work: DataFrame, period: Period, materialize: Materialize
) -> DataFrame:
    """The messages that arrive in the period or count for medians, with `DESCRIPTION` and `work`.

    Both are mostly the same messages, so a large frame is joined once.
    """
    arrivals = ledger.message_events.where(F.col("event_type").isin(*ARRIVALS) & is_within(period))
    ids = (
        arrivals.select("message_id")
        .unionByName(work.where(counts_for_medians(period)).select("message_id"))
        .distinct()
    )
    descriptions = describe_messages(ledger.message_events, materialize, ids=ids).select(*DESCRIPTION)
    return descriptions.join(work, "message_id", "left")


def _with_levels(
    messages: DataFrame, receivers: DataFrame, request: ReplayRequest, materialize: Materialize
) -> DataFrame:
    """Add `proposed`, the level of the receiver by the proposal; else the recorded level."""
    if request.proposal is None:
        return messages.withColumn("proposed", F.col("level"))
    rules = rules_frame(messages.sparkSession, keep_standing_rules(request.proposal.settings.rule_history))
    changed = materialize(changed_kinds(receivers, rules, as_if=request.as_if))
    levels = as_proposed(receivers, changed, as_if=request.as_if)
    return messages.join(levels.select(*SIDE, F.col("priority").alias("proposed")), SIDE)
