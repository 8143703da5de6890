"""From accepted events to the ledger: facts with their times, a row per endpoint, message, transaction."""
