"""New input becomes the ledger: accepted and rejected events, endpoints, and the days on which rows close."""
