"""A naive model of the whole system in plain Python, to hold the Spark code against.

It says what docs/semantics.md says, in the same order and as literally as possible: schedules are played
statement by statement, states are looked up by walking the events, nothing is cached and nothing is clever.
It shares no code with the pipelines, so the same mistake has to be made twice to go unseen.
"""

from .accept import Accepted, accept
from .moment import simulate

__all__ = ["Accepted", "accept", "simulate"]
