"""Scenes about messages that cannot be placed."""

from .scene import IN_A, IN_B, INITIATOR_NAMES, NO_NAMES, TARGET_NAMES, scene, unplaced

UNKNOWN, NO_SERVICE = "endpoint_unknown", "service_not_in_catalog"
SCENES = [
    scene(
        "endpoint_unknown: neither endpoint of an arrived message is known",
        "ready c1/0",
        "c1/0: endpoint_unknown",
        unplaced(UNKNOWN, "receive", IN_B, NO_NAMES),
    ),
    scene(
        "endpoint_unknown: the other endpoint is known, so its names are swapped",
        "create c1, reply c1/0",
        "c1/0: endpoint_unknown",
        unplaced(UNKNOWN, "receive", IN_A, INITIATOR_NAMES),
    ),
    scene(
        "endpoint_unknown: the receiver is created at as_of",
        "begin c1 60, create c1, reply c1/0",
        "c1/0: endpoint_unknown",
    ),
    scene(
        "endpoint_unknown: the receiver is created before as_of",
        "begin c1 59.99, create c1, reply c1/0",
        "c1/0: first_in_line",
    ),
    scene(
        "endpoint_unknown: the sender of a message that was sent",
        "create c1, sent c1/0",
        "c1/0: endpoint_unknown",
        unplaced(UNKNOWN, "transmission", IN_A, INITIATOR_NAMES),
    ),
    scene(
        "service_not_in_catalog: the receiver's service has no queue",
        "begin c1, create c1 local=Nowhere, ready c1/0",
        "c1/0: service_not_in_catalog",
        unplaced(NO_SERVICE, "receive", IN_B, {**TARGET_NAMES, "local_service": "Nowhere"}),
    ),
    scene(
        "service_not_in_catalog: a sender needs no queue",
        "begin c1 local=Nowhere, sent c1/0",
        "c1/0: first_in_line",
    ),
]
