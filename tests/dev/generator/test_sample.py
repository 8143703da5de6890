"""The sample of `make run`: a company's day, with the situations that the activation table shows."""

import hashlib
from pathlib import Path

import pandas as pd
import pytest

from dev import generate_log
from dev.generator.company import UNKNOWN_SERVICES, places_of
from dev.generator.talks import TALKS
from pipelines.config.yaml_file import load_yaml
from pipelines.settings.load import load_settings
from schemas.events import CONTRACTS

pytestmark = pytest.mark.slow

CONF = Path(__file__).resolve().parents[3] / "conf"
MIDNIGHT = "2026-11-21T00:00:00"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample without faulty events."""
    out = tmp_path_factory.mktemp("sample")
    assert generate_log.main(["--preset", "sample", "--errors", "0", "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def sample(folder: Path) -> dict[str, pd.DataFrame]:
    return {
        source: pd.concat(
            pd.read_json(file, lines=True, dtype=False, convert_dates=False)
            for file in (folder / source).iterdir()
        )
        for source in CONTRACTS
    }


@pytest.fixture(scope="module")
def places() -> dict[str, tuple[str, str, str]]:
    """Instance, database and queue of each of the company's services in the catalog."""
    return places_of(load_yaml(str(CONF / "catalog.yaml")).data)


@pytest.fixture(scope="module")
def waiting(sample, places) -> pd.DataFrame:
    """The messages not received at midnight, with the queue they are for and whether they are in it."""
    events, queue = (
        sample[source][sample[source].event_time < MIDNIGHT] for source in ("message_events", "queue_events")
    )
    committed = queue[queue.event_type == "COMMIT"].transaction_id
    taken = events[events.event_type == "RECEIVED"]
    received = taken[taken.transaction_id.isna() | taken.transaction_id.isin(committed)].message_id
    open_ = events[~events.message_id.isin(received)]
    begun = sample["endpoint_events"].query("event_type == 'BEGIN_DIALOG'").set_index("conversation_id")
    ends = begun[["local_service", "remote_service"]].assign(begun_at=begun.event_time)
    first = open_.drop_duplicates("message_id").join(ends, on="conversation_id")
    service = first.remote_service.where(first.sent_by_initiator, first.local_service)
    arrived = open_[open_.event_type.isin(["DELIVERED", "RECEIVED"])].message_id
    return first.assign(
        service=service,
        queue=service.map({name: queue for name, (_, _, queue) in places.items()}),
        delivered=first.message_id.isin(arrived),
    )


def test_who_talks(sample, places):
    """All services of the catalog where it says, two that it lacks, and the documentation's example."""
    triples = [(talk.contract, talk.initiator, talk.target) for talk in TALKS]
    assert len(set(triples)) == len(triples)
    messages, created = sample["message_events"], sample["endpoint_events"].dropna(subset="local_service")
    assert 18_000 < messages.message_id.nunique() < 25_000
    company = created[created.instance != "DOC1"]
    assert {*company.local_service, *company.remote_service} ^ places.keys() == set(UNKNOWN_SERVICES)
    known = created[created.local_service.isin(places)]
    found = zip(known.local_service, known.instance, known.database, strict=True)
    assert all(places[service][:2] == (instance, database) for service, instance, database in found)
    assert sample["endpoint_events"].query("instance == 'DOC1'").conversation_id.nunique() == 4
    assert messages.query("instance == 'DOC1'").message_id.nunique() == 8


def test_what_waits_at_midnight(waiting):
    """Tiers in one queue, mostly of the evening; one long conversation; messages of an unknown service."""
    orders = waiting[waiting.queue == "OrderQueue"]
    tiers = {f"{tier}CheckoutService" for tier in ("Gold", "Silver", "Bronze")}
    assert tiers <= set(orders[orders.delivered].local_service)
    assert (orders.begun_at > "2026-11-20T18:00:00").mean() > 0.9
    assert waiting[waiting.service == "LegacyFaxService"].delivered.any()
    ledger = waiting[waiting.queue == "LedgerQueue"]
    assert (len(ledger), ledger.conversation_id.nunique()) == (120, 1)
    assert len(waiting[waiting.queue == "PaymentQueue"]) == 0


def test_what_readers_do(sample):
    """Those of orders are busy at midnight, those of payments keep up, and a carrier is late."""
    events = sample["queue_events"]
    tasks = events[(events.queue == "OrderQueue") & events.event_type.str.startswith("TASK")]
    tasks = tasks[tasks.event_time < MIDNIGHT].sort_values("event_time")
    assert list(tasks.groupby("session_id").event_type.last()) == ["TASK_STARTED"] * 4
    assert len(events.query("queue == 'PaymentQueue' and event_type.str.startswith('WAIT')")) > 1_000
    labels = sample["message_events"].query("message_type == 'LabelRequest'")
    moments = pd.to_datetime(labels.event_time, format="ISO8601").groupby(
        [labels.event_type, labels.message_id]
    )
    first = moments.min()
    assert (first["RECEIVED"] - first["DELIVERED"]).dt.total_seconds().median() > 30


def test_queues_that_are_switched_off(sample, waiting):
    """Invoices by five rollbacks; stock for half an hour, in which messages wait."""
    events = sample["queue_events"].sort_values("event_time")
    invoices, stock = (events[events.queue == name] for name in ("InvoiceQueue", "StockQueue"))
    [off] = invoices[invoices.event_type == "QUEUE_ALTERED"].itertuples()
    assert (off.queue_status, off.event_time[:19]) == ("OFF", "2026-11-20T22:30:00")
    rollbacks = invoices[invoices.event_type == "ROLLBACK"].event_time
    assert (rollbacks > "2026-11-20T22:29:00").sum() >= 5
    assert not (invoices[invoices.event_type == "RECEIVE"].event_time > "2026-11-20T22:30:00").any()
    assert set(waiting[waiting.queue == "InvoiceQueue"].delivered) == {True, False}
    assert list(stock[stock.event_type == "QUEUE_ALTERED"].queue_status) == ["OFF", "ON"]
    received = stock[(stock.event_type == "RECEIVE") & (stock.row_count > 0)].event_time
    assert not received.between("2026-11-20T13:05:00", "2026-11-20T13:30:00", inclusive="neither").any()


def test_the_rules_beside_the_sample_are_those_of_conf(folder):
    ours = load_settings(CONF / "local.yaml").rule_history
    assert load_settings(folder / "settings.yaml").rule_history == ours
    assert {rule.instance for rule in ours} == {"DOC1", "SHOP1", "ERP1", "DWH1"}


def test_the_sample_is_the_one_that_the_docs_have_figures_of(tmp_path):
    """Where this fails on purpose, the figures in README.md and docs/ are to be found again."""
    assert generate_log.main(["--preset", "sample", "--out", str(tmp_path)]) == 0
    total = hashlib.sha256()
    for source in CONTRACTS:
        for file in sorted((tmp_path / source).iterdir()):
            total.update(file.read_bytes())
    assert total.hexdigest()[:16] == "0adf06dfba0bcbe7"
