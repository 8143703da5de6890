"""Causes of messages in transmission queues."""

from pyspark.sql import DataFrame, Window, functions as F

from pipelines.console.wording import format_count
from pipelines.questions.transmission_status import kind_of_status
from pipelines.rules.statements import DEFAULT_LEVEL
from pipelines.rules.tsql_script import quote_name
from pipelines.why.causes.cause import (
    MISCONFIGURED,
    STOPPED,
    Cause,
    Explained,
    Occurrence,
    format_database_of,
    same,
)


class HonorOff(Cause):
    """The message has a level above 5, and the database that holds it does not honor priorities.

    Not for what waits for a queue that is off, or where the server says why. Within one instance the vendor's
    pages disagree: levels are not used, or count once messages wait in the transmission queue.

    To do: ALTER DATABASE ... SET HONOR_BROKER_PRIORITY ON, if levels are to count for all that the database
    sends. Conversations with messages that wait get their level once some of these messages have been sent
    ("ALTER DATABASE SET Options").
    """

    code = "honor_off"
    severity = MISCONFIGURED
    condition = (
        "kind = 'transmission' and endpoint_priority is not null and "
        f"sent_level > {DEFAULT_LEVEL} and not honored and waits_for is null and status is null"
    )
    columns = {**same("instance"), "database": "held_by"}

    def sentence(self, at: Occurrence) -> str:
        return (
            f"{at.count_first('wait')} to be sent as if at level {DEFAULT_LEVEL}; {at.word('their')} own is "
            "higher, but HONOR_BROKER_PRIORITY is off in "
            f"{format_database_of(at.first)}{at.more('databases')}"
        )

    def action(self, at: Occurrence) -> str:
        alter = f"ALTER DATABASE {quote_name(at.first['database'])} SET HONOR_BROKER_PRIORITY ON"
        return (
            "turn it on if levels are to count for all that the database sends; conversations with messages "
            f"that wait get their level once some of these have been sent: {alter}"
        )


class TransmissionStatus(Cause):
    """The newest snapshot that shows the message says why it could not be sent.

    Texts that differ in numbers, ids, addresses, times and quoted parts count as one.

    To do: do what the text asks for ("sys.transmission_queue").
    """

    code = "transmission_status"
    are_details_few = False
    severity = STOPPED
    holds_without_broker = True
    condition = "status is not null"
    columns = {"text": "text_of_kind"}

    def rows_of_details(self, found: Explained, rows: DataFrame) -> DataFrame:
        alike = Window.partitionBy(kind_of_status("status")).orderBy("since", "message_id")
        return rows.withColumn("text_of_kind", F.first("status").over(alike))

    def sentence(self, at: Occurrence) -> str:
        first = at.first
        others = at.messages - first["messages"]
        is_whole = sum(row["messages"] for row in at.details) == at.messages
        texts = format_count(len(at.details) - 1, "other text") if is_whole else "other texts"
        more = f"; {others:,} with {texts}" if others else ""
        of_first = f" ({first['messages']:,} of them)" if others else ""
        text = first["text"].removesuffix(".")
        return f"{at.count('wait')} to be sent, and the server says why{of_first}: {text}{more}"

    def action(self, at: Occurrence) -> str:
        return "do what the text of the server asks for, on this side or at the far one"

    def command(self, at: Occurrence) -> tuple[str, ...]:
        return ("waiting",)
