"""The parts of an answer as values, before console or page write them."""
