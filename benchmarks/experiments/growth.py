"""More of everything: the time per message must not rise with their number."""

from benchmarks.bench import Bench

MILLIONS = (1, 5, 15, 50)
BASE = 15


def run(bench: Bench) -> None:
    """Logs of a fifteenth, a third, one and ten thirds of the bench's size."""
    for millions in MILLIONS:
        messages = bench.messages * millions // BASE
        bench.compare("growth", f"{messages:,} messages", bench.log(messages))
