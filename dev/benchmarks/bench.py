"""The options of a call, the logs that its experiments run on, and what they measured."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dev.benchmarks.backlog_log import Skew
from dev.benchmarks.case import Case
from dev.benchmarks.logs import make_backlog, make_log
from dev.benchmarks.measure import Measure
from dev.benchmarks.options import LAST_MIDNIGHT, Options
from dev.benchmarks.server_captures import make_capture
from dev.benchmarks.server_views import Format, make_views


@dataclass
class Bench:
    """One call: its options, and what was measured so far.

    Attributes:
        options: of the call.
        measures: of the runs, in their order.
    """

    options: Options
    measures: list[Measure] = field(default_factory=list)
    _cold: Case | None = None
    _has_backlog: bool = False

    @property
    def engines(self) -> Sequence[str]:
        """Those that the pipeline runs on."""
        return self.options.engines

    @property
    def messages(self) -> int:
        """Of the large nights."""
        return self.options.messages

    def log(self, messages: int, *more: str) -> Path:
        """A log of so many messages, in Parquet; `more` are further options of the generator."""
        _say(f"log of {messages:,} messages {' '.join(more)}")
        return make_log(messages, more, self._logs)

    def server(self, messages: int, format: Format = "parquet") -> Path:
        """The views of a server with so many queued messages, and five endpoints to two of these."""
        endpoints = messages * 5 // 2
        _say(f"{format} of {endpoints:,} endpoints and {messages:,} messages")
        folder = self._logs / f"server-{messages}-{format}"
        if format == "capture":
            return make_capture(endpoints, messages, LAST_MIDNIGHT, folder)
        return make_views(endpoints, messages, folder, format)

    def add(self, measure: Measure) -> None:
        """Keep a measure."""
        self.measures.append(measure)
        jobs = "" if measure.jobs is None else f" {measure.jobs:6} jobs"
        _say(
            f"  {measure.system:15} {measure.seconds:8.1f} s {measure.cpu_seconds:8.1f} s of processor time "
            f"{measure.peak_bytes / 1e9:6.1f} GB{jobs}"
        )

    def cold(self) -> Case:
        """A first night of the bench's size: made once, its tables stay until `close`."""
        if self._cold is None:
            log = self.log(self.messages)
            self._cold = Case(self.options, "cold", f"{self.messages:,} messages", log, self.messages)
            self.compare(self._cold)
        return self._cold

    def backlog(self) -> None:
        """A first night of the bench's size where a backlog stands, spread evenly: run once."""
        if not self._has_backlog:
            self._has_backlog = True
            self.compare_backlog("backlog", f"{self.messages:,} messages")

    def compare_backlog(self, experiment: str, name: str, skew: Skew | None = None) -> None:
        """Run all on a log with a standing backlog; the tables go."""
        _say(f"log of {self.messages:,} messages with a backlog, {skew or 'even'}")
        log = make_backlog(self.messages, skew, self._logs)
        case = Case(self.options, experiment, name, log, self.messages)
        self.compare(case, count_jobs=True)
        case.close()

    def compare(
        self,
        case: Case,
        *,
        memory: Mapping[str, str] | None = None,
        count_jobs: bool = False,
    ) -> None:
        """Run the pipeline on each engine and the peer, in turn and in each round.

        Figures count once the tables agree.

        Args:
            case: what to run them on.
            memory: of an engine, if not that of the bench.
            count_jobs: whether Spark counts its jobs.
        """
        for number in range(self.options.rounds):
            _say(f"{case.experiment}: {case.name}, round {number + 1} of {self.options.rounds}")
            case.clear()
            ours = [
                case.night(engine, LAST_MIDNIGHT, memory=(memory or {}).get(engine), count_jobs=count_jobs)
                for engine in self.engines
            ]
            self.add(case.peer(LAST_MIDNIGHT))
            for measure in ours:
                self.add(case.compared(measure, LAST_MIDNIGHT))

    def close(self) -> None:
        """Remove what is left of the runs."""
        if self._cold is not None:
            self._cold.close()

    @property
    def _logs(self) -> Path:
        return self.options.folder / "logs"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
