"""Two questions to the tables of a cold night: files and seconds."""

from benchmarks.bench import Bench


def run(bench: Bench) -> None:
    """A first night of ten thirds of the bench's size, as `cold` measures it, and what its tables answer."""
    messages = bench.messages * 50 // 15
    bench.compare("queries", f"{messages:,} messages", bench.log(messages), questions=True)
