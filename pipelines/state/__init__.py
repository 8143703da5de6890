"""The state of messages, transactions and endpoints at a moment.

Functions take the events that count: the events before as_of for the state at as_of, and all events where
later ones matter, as for the rows that a batch closes.
"""
