"""Figures of an as_of for monitoring tools."""
