"""From rule history and endpoints to priorities: the eight-step precedence ladder."""
