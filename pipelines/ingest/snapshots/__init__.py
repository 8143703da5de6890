"""From what a server's views show at a moment to rows of the tables of accepted events."""
