"""The page about one as_of: what it counts, and how it is written."""
