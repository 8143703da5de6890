"""Causes of messages in transmission queues."""

from pipelines.config.rules.statements import DEFAULT_LEVEL
from pipelines.config.rules.tsql_script import quote_name
from pipelines.why.causes.cause import Cause, Occurrence, format_database_of, same


class HonorOff(Cause):
    """The message has a level above 5, and the database that holds it does not honor priorities.

    ALTER DATABASE ... SET HONOR_BROKER_PRIORITY ON (the vendor's page "ALTER DATABASE SET Options").
    """

    code = "honor_off"
    condition = (
        "kind = 'transmission' and endpoint_priority is not null and "
        f"sent_level > {DEFAULT_LEVEL} and honors is null"
    )
    columns = {**same("instance"), "database": "held_by"}

    def sentence(self, at: Occurrence) -> str:
        return (
            f"{at.count('are')} sent at level {DEFAULT_LEVEL}, below their own: database "
            f"{format_database_of(at.first)} does not honor priorities{at.more}"
        )

    def action(self, at: Occurrence) -> str:
        return f"ALTER DATABASE {quote_name(at.first['database'])} SET HONOR_BROKER_PRIORITY ON"


class TransmissionStatus(Cause):
    """The newest snapshot up to as_of that shows the message says why it could not be sent.

    The vendor's page "sys.transmission_queue" has its column.
    """

    code = "transmission_status"
    condition = "status is not null"
    columns = {"text": "status"}

    def sentence(self, at: Occurrence) -> str:
        return f"{at.count('are')} still there, and the server says why: {at.first['text']}{at.more}"

    def action(self, at: Occurrence) -> str:
        return "do what the text asks for; it is the server's own"

    def command(self, at: Occurrence) -> tuple[str, ...]:
        return ("waiting",)
