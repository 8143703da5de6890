"""The queue simulator of replay and conformance: messages arrive, wait in groups, and are received."""
