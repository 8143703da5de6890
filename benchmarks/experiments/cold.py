"""A first night: everything is new."""

from benchmarks.bench import Bench


def run(bench: Bench) -> None:
    """Pipeline, peer and floor on one log."""
    bench.compare("cold", f"{bench.messages:,} messages", bench.log(bench.messages))
