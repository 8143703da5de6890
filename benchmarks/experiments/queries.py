"""Two questions to the tables of a cold night: files and seconds."""

import json

from benchmarks.bench import LAST_MIDNIGHT, Bench


def run(bench: Bench) -> None:
    """Run a night of ten thirds of the bench's size, and ask."""
    messages = bench.messages * 50 // 15
    case = bench.case("queries", f"{messages:,} messages", bench.log(messages))
    case.clear()
    ours = case.pipeline(LAST_MIDNIGHT)
    finished = case.spark_job("benchmarks/queries.py", LAST_MIDNIGHT)
    answers = [json.loads(line) for _, line in finished.lines if line.startswith('{"question"')]
    notes = {answer["question"]: f"{sum(answer['files'])} files, {answer['seconds']} s" for answer in answers}
    bench.add(ours.with_notes(notes))
    if not bench.keep:
        case.clear()
