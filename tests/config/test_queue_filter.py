"""What the forms of a queue's name mean."""

from pathlib import Path

import pytest

from pipelines.config.catalog import Catalog
from pipelines.config.errors import ConfigError
from pipelines.config.queue_filter import KnownQueues, QueueFilter, QueueName, name_parts, queue_text
from tests.support.cases import lines_of_error

MILL = ("MILL1", "EtlDB", "EtlQueue")
LEGACY = ("MILL1", "LegacyDB", "Queue")
OTHER = ("MILL2", "LegacyDB", "Queue")
STOCK = ("MILL2", "Stock", "Late.Orders")
SALES = ("MILL2", "Stock", "sales.Orders")
ORDERS = ("MILL2", "Stock", "Orders")
ODD = ("SRV\\A.corp", "Odd ]DB", "my queue]")
KNOWN = KnownQueues.of(Catalog()).and_queues((MILL, LEGACY, OTHER, STOCK, SALES, ORDERS, ODD))


@pytest.mark.parametrize(
    ("names", "queue"),
    [
        ("EtlQueue  [EtlQueue]  dbo.EtlQueue  [dbo].[EtlQueue]  EtlDB.EtlQueue  [EtlDB].EtlQueue", MILL),
        ("MILL1.EtlDB.EtlQueue  EtlDB.dbo.EtlQueue  MILL1.EtlDB.dbo.EtlQueue", MILL),
        ("[MILL1].[EtlDB].[dbo].[EtlQueue]", MILL),
        ("MILL1.LegacyDB.Queue", LEGACY),
        ("MILL2.LegacyDB.dbo.Queue", OTHER),
        ("Late.Orders  [Late.Orders]  Stock.Late.Orders  Stock.[Late.Orders]", STOCK),
        ("MILL2.Stock.Late.Orders  Stock.dbo.[Late.Orders]", STOCK),
        ("sales.Orders  Stock.sales.Orders  [Stock].[sales].[Orders]", SALES),
        ("dbo.Orders  Orders  Stock.Orders", ORDERS),
        ("my queue]  [my queue]]]  dbo.[my queue]]]", ODD),
        ("SRV\\A.corp.Odd ]DB.my queue]  [SRV\\A.corp].[Odd ]]DB].dbo.[my queue]]]", ODD),
    ],
)
def test_every_form_of_a_name_means_its_queue(names: str, queue: QueueName) -> None:
    """Two blanks part the forms."""
    for name in names.split("  "):
        assert QueueFilter(name).only(KNOWN) == queue


def test_a_printed_name_can_be_pasted_back() -> None:
    for queue in KNOWN.queues:
        assert name_parts(queue_text(queue)) == list(queue)
        assert QueueFilter(queue_text(queue)).only(KNOWN) == queue


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ("Queue", "--queue Queue is one of MILL1.LegacyDB.Queue, MILL2.LegacyDB.Queue; write one of these"),
        ("dbo.Queue", "--queue dbo.Queue is one of MILL1.LegacyDB.Queue, MILL2.LegacyDB.Queue"),
        ("EtlQueu", "--queue EtlQueu: there is no such queue; did you mean MILL1.EtlDB.EtlQueue?"),
        ("etlqueue", "did you mean MILL1.EtlDB.EtlQueue?"),
        ("dbo.EtlQueu", "did you mean MILL1.EtlDB.EtlQueue?"),
        # A database of that name has no such queue, so it is not read as a schema.
        ("LegacyDB.EtlQueue", "did you mean MILL1.EtlDB.EtlQueue?"),
        ("MILL2.EtlDB.EtlQueue", "did you mean MILL1.EtlDB.EtlQueue?"),
        ("a.b.c.d.EtlQueue", "did you mean MILL1.EtlDB.EtlQueue?"),
        ("[EtlQueue", "--queue [EtlQueue: there is no such queue; did you mean"),
        ("EtlQueue.", "--queue EtlQueue.: there is no such queue; did you mean"),
        ("", "there is no such queue; write one of MILL1.EtlDB.EtlQueue, MILL1."),
        ("my queu", "did you mean [SRV\\A.corp].[Odd ]]DB].[my queue]]]?"),
        (("Queue", "MILL3"), "--instance MILL3: there is none of that name; did you mean 'MILL2'?"),
        (("Queue", None, "Legacydb"), "--database Legacydb: there is none of that name; did you mean"),
        (("Queue", "MILL1", "Stock"), "--database Stock: there is none of that name; write one of"),
        (("EtlQueue", "MILL2"), "--queue EtlQueue --instance MILL2: there is no such queue; did you mean"),
    ],
)
def test_a_name_of_no_queue_or_of_several_is_an_error(
    asked: str | tuple[str | None, ...], complaint: str
) -> None:
    """The queue alone, or with its instance and database."""
    queue = QueueFilter(*((asked,) if isinstance(asked, str) else asked))
    [line] = lines_of_error(Path(), queue.only, KNOWN)
    assert complaint in line


def test_instance_and_database_tell_queues_of_one_name_apart() -> None:
    assert QueueFilter("Queue", "MILL2").only(KNOWN) == OTHER
    assert QueueFilter("dbo.Queue", "MILL1", "LegacyDB").only(KNOWN) == LEGACY
    assert QueueFilter(None, "MILL1").find(KNOWN) == [MILL, LEGACY]


def test_two_queues_of_one_written_name_are_told_apart_in_brackets() -> None:
    known = KnownQueues.of(Catalog()).and_queues([("I", "A", "Q"), ("I", "B", "A.Q")])
    with pytest.raises(ConfigError, match=r"--queue A\.Q is one of I\.A\.Q, I\.B\.\[A\.Q\]; write one"):
        QueueFilter("A.Q").only(known)
    assert QueueFilter("[A.Q]").only(known) == ("I", "B", "A.Q")
    assert QueueFilter("I.A.Q").only(known) == ("I", "A", "Q")
