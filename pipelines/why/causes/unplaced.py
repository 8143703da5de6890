"""Causes of messages that are not matched to a queue: the reasons of the table `unresolved`."""

from typing import ClassVar

from pipelines.console.wording import format_database
from pipelines.questions.unresolved import MISSING
from pipelines.why.causes.cause import HOLDER, OF_ENDPOINT, STOPPED, Cause, Occurrence, same


class Unplaced(Cause):
    """A reason of `unresolved`; see [unresolved](semantics.md#unresolved)."""

    severity = STOPPED
    holds_without_broker = True
    columns = {"schedule": "schedule", **same(*HOLDER), **OF_ENDPOINT}
    to_do: ClassVar[str]

    def sentence(self, at: Occurrence) -> str:
        service, instance = at.first["local_service"], at.first["instance"]
        known = [f"service {service}"] if service else []
        known += [f"in {format_database((instance, at.first['database'] or ''))}"] if instance else []
        of = f" ({' '.join(known)})" if known else ""
        return f"{at.count_first('are')} not matched to a queue: {MISSING[self.code]}{of}{at.more()}"

    def action(self, at: Occurrence) -> str:
        return self.to_do

    def command(self, at: Occurrence) -> tuple[str, ...]:
        return ("waiting",)


class EndpointUnknown(Unplaced):
    """No input shows the creation of the endpoint before as_of.

    To do: add the endpoint events, or a snapshot of that database.
    """

    code = "endpoint_unknown"
    condition = "reason = 'endpoint_unknown'"
    to_do = "add the endpoint events or a snapshot of that database"


class ServiceNotInCatalog(Unplaced):
    """The catalog has no queue for the service.

    To do: add the service and its queue to the catalog; `priorities waiting` prints the lines.
    """

    code = "service_not_in_catalog"
    condition = "reason = 'service_not_in_catalog'"
    to_do = "add the service and its queue to the catalog; priorities waiting prints the lines"


class HandleUnknown(Unplaced):
    """A snapshot shows the message under a handle that no endpoint has.

    Not where the server says why it waits.

    To do: take a capture that shows all conversation endpoints of that database.
    """

    code = "handle_unknown"
    condition = "reason = 'handle_unknown' and status is null"
    columns = {**Unplaced.columns, "_is_whole": "is_whole"}
    to_do = "take a capture that shows all conversation endpoints of that database"

    def action(self, at: Occurrence) -> str:
        if at.first["_is_whole"]:
            return (
                "the snapshot shows all endpoints of that database, so theirs are gone; take another "
                "capture, and see whether these messages are gone too"
            )
        return self.to_do
