"""Conformance: levels, receives and sends of the log compared with the rules."""
