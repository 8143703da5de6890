"""Conformance: did the server do what its rules say."""
