"""The files of snapshots as frames."""
