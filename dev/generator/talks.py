"""The kinds of conversations of the sample, Brackwater Supply."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from dev.generator.world import MINUTE, SECOND


class Talk(NamedTuple):
    """A kind of conversation: weight, contract, initiator service, target service, and unusual features."""

    weight: int
    contract: str
    initiator: str
    target: str
    options: Mapping[str, Any] = MappingProxyType({})


ORDERS = {"shape": "dialog", "gap": 30 * SECOND, "group_block": 60, "size": 4_000}
LOOKUP = {"shape": "dialog", "messages": 2, "gap": 2 * SECOND, "lag": 100_000, "size": 400}
FEED = {
    "shape": "stream",
    "messages": 12,
    "gap": 8 * SECOND,
    "lag": 20 * SECOND,
    "size": 20_000,
    "backlog": 2.5,
}
NOTE = {"shape": "oneway", "messages": 1, "gap": 5 * SECOND, "size": 800}
PAY = {"shape": "dialog", "messages": 2, "gap": 150_000, "lag": 20_000, "waits": True, "backlog": 0.0}

TALKS = (
    # Customers of three tiers order; the order service cannot keep up in the evening.
    Talk(30, "OrderContract", "GoldCheckoutService", "OrderService", {**ORDERS, "backlog": 0.7}),
    Talk(60, "OrderContract", "SilverCheckoutService", "OrderService", {**ORDERS, "backlog": 1.4}),
    Talk(110, "OrderContract", "BronzeCheckoutService", "OrderService", {**ORDERS, "backlog": 2.2}),
    Talk(12, "OrderContract", "MobileBetaService", "OrderService", ORDERS),
    Talk(
        40,
        "RegistrationContract",
        "RegistrationService",
        "CustomerService",
        {"messages": 2, "gap": 6 * SECOND},
    ),
    Talk(90, "PriceContract", "BasketService", "PricingService", LOOKUP),
    Talk(40, "AvailabilityContract", "BasketService", "StockService", LOOKUP),
    # Payments are read as they come.
    Talk(90, "PaymentContract", "GoldCheckoutService", "PaymentService", PAY),
    Talk(70, "PaymentContract", "SilverCheckoutService", "PaymentService", PAY),
    Talk(50, "PaymentContract", "BronzeCheckoutService", "PaymentService", PAY),
    Talk(25, "FraudContract", "PaymentService", "FraudService", {**LOOKUP, "backlog": 0.0}),
    Talk(10, "RefundContract", "ReturnsService", "RefundService", {"messages": 4}),
    # The ERP at work.
    Talk(60, "ReservationContract", "OrderService", "StockService", {"gap": 10 * SECOND}),
    Talk(45, "PickingContract", "OrderService", "PickingService", {"gap": 90 * SECOND, "backlog": 1.5}),
    Talk(35, "InvoiceContract", "OrderService", "InvoiceService", {"gap": 15 * SECOND, "backlog": 0.0}),
    Talk(15, "InvoiceContract", "ReturnsService", "InvoiceService", {"gap": 15 * SECOND, "backlog": 0.0}),
    Talk(30, "ShippingContract", "PickingService", "ShippingService", {"gap": 120 * SECOND}),
    Talk(
        25,
        "LabelContract",
        "ShippingService",
        "CarrierService",
        {**NOTE, "poll": 4 * MINUTE, "lag": 45 * SECOND},
    ),
    Talk(12, "PurchaseContract", "PickingService", "PurchaseService", {"gap": 60 * SECOND}),
    Talk(12, "ReturnContract", "RegistrationService", "ReturnsService", {"messages": 4, "gap": 40 * SECOND}),
    Talk(6, "FaxContract", "PurchaseService", "LegacyFaxService", {**NOTE, "backlog": 4.0}),
    # Answers to customers, started by the ERP: the other direction.
    Talk(30, "StatusContract", "ShippingService", "GoldCheckoutService", {**NOTE, "messages": 2}),
    Talk(30, "StatusContract", "ShippingService", "BronzeCheckoutService", {**NOTE, "messages": 2}),
    Talk(20, "PointsContract", "OrderService", "LoyaltyService", {**NOTE, "backlog": 1.5}),
    Talk(10, "StatementContract", "LoyaltyService", "NewsletterService", {**NOTE, "backlog": 2.0}),
    # Background jobs into the warehouse; the shop reaches it through the ERP's instance.
    Talk(12, "SalesFeedContract", "OrderService", "SalesFeedService", FEED),
    Talk(9, "StockFeedContract", "StockSyncService", "StockFeedService", FEED),
    Talk(
        9, "ClickFeedContract", "BasketService", "ClickFeedService", {**FEED, "messages": 25, "relay": "ERP1"}
    ),
    Talk(8, "ReportContract", "ReportService", "SalesFeedService", {"messages": 4, "gap": 300 * SECOND}),
    Talk(14, "AuditContract", "ShopAuditService", "AuditService", {**NOTE, "messages": 4, "relay": "ERP1"}),
    Talk(10, "AuditContract", "InvoiceService", "AuditService", {**NOTE, "messages": 4}),
    Talk(4, "ArchiveContract", "AuditService", "ArchiveService", {**NOTE, "messages": 3}),
)
