"""Snapshots of a server: which views there are, and what the small ones say of catalog and rules."""
