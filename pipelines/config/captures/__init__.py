"""Captures: the files of the capture script, found, read and checked before an engine starts."""
