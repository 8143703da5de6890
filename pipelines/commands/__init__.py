"""The commands: each module parses the options of one, reads, calls the other rooms, writes and publishes."""
