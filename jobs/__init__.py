"""The commands: each job parses its options, reads, calls `pipelines`, writes and publishes."""
