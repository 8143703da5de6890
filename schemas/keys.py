"""What things are known by, across the tables."""

QUEUE = ["instance", "database", "queue"]
"""A queue's name is unique in its database."""

GROUP = [*QUEUE, "conversation_group_id"]
"""A conversation group is always on one queue."""

ENDPOINT_NAMES = ("instance", "database", "contract", "local_service", "remote_service")
"""What rules ask of an endpoint: its database, its contract and its services."""
