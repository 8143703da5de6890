"""What the experiments run: first without running it, as commands are written down and end well at once."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dev.benchmarks import __main__ as command_line, bench as bench_module, case as case_module
from dev.benchmarks.bench import Bench
from dev.benchmarks.experiments import EXPERIMENTS
from dev.benchmarks.measure import DUCKDB, EMBEDDED, SPARK
from dev.benchmarks.options import Options
from dev.benchmarks.processes import Finished
from schemas.events import CONTRACTS
from tests.support.packages import needs_whole_pyspark

ROWS = 3
SAID = ("rules ...", "rules done in 1.0 s", "explain_message done in 0.5 s")
JOBS = 7


class Recorder:
    """Stands in for the processes; knows what was to be run and which logs were asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.commands: list[list[str]] = []
        self.memory: list[str | None] = []
        self.logs: list[tuple[int, tuple[str, ...]]] = []

    def run_process(
        self, command: Sequence[str | Path], *, environment: Mapping[str, str] | None = None, **_: Path | None
    ) -> Finished:
        parts = [str(part) for part in command]
        self.commands.append(parts)
        self.memory.append((environment or {}).get("ENGINE_MEMORY"))
        if "--out" in parts:
            Path(parts[parts.index("--out") + 1]).mkdir(parents=True)
        for option in parts:
            if option.startswith("spark.eventLog.dir=file://"):
                events = ['{"Event":"SparkListenerJobStart"}'] * JOBS + ['{"Event":"SparkListenerJobEnd"}']
                written = Path(option.removeprefix("spark.eventLog.dir=file://")) / "events_1"
                written.write_text("\n".join(events) + "\n")
        return Finished(10.0, 5.0, 1_000, 2_000, SAID)

    def make_backlog(self, messages: int, skew: str | None, folder: Path) -> Path:
        return self.make_log(messages, ("backlog", skew or "even"), folder)

    def make_log(self, messages: int, more: tuple[str, ...], folder: Path) -> Path:
        self.logs.append((messages, more))
        log = self.folder / f"log-{len(self.logs)}"
        nights = [f"night={date(2026, 11, 20) + timedelta(days=number)}" for number in range(4)]
        for place in nights if "daily" in more else [""]:
            for source in CONTRACTS:
                file = log / place / source / f"{place or 'part'}.parquet"
                file.parent.mkdir(parents=True)
                pq.write_table(pa.table({"event_id": ["x"] * ROWS}), file)
        return log

    def of(self, job: str) -> list[list[str]]:
        """The commands of a job, on either engine."""
        names = {f"jobs.{job}", f"jobs/{job}.py", f"dev.benchmarks.{job}", f"dev/benchmarks/{job}.py"}
        return [command for command in self.commands if names & set(command)]


@pytest.fixture
def recorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    recorder = Recorder(tmp_path)
    monkeypatch.setattr(case_module, "run_process", recorder.run_process)
    monkeypatch.setattr(bench_module, "make_log", recorder.make_log)
    monkeypatch.setattr(bench_module, "make_backlog", recorder.make_backlog)
    monkeypatch.setattr(case_module, "require_equal", lambda *_: {"endpoints": 1})
    return recorder


def run(name: str, recorder: Recorder, *, rounds: int = 1, nights: int = 30) -> Bench:
    folder = recorder.folder / "bench"
    bench = Bench(Options(folder, (EMBEDDED, SPARK), messages=150, rounds=rounds, nights=nights))
    EXPERIMENTS[name](bench)
    return bench


def cases(bench: Bench, system: str = EMBEDDED) -> list[str]:
    return [measure.case for measure in bench.measures if measure.system == system]


def test_cold_runs_all_in_each_round_and_once_for_all_that_need_it(recorder: Recorder) -> None:
    bench = run("cold", recorder, rounds=2)
    systems = (EMBEDDED, SPARK, DUCKDB)
    assert [cases(bench, system) for system in systems] == [["150 messages"] * 2] * 3
    assert {measure.events for measure in bench.measures} == {3 * ROWS}
    ours = bench.measures[1]
    assert (ours.rows, ours.steps) == ({"endpoints": 1}, {"rules": 1.0, "explain_message": 0.5})
    for name in ("activation", "queries", "replay", "conformance"):
        EXPERIMENTS[name](bench)
    asked = [(m.experiment, m.system) for m in bench.measures[6:]]
    names = ("activation", "queries", "replay", "conformance")
    assert asked == [(name, system) for name in names for system in (EMBEDDED, SPARK)]
    # Two rounds, and activation, of two engines each.
    assert len(recorder.of("nightly")) == 6
    embedded, spark = recorder.of("nightly")[:2]
    assert embedded[1:3] == ["-m", "jobs.nightly"]
    assert spark[0].endswith("/spark-submit.sh")
    assert spark[1] == "jobs/nightly.py"
    settings = [command[command.index("--config") + 1] for command in (embedded, spark)]
    assert settings[0] != settings[1]
    for command in recorder.of("replay"):
        days = [command[command.index(option) + 1][:10] for option in ("--from", "--to")]
        assert days == ["2026-11-20", "2026-11-21"]


def test_nights_in_a_row(recorder: Recorder) -> None:
    """The peer takes the whole history at once."""
    bench = run("small", recorder)
    assert cases(bench) == cases(bench, DUCKDB) == ["night 1 of 2", "night 2 of 2"]
    assert [m.events for m in bench.measures if m.system == DUCKDB] == [3 * ROWS, 6 * ROWS]
    assert [m.events for m in bench.measures if m.system == SPARK] == [3 * ROWS] * 2
    recorder.commands.clear()
    bench = run("history", recorder, nights=3)
    assert cases(bench) == ["night 1 of 3", "night 2 of 3", "night 3 of 3"]
    assert cases(bench, DUCKDB) == ["night 3 of 3"]
    assert bench.measures[-1].events == 9 * ROWS
    moments = [command[command.index("--as-of") + 1][:10] for command in recorder.commands]
    assert moments == [f"2026-11-{day}" for day in (21, 21, 22, 22, 23, 23, 23)]


def test_backlog_runs_once_and_counts_jobs(recorder: Recorder) -> None:
    bench = run("backlog", recorder)
    EXPERIMENTS["skew"](bench)
    skews = ["90 % in one queue", "half in one group", "99 % at one level"]
    assert cases(bench) == ["150 messages", *(f"150 messages, {skew}" for skew in skews)]
    assert [more[1] for _, more in recorder.logs] == ["even", "queue", "group", "level"]
    assert {m.jobs for m in bench.measures if m.system == SPARK} == {JOBS}
    bench = run("commits", recorder)
    assert [(m.system, m.jobs) for m in bench.measures] == [(EMBEDDED, None), (SPARK, JOBS)] * 2


def test_messages_and_options_of_the_generator(recorder: Recorder) -> None:
    run("history", recorder, nights=3)
    assert recorder.logs == [(200, ("--days", "4", "--history", "daily"))]


def test_little_memory(recorder: Recorder) -> None:
    run("memory", recorder)
    assert recorder.memory == ["4g", "2g", None]


@needs_whole_pyspark
def test_command_line(recorder: Recorder, capsys: pytest.CaptureFixture[str]) -> None:
    folder = recorder.folder / "kept"
    assert command_line.main(["--case", "cold", "--engine", "embedded", "--folder", str(folder)]) == 0
    assert "1,000,000 messages" in capsys.readouterr().out
    assert len(recorder.of("nightly")) == 1
    assert (folder / "results.json").exists()
    assert not (folder / "runs" / "cold").exists()
    with pytest.raises(SystemExit):
        command_line.main(["--case", "cold,colder"])
    assert "no such experiment: colder" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.long
def test_nights_on_the_embedded_engine_equal_the_peer(tmp_path: Path) -> None:
    """The only one that runs all of it: logs, nights, the peer, and tables that are compared."""
    bench = Bench(Options(tmp_path, (EMBEDDED,), messages=600, memory="2g"))
    for name in ("queries", "backlog"):
        EXPERIMENTS[name](bench)
    cold, asked, backlog = [measure for measure in bench.measures if measure.system == EMBEDDED]
    assert cold.rows["endpoints"] > 150
    assert 0 < cold.commits < 50
    assert asked.steps.keys() == {"next_100_messages", "explain_message"}
    assert 200 < backlog.rows["receive_schedule"] < 300
    assert (backlog.rows["unresolved"], backlog.rows["rejected_events"]) == (0, 0)
    bench.close()
    assert not (tmp_path / "runs" / "cold").exists()


def test_nights_of_a_capture_and_of_its_views(recorder: Recorder) -> None:
    bench = run("capture", recorder)
    assert [(m.case, m.system) for m in bench.measures] == [
        (f"150 messages, {format}", system) for format in ("capture", "csv") for system in (EMBEDDED, SPARK)
    ]
    # 375 endpoints make 187 conversations; a capture has a line about each view and three more, CSV a header.
    rows = 374 + 150 + 20 + 400 + 100 + 400
    assert {m.events for m in bench.measures} == {rows + 106 + 3, rows + 106}
