"""The eight steps of the precedence ladder, for Spark and for plain Python."""

from itertools import product

CRITERIA = ("contract", "local_service", "remote_service")

STEPS: tuple[tuple[bool, bool, bool], ...] = tuple(product((True, False), (True, False), (True, False)))
"""Steps 1 to 8: whether the rule names (contract, local service, remote service), or says ANY.

A contract counts for more than a local service, and that for more than a remote service.
Source: Conversation Priorities in the vendor's documentation.
"""
