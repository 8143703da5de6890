"""The messages of a queue as they come, stand in their groups and go: what replay and conformance play."""
