"""The sample's world: Brackwater Supply, a mail-order company with a web shop, an ERP and a data warehouse.

Where the services live is in the catalog, who talks to whom in `talks`; this module says what goes wrong on
the day of the sample. Its scenes are the situations that the activation table explains.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dev.generator import packing
from dev.generator.rulebook import Rulebook, Statement
from dev.generator.talks import TALKS, Talk
from dev.generator.world import HOUR, MINUTE, SECOND, Kind, Reader, World, micros

UNKNOWN_SERVICES = {
    "LegacyFaxService": ("ERP1", "ErpDB", "LegacyFaxQueue"),
    "MobileBetaService": ("SHOP1", "ShopDB", "MobileBetaQueue"),
}
"""Services that the log knows and the catalog does not, with where they are."""

CLOCKS = {"SHOP1": 14_000, "ERP1": 0, "DWH1": -22_000}
"""The company's instances, and how far their clocks are off, in microseconds."""


@dataclass(frozen=True)
class _Evening:
    """The moments of the sample's last day, in microseconds."""

    midnight: int

    def at(self, hour: int, minute: int = 0) -> int:
        return self.midnight + hour * HOUR + minute * MINUTE


def world(
    catalog: dict[str, Any], statements: Iterable[Statement], *, texts: tuple[str, str], start: datetime
) -> World:
    """The sample's world.

    Args:
        catalog: the content of the catalog file.
        statements: the rules, for the levels that the log reports.
        texts: catalog and rules as they are to be written beside the log.
        start: the day of the sample.
    """
    places = {**places_of(catalog), **UNKNOWN_SERVICES}
    statements = list(statements)
    book = Rulebook(statements)
    evening = _Evening(micros(start))
    # The packing station has readers of its own.
    elsewhere = {places[service] for service in packing.SERVICES}
    queues = sorted({place for place in places.values() if place[0] in CLOCKS} - elsewhere)
    numbers = {place: number for number, place in enumerate(queues)}
    numbered = [
        _kind(number, talk, places=places, numbers=numbers, book=book, evening=evening)
        for number, talk in enumerate((*TALKS, *_scenes(evening)))
    ]
    activated = activated_queues(catalog)
    readers = tuple(_reader(number, place, activated, evening) for place, number in numbers.items())
    drawn = len(TALKS)
    return World(
        kinds=tuple(numbered[:drawn]),
        readers=readers,
        catalog=texts[0],
        rules=texts[1],
        weights=tuple(talk.weight for talk in TALKS),
        scenes=tuple(numbered[drawn:]),
        rush=packing.rush(
            statements, places=places, session=_session(len(numbers)) + 1, midnight=evening.midnight
        ),
    )


def places_of(catalog: dict[str, Any]) -> dict[str, tuple[str, str, str]]:
    """(instance, database, queue) of every service of the company in a catalog."""
    return {
        service["name"]: (instance["name"], database["name"], service["queue"])
        for instance in catalog["instances"]
        if instance["name"] in CLOCKS
        for database in instance["databases"]
        for service in database.get("services", [])
    }


def activated_queues(catalog: dict[str, Any]) -> set[tuple[str, str, str]]:
    """(instance, database, queue) of the queues whose readers are started by the engine."""
    return {
        (instance["name"], database["name"], queue["name"])
        for instance in catalog["instances"]
        for database in instance["databases"]
        for queue in database.get("queues", [])
        if queue.get("activation", {"status": False}).get("status", True)
    }


def _scenes(evening: _Evening) -> tuple[Talk, ...]:
    """One conversation each.

    The ledger export of the evening is the only conversation in its queue, and its messages wait for their
    one reader. The invoice that no procedure can book is rolled back five times and switches its queue off.
    """
    ledger = {"shape": "stream", "gap": SECOND * 2, "lag": 15 * SECOND, "size": 60_000}
    return (
        Talk(
            1,
            "LedgerContract",
            "InvoiceService",
            "LedgerService",
            {**ledger, "messages": 61, "begin_at": evening.at(6, 15)},
        ),
        Talk(
            1,
            "LedgerContract",
            "InvoiceService",
            "LedgerService",
            {**ledger, "messages": 240, "begin_at": evening.at(21, 30), "stall": True},
        ),
        Talk(
            1,
            "InvoiceContract",
            "ReturnsService",
            "InvoiceService",
            {"messages": 1, "begin_at": evening.at(22, 29), "poison": True},
        ),
    )


def _kind(
    number: int,
    talk: Talk,
    *,
    places: dict[str, tuple[str, str, str]],
    numbers: dict[tuple[str, str, str], int],
    book: Rulebook,
    evening: _Evening,
) -> Kind:
    source, target = places[talk.initiator], places[talk.target]
    options = dict(talk.options)
    if talk.target == "StockService":
        options |= {"off_from": evening.at(13, 5), "off_until": evening.at(13, 30)}
    if talk.target == "InvoiceService":
        options |= {"blocked_from": evening.at(22, 30), "blocked_off": True}
    if talk.target == "ArchiveService":
        options |= {"blocked_from": evening.at(0), "blocked_off": True}
    subject = talk.contract.removesuffix("Contract")
    return Kind(
        kind=number,
        contract=talk.contract,
        request_type=f"{subject}Request",
        reply_type=f"{subject}Reply",
        initiator_service=talk.initiator,
        initiator_instance=source[0],
        initiator_database=source[1],
        initiator_queue=source[2],
        target_service=talk.target,
        target_instance=target[0],
        target_database=target[1],
        target_queue=target[2],
        initiator_level=book.level(source[0], source[1], talk.contract, talk.initiator, talk.target),
        target_level=book.level(target[0], target[1], talk.contract, talk.target, talk.initiator),
        initiator_skew=CLOCKS[source[0]],
        target_skew=CLOCKS[target[0]],
        relay_skew=CLOCKS.get(options.get("relay", ""), 0),
        initiator_session=_session(numbers[source]),
        target_session=_session(numbers[target]),
        target_readers=_tasks(target[2]),
        **options,
    )


def _session(queue: int) -> int:
    """The first session of a queue; each has room for twenty."""
    return 51 + 20 * queue


def _tasks(queue: str) -> int:
    """The number of tasks that read a queue. The second task of the ledger never gets a message."""
    return {"OrderQueue": 4, "PickingQueue": 2, "SalesFeedQueue": 2}.get(queue, 1)


def _reader(
    number: int, place: tuple[str, str, str], activated: set[tuple[str, str, str]], evening: _Evening
) -> Reader:
    instance, database, queue = place
    busy = {
        "PaymentQueue": evening.at(0, 1),
        "OrderQueue": evening.at(18, 10),
        "PickingQueue": evening.at(20),
        "SalesFeedQueue": evening.at(19),
        "LedgerQueue": evening.at(21, 30),
        "InvoiceQueue": evening.at(22, 30),
    }
    return Reader(
        ordinal=number,
        instance=instance,
        database=database,
        queue=queue,
        skew=CLOCKS[instance],
        session=_session(number),
        tasks=0 if place not in activated else 2 if queue == "LedgerQueue" else _tasks(queue),
        period=24 * HOUR if queue == "PaymentQueue" else 90 * MINUTE,
        busy_from=busy.get(queue),
        waits_from=evening.at(21, 32) if queue == "LedgerQueue" else None,
        off_from={"StockQueue": evening.at(13, 5), "InvoiceQueue": evening.at(22, 30)}.get(queue),
        off_until=evening.at(13, 30) if queue == "StockQueue" else None,
        altered_at=evening.at(9, 40) if queue == "OrderQueue" else None,
    )
