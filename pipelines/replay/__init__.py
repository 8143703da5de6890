"""The replay: the same arrivals with other levels or readers, played forward from a moment."""
