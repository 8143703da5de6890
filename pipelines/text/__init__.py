"""CSV as tools write it: how a file is written is found from its first and last bytes."""
