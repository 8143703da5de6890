"""From accepted events to the ledger: facts with their times, one row per endpoint, message and transaction."""
