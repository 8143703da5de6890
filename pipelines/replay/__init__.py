"""The replay: a period of the log played again, with other levels or readers."""
