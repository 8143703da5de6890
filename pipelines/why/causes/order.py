"""Causes that lie in the order: what is ahead of a message."""

from typing import ClassVar

from pyspark.sql import DataFrame, functions as F

from pipelines.console.wording import format_count, format_list
from pipelines.questions.open_messages import NAMES
from pipelines.why.causes.cause import (
    ORDER,
    Cause,
    Explained,
    Occurrence,
    alter_queue,
    format_names,
    format_queue_of,
    place_columns,
    same,
)
from pipelines.why.places import PLACE, Row

MOST_AHEAD = 3


class Ahead(Cause):
    """Messages of other groups are ahead; the details count these, by their names."""

    severity = ORDER
    columns = same(*NAMES)
    most_details = MOST_AHEAD
    counts_more: ClassVar[bool]
    behind: ClassVar[str]

    def rows_of_details(self, found: Explained, rows: DataFrame) -> DataFrame:
        return _ahead(found.rows, rows, counts_more=self.counts_more)

    def sentence(self, at: Occurrence) -> str:
        ahead = format_list([f"{row['messages']:,} of {format_names(row, at.kind)}" for row in at.details])
        return f"{at.count('stand')} behind messages of {self.behind}: {ahead}"


class Outranked(Ahead):
    """Messages of other groups with a higher group priority are ahead.

    In a transmission queue these are messages of other conversations with a higher transmit_priority.

    To do: raise their level by a rule, or lower that of the others. Try it with what-if first.
    """

    code = "outranked"
    condition = "is_outranked"
    counts_more = True
    behind = "a higher level"

    def action(self, at: Occurrence) -> str:
        return "raise their level, or lower that of the others; try it with what-if"


class OwnGroupFirst(Cause):
    """Messages of the same group, or conversation, are ahead. One reader at a time holds a group.

    To do: split the work into more conversations.
    """

    code = "own_group_first"
    are_details_few = False
    severity = ORDER
    condition = "is_behind_own"
    columns = {
        "kind": "kind",
        **place_columns(),
        "conversation_group_id": "conversation_group_id",
        "conversation_id": "case when kind = 'transmission' then conversation_id end",
    }

    def sentence(self, at: Occurrence) -> str:
        unit = "conversation" if at.is_sent else "conversation or group"
        return f"{at.count('stand')} behind messages of their own {unit}"

    def action(self, at: Occurrence) -> str:
        if at.is_sent:
            return "messages of one conversation are sent in order; split the work into more conversations"
        return "one group is served by one reader at a time; split the work into more conversations"


class OlderFirst(Ahead):
    """Messages of other groups that are not of a higher level arrived earlier.

    To do: tell them apart by a rule, or serve the queue faster, which helps all.
    """

    code = "older_first"
    condition = "is_behind_older"
    counts_more = False
    behind = "the same level that go first"

    def action(self, at: Occurrence) -> str:
        if at.is_sent:
            return "they are sent one after the other; raise the level, or look at the network"
        return "raise their level, or serve the queue faster"


class FirstInLine(Cause):
    """The next RECEIVE takes the message, or it is sent next.

    Not for what waits for a queue that is off, or where the server says why.

    To do: see the readers of the queue; for sending, the network, the routes and the far instance.
    """

    code = "first_in_line"
    severity = ORDER
    condition = (
        "case when kind = 'transmission' then position = 1 and waits_for is null and status is null "
        "else receive_number = 1 end"
    )
    columns = {"kind": "kind", **place_columns()}

    def more_of_details(self, found: Explained, details: Row) -> Row:
        if details["queue"] is None:
            return {}
        queue = format_queue_of(details)
        return {
            "tasks": found.tasks.get(queue),
            "groups": found.groups().get(queue),
            "is_activated": queue not in found.not_activated,
        }

    def sentence(self, at: Occurrence) -> str:
        if at.is_sent:
            return f"{at.count()} would be sent next; no log says why they are still there"
        return f"the next RECEIVE would take {at.count()}"

    def action(self, at: Occurrence) -> str:
        if at.is_sent:
            return (
                "look at the network, the routes and the far instance; a capture shows what the server says "
                "of it (transmission_status)"
            )
        tasks = at.first.get("_tasks") if at.details else None
        if at.details and not at.first.get("_is_activated", True) and not tasks:
            return (
                "activation of the queue is off, so no reader is started: turn it on, unless another program "
                f"is to read it: {alter_queue(at)} WITH ACTIVATION (STATUS = ON)"
            )
        if tasks == 0:
            return "no activated task runs: see why none is started, and who else reads the queue"
        if not tasks:
            return "see who reads the queue"
        run = f"{format_count(tasks, 'activated task')} {'runs' if tasks == 1 else 'run'}"
        if at.first["_groups"] == 1:
            return (
                f"{run}, and all messages are of one group, which one reader at a time serves: more readers "
                "do not help; see what the task does, and split the work into more conversations"
            )
        return f"{run}; see what {'it does' if tasks == 1 else 'they do'}"

    def command(self, at: Occurrence) -> tuple[str, ...]:
        if at.details and at.first["queue"]:
            return ("next", "--queue", format_queue_of(at.first))
        return super().command(at)


def _ahead(rows: DataFrame, behind: DataFrame, *, counts_more: bool) -> DataFrame:
    """The messages that are ahead of at least one message of a cause, and count more than it, or do not.

    Of each place and level the last message counts, and the last one of another unit than its own.
    """
    key = [*PLACE, "counts_as"]
    last = behind.groupBy(*key).agg(F.max("position").alias("last"))
    units = (
        behind.join(F.broadcast(last), key)
        .where(F.col("position") == F.col("last"))
        .select(*key, "last", F.col("unit").alias("last_unit"))
    )
    other = (
        behind.join(F.broadcast(units), key)
        .where(F.col("unit") != F.col("last_unit"))
        .groupBy(*key)
        .agg(F.max("position").alias("last_other"))
    )
    ends = units.join(other, key, "left").select(
        *[F.col(name).alias(f"b_{name}") for name in PLACE],
        F.col("counts_as").alias("b_counts_as"),
        "last",
        "last_unit",
        "last_other",
    )
    is_ahead = ((F.col("last_unit") != F.col("unit")) & (F.col("last") > F.col("position"))) | F.coalesce(
        F.col("last_other") > F.col("position"), F.lit(False)
    )
    does_count_more = F.col("counts_as") > F.col("b_counts_as")
    for name in PLACE:
        is_ahead &= F.col(name) == F.col(f"b_{name}")
    is_of_cause = does_count_more if counts_more else ~does_count_more
    return rows.where("position is not null").join(F.broadcast(ends), is_ahead & is_of_cause, "left_semi")
