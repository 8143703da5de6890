"""What the experiments run, without running it: commands are written down and end well at once."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks import __main__ as command_line, bench as bench_module
from benchmarks.bench import SOURCES, Bench
from benchmarks.experiments import EXPERIMENTS
from benchmarks.logs import LogOptions
from benchmarks.measure import FLOOR, PEER, PIPELINE
from benchmarks.processes import Finished

ROWS = 3
STDERR = ((1.0, "rules ..."), (2.0, "rules done in 1.0 s"), (3.0, "explain_message done in 0.5 s"))


class Recorder:
    """Stands in for the processes; knows what was to be run and which logs were asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.commands: list[list[str]] = []
        self.environments: list[Mapping[str, str]] = []
        self.logs: list[LogOptions] = []

    def run_process(
        self, command: Sequence[str | Path], *, log: Path, environment: Mapping[str, str]
    ) -> Finished:
        self.commands.append([str(part) for part in command])
        self.environments.append(environment)
        return Finished(0.0, 10.0, 5.0, 1_000, STDERR)

    def make_log(self, options: LogOptions, folder: Path, *, memory: str) -> Path:
        self.logs.append(options)
        log = self.folder / f"log-{len(self.logs)}"
        nights = [f"night={date(2026, 11, 20) + timedelta(days=number)}" for number in range(3)]
        for place in nights if "daily" in options.more else [""]:
            for source in SOURCES:
                file = log / place / source / f"{place or 'part'}.parquet"
                file.parent.mkdir(parents=True)
                pq.write_table(pa.table({"event_id": ["x"] * ROWS}), file)
        return log


@pytest.fixture
def recorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    recorder = Recorder(tmp_path)
    monkeypatch.setattr(bench_module, "run_process", recorder.run_process)
    monkeypatch.setattr(bench_module, "make_log", recorder.make_log)
    monkeypatch.setattr(bench_module, "require_equal", lambda *_: {"endpoints": 1})
    return recorder


def run(name: str, recorder: Recorder, **options: int) -> Bench:
    bench = Bench(recorder.folder / "bench", messages=150, **options)
    EXPERIMENTS[name](bench)
    return bench


def cases(bench: Bench, system: str = PIPELINE) -> list[str]:
    return [measure.case for measure in bench.measures if measure.system == system]


def test_cold_runs_all_three_in_each_round(recorder: Recorder) -> None:
    bench = run("cold", recorder, rounds=2)
    assert cases(bench) == cases(bench, PEER) == cases(bench, FLOOR) == ["150 messages"] * 2
    assert {measure.events for measure in bench.measures} == {3 * ROWS}
    assert {"jobs/nightly.py", "benchmarks.peer", "benchmarks/floor.py"} <= {
        part for parts in recorder.commands for part in parts
    }
    assert bench.measures[1].rows == {"endpoints": 1}
    assert bench.measures[1].steps == {"rules": 1.0, "explain_message": 0.5}


def test_history_brings_a_night_at_a_time(recorder: Recorder) -> None:
    bench = run("history", recorder, nights=3)
    assert cases(bench) == ["night 1 of 3", "night 2 of 3", "night 3 of 3"]
    assert [measure.events for measure in bench.measures] == [3 * ROWS, 3 * ROWS, 3 * ROWS, 9 * ROWS]
    moments = [command[command.index("--as-of") + 1] for command in recorder.commands]
    assert [moment[:10] for moment in moments] == ["2026-11-21", "2026-11-22", "2026-11-23", "2026-11-23"]
    assert cases(bench, PEER) == ["night 3 of 3"]


def test_skew_has_a_small_driver(recorder: Recorder) -> None:
    bench = run("skew", recorder)
    assert cases(bench) == ["even", "90 % in one queue", "half in one group", "99 % at one level"]
    nightly = [
        environment["SPARK_DRIVER_MEMORY"]
        for command, environment in zip(recorder.commands, recorder.environments, strict=True)
        if "jobs/nightly.py" in command
    ]
    assert nightly == ["2g"] * 4


def test_growth_keeps_the_proportions(recorder: Recorder) -> None:
    run("growth", recorder)
    assert [log.messages for log in recorder.logs] == [10, 50, 150, 500]


def test_scale_out_runs_on_clusters(recorder: Recorder) -> None:
    bench = run("scale-out", recorder)
    clusters = [command for command in recorder.commands if "tools.local_cluster" in command]
    assert [command[command.index("--workers") + 1] for command in clusters] == ["1", "2"]
    assert [measure.cores for measure in bench.measures if measure.system == PIPELINE] == [1, 2]


def test_rules(recorder: Recorder) -> None:
    run("rules", recorder)
    assert [log.more for log in recorder.logs] == [("--rules", "10"), ("--rules", "10000")]


def test_small_nights_say_where_the_seconds_go(recorder: Recorder) -> None:
    bench = run("small", recorder)
    nights = ("first night", "second night")
    assert cases(bench) == [f"{night}, profile {name}" for name in ("small", "local") for night in nights]
    assert cases(bench, FLOOR) == [f"first night, profile {name}" for name in ("small", "local")]
    profiles = [environment.get("SPARK_PROFILE") for environment in recorder.environments]
    assert [profile for profile in profiles if profile] == ["small"] * 3 + ["local"] * 3
    timeline = bench.measures[1].notes["timeline"]
    assert timeline == (("start, to the first step", 1.0), ("after the last table", 9.0))


def test_queries_are_noted(recorder: Recorder) -> None:
    bench = run("queries", recorder)
    assert recorder.logs[0].messages == 500
    (ours,) = (measure for measure in bench.measures if measure.system == PIPELINE)
    assert ours.notes["explain_message"] == "0 files, 0.50 s"
    assert ours.rows == {"endpoints": 1}


def test_command_line(recorder: Recorder, capsys: pytest.CaptureFixture[str]) -> None:
    folder = recorder.folder / "kept"
    assert command_line.main(["--only", "cold", "--no-floor", "--folder", str(folder)]) == 0
    assert "150,000 messages" in capsys.readouterr().out
    assert (folder / "results.json").exists()
    with pytest.raises(SystemExit):
        command_line.main(["--only", "cold,colder"])
    assert "no such experiment: colder" in capsys.readouterr().err
