"""The sample of `make run`: a company's day, with the situations that the activation table shows."""

import hashlib
from pathlib import Path

import pandas as pd
import pytest

from dev import generate_log
from dev.generator.company import UNKNOWN_SERVICES, places_of
from dev.generator.talks import TALKS
from pipelines.config.catalog import load_catalog
from pipelines.config.load import load_settings
from pipelines.config.yaml_file import load_yaml
from schemas.events import CONTRACTS

ROOT = Path(__file__).resolve().parents[3]
MIDNIGHT = "2026-11-21T00:00:00"


@pytest.fixture(scope="module")
def services() -> dict[str, str]:
    """The queue of every service in the catalog."""
    catalog = load_catalog(str(ROOT / "conf" / "catalog.yaml"))
    return {
        service.name: service.queue
        for instance in catalog.instances
        for database in instance.databases
        for service in database.services
    }


@pytest.fixture(scope="module")
def waiting(sample, services) -> pd.DataFrame:
    """The messages not received at midnight, with the queue they are for and whether they are in it."""
    events = sample["message_events"][sample["message_events"].event_time < MIDNIGHT]
    queue = sample["queue_events"][sample["queue_events"].event_time < MIDNIGHT]
    committed = queue[queue.event_type == "COMMIT"].transaction_id
    taken = events[events.event_type == "RECEIVED"]
    received = taken[taken.transaction_id.isna() | taken.transaction_id.isin(committed)].message_id
    open_ = events[~events.message_id.isin(received)]
    first = open_.drop_duplicates("message_id").copy()
    begun = sample["endpoint_events"].query("event_type == 'BEGIN_DIALOG'").set_index("conversation_id")
    first = first.join(begun[["local_service", "remote_service"]], on="conversation_id")
    first["service"] = first.remote_service.where(first.sent_by_initiator, first.local_service)
    first["queue"] = first.service.map(services)
    first["delivered"] = first.message_id.isin(
        open_[open_.event_type.isin(["DELIVERED", "RECEIVED"])].message_id
    )
    return first


def test_size_and_kinds(sample):
    assert 18_000 < sample["message_events"].message_id.nunique() < 25_000
    triples = [(talk.contract, talk.initiator, talk.target) for talk in TALKS]
    assert len(set(triples)) == len(triples)


def test_services_are_in_the_catalog_but_for_the_two_forgotten_ones(sample, services):
    events = sample["endpoint_events"]
    named = set(events.local_service.dropna()) | set(events.remote_service.dropna())
    assert named - set(services) == set(UNKNOWN_SERVICES)
    assert set(services) - named == set(), "a service of the catalog that never talks"


def test_endpoints_are_where_the_catalog_says(sample):
    places = places_of(load_yaml(str(ROOT / "conf" / "catalog.yaml")).data)
    created = sample["endpoint_events"].dropna(subset="local_service")
    created = created[created.local_service.isin(places)]
    found = zip(created.local_service, created.instance, created.database, strict=True)
    assert all(places[service][:2] == (instance, database) for service, instance, database in found)


def test_what_waits_at_midnight(sample, waiting):
    """Tiers in one queue, mostly of the evening; one long conversation; messages of an unknown service."""
    orders = waiting[waiting.queue == "OrderQueue"]
    tiers = {f"{tier}CheckoutService" for tier in ("Gold", "Silver", "Bronze")}
    assert tiers <= set(orders[orders.delivered].local_service)
    begun = sample["endpoint_events"].query("event_type == 'BEGIN_DIALOG'").set_index("conversation_id")
    assert (orders.conversation_id.map(begun.event_time) > "2026-11-20T18:00:00").mean() > 0.9
    assert (waiting[waiting.service == "LegacyFaxService"].delivered).any()
    ledger = waiting[waiting.queue == "LedgerQueue"]
    assert len(ledger) == 120
    assert ledger.conversation_id.nunique() == 1
    assert len(waiting[waiting.queue == "PaymentQueue"]) == 0


def last_event(events: pd.DataFrame, kind: str, queue: str) -> pd.Series:
    """The last WAIT or TASK event of each session of a queue."""
    found = events[(events.queue == queue) & events.event_type.str.startswith(kind)]
    return found.sort_values("event_time").groupby("session_id").event_type.last()


def test_what_readers_do_at_midnight(sample):
    """The second reader of the ledger waits, those of orders are busy, that of payments keeps up."""
    events = sample["queue_events"]
    assert (last_event(events, "WAIT", "LedgerQueue") == "WAIT_STARTED").sum() == 1
    before = events[events.event_time < MIDNIGHT]
    assert list(last_event(before, "TASK", "OrderQueue")) == ["TASK_STARTED"] * 4
    payments = events.query("queue == 'PaymentQueue' and event_type.str.startswith('WAIT')")
    assert len(payments) > 1_000


def test_the_invoice_queue_is_switched_off_by_five_rollbacks(sample, waiting):
    events = sample["queue_events"].query("queue == 'InvoiceQueue'").sort_values("event_time")
    altered = events[events.event_type == "QUEUE_ALTERED"]
    assert list(altered.queue_status) == ["OFF"]
    assert altered.event_time.iloc[0][:19] == "2026-11-20T22:30:00"
    before = events[(events.event_time > "2026-11-20T22:29:00") & (events.event_type == "ROLLBACK")]
    assert len(before) >= 5
    assert not (events[events.event_type == "RECEIVE"].event_time > "2026-11-20T22:30:00").any()
    invoices = waiting[waiting.queue == "InvoiceQueue"]
    assert invoices.delivered.sum() >= 1
    assert not invoices.delivered.all()


def test_messages_wait_while_the_stock_queue_is_off(sample):
    events = sample["queue_events"].query("queue == 'StockQueue'")
    altered = events[events.event_type == "QUEUE_ALTERED"].sort_values("event_time")
    assert list(altered.queue_status) == ["OFF", "ON"]
    received = events[(events.event_type == "RECEIVE") & (events.row_count > 0)].event_time
    assert not received.between("2026-11-20T13:05:00", "2026-11-20T13:30:00", inclusive="neither").any()


def test_the_carrier_answers_late(sample):
    events = sample["message_events"].query("message_type == 'LabelRequest'")
    moments = events.assign(event_time=pd.to_datetime(events.event_time, format="ISO8601")).pivot_table(
        index="message_id", columns="event_type", values="event_time", aggfunc="min"
    )
    assert (moments.RECEIVED - moments.DELIVERED).dt.total_seconds().median() > 30


def test_the_documentation_is_part_of_it(sample):
    example = sample["endpoint_events"].query("instance == 'DOC1'")
    assert example.conversation_id.nunique() == 4
    assert sample["message_events"].query("instance == 'DOC1'").message_id.nunique() == 8


def test_the_rules_beside_the_sample_are_those_of_conf(sample_folder):
    ours = load_settings(ROOT / "conf" / "local.yaml").rule_history
    assert load_settings(sample_folder / "settings.yaml").rule_history == ours
    assert {rule.instance for rule in ours} == {"DOC1", "SHOP1", "ERP1", "DWH1"}


def test_the_sample_is_the_one_that_the_docs_have_figures_of(tmp_path):
    """Where this fails on purpose, the figures in README.md and docs/ are to be found again."""
    assert generate_log.main(["--preset", "sample", "--out", str(tmp_path)]) == 0
    total = hashlib.sha256()
    for source in CONTRACTS:
        for file in sorted((tmp_path / source).iterdir()):
            total.update(file.read_bytes())
    assert total.hexdigest()[:16] == "0adf06dfba0bcbe7"
