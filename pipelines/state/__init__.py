"""What is true of messages, transactions, endpoints and queues: each notion once.

Every function takes the events that count: those before as_of for the state at as_of, all of them for what
can still come (a fold closes what has no state any more). Events are rows of the ledger's event tables.
"""
