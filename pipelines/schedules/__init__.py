"""Group priorities, the receive schedule and the transmission schedule of an as_of."""
