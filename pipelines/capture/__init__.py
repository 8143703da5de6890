"""Captures of a server: the T-SQL script, and its run through the vendor's driver."""
