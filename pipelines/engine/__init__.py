"""The session, on Apache Spark or on the embedded engine, and the few things in which they differ."""
