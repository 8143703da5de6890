"""Few rules against many: the ladder must not look at each."""

from benchmarks.bench import Bench

RULES = (10, 10_000)


def run(bench: Bench) -> None:
    """The same traffic under 10 and under 10,000 rules per database."""
    for rules in RULES:
        log = bench.log(bench.messages, "--rules", str(rules))
        bench.compare("rules", f"{rules:,} per database", log)
