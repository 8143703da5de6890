"""The experiments by name; each measures one promise."""

from collections.abc import Callable, Mapping

from benchmarks.bench import Bench
from benchmarks.experiments import cold, growth, history, queries, rules, scale_out, skew, small

EXPERIMENTS: Mapping[str, Callable[[Bench], None]] = {
    "cold": cold.run,
    "history": history.run,
    "skew": skew.run,
    "growth": growth.run,
    "scale-out": scale_out.run,
    "rules": rules.run,
    "small": small.run,
    "queries": queries.run,
}
"""In the order in which they run."""

BY_DEFAULT = ("cold", "small", "queries")
"""What runs unless others are asked for: these take minutes."""
