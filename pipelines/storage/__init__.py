"""The edge of the pipeline: where events are read from and tables are written to."""
