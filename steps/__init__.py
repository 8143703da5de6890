"""The steps of a night: each reads the tables it needs, calls the library, and writes its own tables."""
