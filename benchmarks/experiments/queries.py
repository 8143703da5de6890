"""Two questions to the tables of a cold night: files and seconds."""

from benchmarks.bench import LAST_MIDNIGHT, Bench


def run(bench: Bench) -> None:
    """Run a night of ten thirds of the bench's size, and ask."""
    messages = bench.messages * 50 // 15
    case = bench.case("queries", f"{messages:,} messages", bench.log(messages))
    case.clear()
    night = case.pipeline(LAST_MIDNIGHT)
    answers = case.ask(LAST_MIDNIGHT)
    bench.add(night.with_notes(answers))
    if not bench.keep:
        case.clear()
