"""Questions about a published as_of: next, waiting, leaks, coverage, differences, rejected rows."""
