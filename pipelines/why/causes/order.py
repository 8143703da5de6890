"""Causes that lie in the order: what is ahead of a message."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import DataFrame, functions as F

from pipelines.console.wording import format_count, format_list, format_queue
from pipelines.engine.frames import small_frame
from pipelines.questions.open_messages import NAMES
from pipelines.storage.collect import collect_rows
from pipelines.why.causes.cause import (
    KEEP_LEVEL,
    ORDER,
    Cause,
    Explained,
    Occurrence,
    alter_queue,
    format_names,
    place_columns,
    same,
)
from pipelines.why.order import LEVELS
from pipelines.why.places import OF_PLACE, PLACE, Place, Row, place_of

MOST_AHEAD = 3
FORWARDED = "what is only forwarded goes at level 5, whatever the rules"
OF_LEVEL = f"{OF_PLACE}, counts_as int"
UNTIL = f"{OF_LEVEL}, last_unit string, end_of_last bigint, end bigint"


class Ahead(Cause):
    """Messages of other groups are ahead; the details count these, by their names."""

    severity = ORDER
    columns = same(*NAMES)
    most_details = MOST_AHEAD
    counts_more: ClassVar[bool]

    def rows_of_details(self, found: Explained, rows: DataFrame) -> DataFrame:
        return _ahead(found.rows, rows, counts_more=self.counts_more)

    def sentence(self, at: Occurrence) -> str:
        ahead = format_list([f"{row['messages']:,} of {format_names(row, at.kind)}" for row in at.details])
        return f"{at.count('wait')} behind {self.behind(at)}: {ahead}"

    def behind(self, at: Occurrence) -> str:
        """The messages that are ahead, in words."""
        raise NotImplementedError


class Outranked(Ahead):
    """Messages of other groups with a higher group priority are ahead.

    In a transmission queue these are messages of other conversations with a higher transmit_priority.

    To do: raise their level by a rule, or lower that of the others. Try it with what-if first.
    """

    code = "outranked"
    condition = "is_outranked"
    counts_more = True

    def behind(self, at: Occurrence) -> str:
        return "messages with a higher level"

    def action(self, at: Occurrence) -> str:
        if at.is_forwarded:
            return f"{FORWARDED}; lower the level of the others, or look at the network"
        honored = ", if their database honors priorities" if at.is_sent else ""
        return (
            f"if {at.word('they are')} to go first, raise {at.word('their')} level by a rule, or lower that "
            f"of the others{honored}; {KEEP_LEVEL}; priorities whatif shows what a rule changes"
        )


class OwnGroupFirst(Cause):
    """Messages of the same conversation group are ahead; in a transmission queue, of the same conversation.

    One reader at a time holds a group. Messages of a conversation are sent in order.

    To do: split the work into more conversations, each in a group of its own.
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
        unit = {"receive": "conversation group", "transmission": "conversation"}
        own = unit.get(at.kind or "", "conversation or conversation group")
        return f"{at.count('wait')} behind earlier messages of {at.word('their')} own {own}"

    def action(self, at: Occurrence) -> str:
        if at.is_sent:
            return (
                "messages of one conversation are sent in order; if they are to be sent side by side, split "
                "the work into more conversations"
            )
        if at.kind is None:
            return (
                "one reader at a time serves a group, and messages of one conversation are sent in order; "
                "split the work into more conversations"
            )
        return (
            "one reader at a time serves a group; if several readers are to share the work, split it into "
            "more conversations, each in a group of its own"
        )


class OlderFirst(Ahead):
    """Messages of other groups that do not have a higher level are ahead.

    In a transmission queue these are messages of other conversations.

    To do: tell them apart by a rule, or serve the queue faster.
    """

    code = "older_first"
    condition = "is_behind_older"
    counts_more = False

    def behind(self, at: Occurrence) -> str:
        if at.kind == "receive":
            return "earlier messages of other groups with the same level"
        units = "conversations" if at.is_sent else "groups or conversations"
        # A block may have messages of a lower level.
        return f"earlier messages of other {units} with the same or a lower level"

    def action(self, at: Occurrence) -> str:
        if at.is_forwarded:
            return f"{FORWARDED}; look at the network"
        if at.is_sent:
            faster = "messages are sent one after the other; look at the network"
        elif at.kind is None:
            faster = "serve the queue faster, and for sending look at the network"
        else:
            faster = "serve the queue faster"
        honored = ", if their database honors priorities" if at.is_sent else ""
        return f"{faster}; or raise the level of those that are to go first{honored}; {KEEP_LEVEL}"


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
        queue = format_queue(details)
        tasks = found.tasks.get(queue)
        return {
            "tasks": tasks,
            "groups": found.groups().get(queue) if tasks else None,
            "is_activated": queue not in found.not_activated,
        }

    def sentence(self, at: Occurrence) -> str:
        if at.is_sent:
            return f"{at.count()} would be sent next; no log says why {at.word('they are')} still there"
        if at.kind is None:
            return f"{at.count('are')} the first ones to be received or sent"
        return f"the next RECEIVE would take {at.count()}"

    def action(self, at: Occurrence) -> str:
        if at.is_sent:
            return (
                "look at the network, the routes and the far instance; a later capture may have the server's "
                "reason (transmission_status)"
            )
        if at.kind is None:
            return (
                "see who reads the queues; for sending look at the network, the routes and the far instance"
            )
        tasks = at.first.get("_tasks") if at.details else None
        if at.details and not at.first.get("_is_activated", True) and not tasks:
            return (
                "activation of the queue is off, so no reader is started: turn it on, unless another program "
                f"is to read it: {alter_queue(at, 'ACTIVATION (STATUS = ON)')}"
            )
        if tasks == 0:
            return "no activated task runs: see why none is started, and what else reads the queue"
        if not tasks:
            return "see what reads the queue, and whether it runs"
        run = f"{format_count(tasks, 'activated task')} {'runs' if tasks == 1 else 'run'}"
        if at.first["_groups"] == 1:
            return (
                f"{run}, and all messages are of one group, which one reader at a time serves: more readers "
                "do not help; see what the task does, and split the work into more conversations"
            )
        return f"{run}; see what {'it does' if tasks == 1 else 'they do'}"

    def command(self, at: Occurrence) -> tuple[str, ...]:
        if at.details and at.first["queue"]:
            return ("next", "--queue", format_queue(at.first))
        return super().command(at)


def _ahead(rows: DataFrame, behind: DataFrame, *, counts_more: bool) -> DataFrame:
    """The messages that are ahead of at least one message of a cause, and count more than it, or do not.

    Args:
        rows: `explained_rows`.
        behind: those of the cause.
        counts_more: whether messages of a higher level are asked for; else those of no higher level.
    """
    by_place: dict[Place, list[_End]] = {}
    for end in _find_ends(behind):
        by_place.setdefault(end.place, []).append(end)
    ends_of_levels = [
        (*place, level, *_until([end for end in ends if (level > end.level) == counts_more]))
        for place, ends in by_place.items()
        for level in LEVELS
    ]
    asked = small_frame(rows.sparkSession, [row for row in ends_of_levels if row[-1]], UNTIL)
    is_of_last = F.col("unit") == F.col("last_unit")
    until = F.when(is_of_last, F.col("end_of_last")).otherwise(F.col("end"))
    ahead = rows.join(F.broadcast(asked), [*PLACE, "counts_as"], "inner").where(F.col("position") < until)
    return ahead.select(*rows.columns)


@dataclass(frozen=True)
class _End:
    """The last message of a cause in a place at a level, with its unit, and the last one of other units."""

    place: Place
    level: int
    unit: str
    last: int
    last_other: int


def _find_ends(behind: DataFrame) -> list[_End]:
    """One for each place and level that has messages of the cause; `last_other` is 0 if there is none."""
    key = [*PLACE, "counts_as"]
    last = collect_rows(
        behind.groupBy(*key).agg(F.max("position").alias("last"), F.max_by("unit", "position").alias("unit"))
    )
    units = [(*place_of(row), row["counts_as"], row["unit"]) for row in last]
    known = small_frame(behind.sparkSession, units, f"{OF_LEVEL}, last_unit string")
    other = behind.join(F.broadcast(known), key, "inner").where(F.col("unit") != F.col("last_unit"))
    others = {
        (place_of(row), row["counts_as"]): row["last"]
        for row in collect_rows(other.groupBy(*key).agg(F.max("position").alias("last")))
    }
    return [
        _End(
            place_of(row),
            row["counts_as"],
            row["unit"],
            row["last"],
            others.get((place_of(row), row["counts_as"]), 0),
        )
        for row in last
    ]


def _until(ends: Sequence[_End]) -> tuple[str, int, int]:
    """Up to which position a message is ahead of one that stands at an end, and is of another unit.

    Returns:
        The unit of the last end; the position for messages of this unit, and for all others.
    """
    if not ends:
        return "", 0, 0
    last = max(ends, key=lambda end: end.last)
    of_others = [end.last for end in ends if end.unit != last.unit]
    return last.unit, max([*of_others, *(end.last_other for end in ends)]), last.last
