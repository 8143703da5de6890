"""The experiments by name; each measures one promise."""

from collections.abc import Callable, Mapping

from benchmarks.bench import Bench
from benchmarks.experiments import cold

EXPERIMENTS: Mapping[str, Callable[[Bench], None]] = {
    "cold": cold.run,
}
"""In the order in which they run."""

BY_DEFAULT = ("cold",)
"""What runs unless others are asked for: these take minutes."""
