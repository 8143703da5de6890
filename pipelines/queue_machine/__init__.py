"""Queues in Python workers, and the queue simulator of replay and conformance."""
