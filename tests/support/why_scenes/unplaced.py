"""Scenes about messages that cannot be placed."""

from tests.support.factories import at, endpoint_event, message_event

from .scene import (
    FIRST,
    IN_A,
    IN_B,
    INITIATOR_NAMES,
    NO_NAMES,
    TARGET_NAMES,
    Scene,
    ready,
    sent,
    talk,
    unplaced,
)

UNKNOWN, NO_SERVICE = "endpoint_unknown", "service_not_in_catalog"
SCENES = [
    Scene(
        "endpoint_unknown: neither endpoint of an arrived message is known",
        [ready()],
        {"c1/0": [UNKNOWN]},
        unplaced(UNKNOWN, "receive", IN_B, NO_NAMES),
    ),
    Scene(
        "endpoint_unknown: the other endpoint is known, so its names are swapped",
        [*talk()[1:], message_event("DELIVERED", "c1/0", sent_by_initiator=False)],
        {"c1/0": [UNKNOWN]},
        unplaced(UNKNOWN, "receive", IN_A, INITIATOR_NAMES),
    ),
    Scene(
        "endpoint_unknown: the receiver is created at as_of",
        [
            endpoint_event("BEGIN_DIALOG", event_time=at(60)),
            endpoint_event("DIALOG_CREATED"),
            message_event("DELIVERED", "c1/0", sent_by_initiator=False),
        ],
        {"c1/0": [UNKNOWN]},
    ),
    Scene(
        "endpoint_unknown: the receiver is created before as_of",
        [
            endpoint_event("BEGIN_DIALOG", event_time=at(59.99)),
            endpoint_event("DIALOG_CREATED"),
            message_event("DELIVERED", "c1/0", sent_by_initiator=False),
        ],
        {"c1/0": FIRST},
    ),
    Scene(
        "endpoint_unknown: the sender of a message that was sent",
        [*talk()[1:], sent()],
        {"c1/0": [UNKNOWN]},
        unplaced(UNKNOWN, "transmission", IN_A, INITIATOR_NAMES),
    ),
    Scene(
        "service_not_in_catalog: the receiver's service has no queue",
        [*talk()[:1], *talk(local_service="Nowhere")[1:], ready()],
        {"c1/0": [NO_SERVICE]},
        unplaced(NO_SERVICE, "receive", IN_B, {**TARGET_NAMES, "local_service": "Nowhere"}),
    ),
    Scene(
        "service_not_in_catalog: a sender needs no queue",
        [*talk(local_service="Nowhere")[:1], sent()],
        {"c1/0": FIRST},
    ),
]
