"""Captures: the files of the capture script, found, read and checked before an engine starts."""

VERSIONS = (1, 2)
"""Of the form of captures, that are read."""
