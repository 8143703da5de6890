"""spark-submit.sh in a stand-in project, whose job and spark-submit tell how they were called."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.processes import ROOT

JOB = """
import json, os, shlex, sys
submitted = shlex.split(os.environ["PYSPARK_SUBMIT_ARGS"])
assert submitted.pop() == "pyspark-shell"
json.dump({"args": submitted + sys.argv, "env": dict(os.environ)}, sys.stdout)
sys.exit(int(os.environ.get("EXIT", 0)))
"""
TELL = """#!/bin/bash
exec "$PYSPARK_DRIVER_PYTHON" -c 'import json, os, sys; \
json.dump({"args": sys.argv[1:], "env": dict(os.environ)}, sys.stdout)' "$@"
"""
JARS = ["delta-spark_4.2_2.13-4.4.0.jar", "delta-storage-4.4.0.jar"]
MUCH_TO_TAKE_IN = "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=4"


class Result(NamedTuple):
    """What came of a call; arguments and environment are those of the job or of spark-submit."""

    code: int
    out: str
    err: str
    args: list[str]
    env: dict[str, str]

    def option(self, name: str) -> str:
        """The value that counts: spark-submit takes the last one before the job."""
        ours = self.args[: self.args.index("jobs/nightly.py")]
        return ours[len(ours) - ours[::-1].index(name)]


def executable(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def make_project(root: Path) -> Path:
    shutil.copytree(ROOT / "conf" / "spark", root / "conf" / "spark")
    (root / "tools").mkdir()
    for tool in ("local_spark.py", "package.py"):
        shutil.copy(ROOT / "tools" / tool, root / "tools")
    shutil.copy(ROOT / "spark-submit.sh", root)
    executable(root / ".venv" / "bin" / "python", f'#!/bin/bash\nexec "{sys.executable}" "$@"\n')
    executable(root / ".venv/lib/python3.11/site-packages/pyspark/bin/spark-submit", TELL)
    for name in JARS:
        executable(root / ".jars" / name, "")
    executable(root / "jobs" / "nightly.py", JOB)
    return root


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that the test may change."""
    return make_project(tmp_path / "a project")


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that all tests use as it is."""
    return make_project(tmp_path_factory.mktemp("spark") / "a project")


def submit(
    project: Path, *args: str, job: str = "jobs/nightly.py", cwd: Path | None = None, **env: str
) -> Result:
    """Run the script of a project, in its folder unless another is given."""
    unset = ("ENGINE", "SPARK_", "PYSPARK_")
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(unset)}
    done = subprocess.run(
        [str(project / "spark-submit.sh"), *([job] if job else []), *args],
        cwd=cwd or project,
        env=inherited | env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    told = json.loads(done.stdout) if done.stdout.startswith("{") else {"args": [], "env": {}}
    return Result(done.returncode, done.stdout, done.stderr, **told)


def variables(text: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in text.split())


def test_a_job_in_a_folder_of_its_own(unchanged: Path) -> None:
    """Its options as they are, the project's own environment, jars and packages, and half of the memory."""
    given = ["--name", "two words", "", "*", 'q"é', "--master", "yarn"]
    foreign = {
        "SPARK_HOME": "/elsewhere",
        "PYSPARK_PYTHON": "x",
        "TZ": "Asia/Tokyo",
        "SPARK_REMOTE": "sc://a",
    }
    result = submit(unchanged, *given, **foreign, EXIT="3")
    assert result.code == 3
    assert result.args[-8:] == ["jobs/nightly.py", *given]
    assert (result.option("--master"), "SPARK_REMOTE" in result.env) == ("local[*]", False)
    assert [Path(jar).name for jar in result.option("--jars").split(",")] == JARS
    assert Path(result.option("--py-files")).is_file()
    half = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**21
    expected = {
        "ENGINE": "spark",
        "SPARK_HOME": f"{unchanged}/.venv/lib/python3.11/site-packages/pyspark",
        "PYSPARK_PYTHON": f"{unchanged}/.venv/bin/python",
        "TZ": "UTC",
        "LOG4J_CONFIGURATION_FILE": f"{unchanged}/conf/spark/log4j2.properties",
        "SPARK_DRIVER_MEMORY": f"{half}m",
    }
    assert {name: result.env[name] for name in expected} == expected
    assert result.env["PATH"].startswith(f"{unchanged}/.venv/bin:")


@pytest.mark.parametrize(
    ("options", "env", "expected"),
    [
        ("", "ENGINE_MEMORY=3g SPARK_MASTER=local[2]", "local[2] local 3g 16777216b"),
        ("", "ENGINE_MEMORY=3g SPARK_DRIVER_MEMORY=9g", "local[*] local 9g 50331648b"),
        # A cluster has its own memory and broadcasts, unless the profile of one machine is named.
        ("", "ENGINE_MEMORY=3g SPARK_MASTER=yarn", "yarn cluster - -"),
        ("--master yarn", "ENGINE_MEMORY=3g", "yarn cluster - -"),
        ("", "ENGINE_MEMORY=3g SPARK_MASTER=yarn SPARK_PROFILE=local", "yarn local 3g 16777216b"),
        # What follows from memory must fit it: a JVM does not start with a heap that is larger.
        ("--driver-memory 2g", "SPARK_DRIVER_MEMORY=9g", "local[*] local 2g 11184810b"),
        ("-c spark.driver.memory=2g", "SPARK_DRIVER_MEMORY=9g", "local[*] local 2g 11184810b"),
    ],
)
def test_what_follows_from_master_profile_and_memory(
    unchanged: Path, options: str, env: str, expected: str
) -> None:
    """Master, profile, memory, and what is broadcast."""
    more = ["--spark", *options.split()] if options else []
    result = submit(unchanged, *more, **variables(env))
    broadcast = [arg.partition("Threshold=")[2] for arg in result.args if "autoBroadcastJoin" in arg]
    profile = Path(result.option("--properties-file"))
    assert profile.parent == unchanged / "conf" / "spark"
    memory = result.env.get("SPARK_DRIVER_MEMORY", "-")
    assert [result.option("--master"), profile.stem, memory, *(broadcast or "-")] == expected.split()


def test_what_follows_spark_goes_before_the_job_and_on_top(unchanged: Path) -> None:
    """On a cluster, where the workers' Python can be named."""
    own = ["--conf", "a=b c", "--jars", "a b.jar,c.jar", "--py-files=own.zip"]
    options = ["--config", "c", "--spark", *own]
    result = submit(unchanged, *options, SPARK_MASTER="yarn", PYSPARK_PYTHON="/opt/python")
    assert result.args[-3:] == ["jobs/nightly.py", "--config", "c"]
    assert " ".join(own) in " ".join(result.args[:-3])
    assert [Path(jar).name for jar in result.option("--jars").split(",")] == [*JARS, "a b.jar", "c.jar"]
    packages, zipped = result.option("--py-files").split(",")
    assert (Path(packages).is_file(), zipped) == (True, "own.zip")
    assert result.env["PYSPARK_PYTHON"] == "/opt/python"
    assert result.env["PYSPARK_DRIVER_PYTHON"] == str(unchanged / ".venv/bin/python")


def test_both_compilers_where_much_is_new(project: Path) -> None:
    """A cluster has its own. Of two values of one setting the last one counts: what the user says."""
    settings = "warehouse: w\ninputs: {message_events: {path: log.parquet, format: parquet}}\n"
    (project / "settings.yaml").write_text(settings)
    (project / "log.parquet").touch()
    os.truncate(project / "log.parquet", 300_000_000)
    options = ["--config", "settings.yaml", "--spark", "--conf", "a=b"]
    args = submit(project, *options).args
    assert args.index(MUCH_TO_TAKE_IN) < args.index("a=b")
    assert MUCH_TO_TAKE_IN not in submit(project, *options, "--master", "yarn").args


@pytest.mark.parametrize(
    "options",
    [
        "--deploy-mode cluster",
        "--conf spark.submit.deployMode=cluster",
        # PySpark would wait for a Java that has answered and ended, without end.
        "--version",
        "--kill=1",
    ],
)
def test_spark_starts_the_job_on_the_cluster_and_answers_questions(unchanged: Path, options: str) -> None:
    result = submit(unchanged, "--config", "c", "--spark", *options.split())
    assert "PYSPARK_SUBMIT_ARGS" not in result.env
    assert result.args[-3 - len(options.split()) :] == [*options.split(), "jobs/nightly.py", "--config", "c"]


@pytest.mark.parametrize("file", ["conf/spark/cluster.conf", "own.conf", "defaults/spark-defaults.conf"])
def test_a_file_may_say_that_the_cluster_runs_the_job(project: Path, file: str) -> None:
    (project / file).parent.mkdir(exist_ok=True)
    (project / file).write_text("# spark.submit.deployMode client\n  spark.submit.deployMode=cluster\n")
    given = ["--spark", "--master", "yarn", *(["--properties-file", file] if file == "own.conf" else [])]
    defaults = str(project / "defaults")
    assert "PYSPARK_SUBMIT_ARGS" not in submit(project, *given, SPARK_CONF_DIR=defaults).env
    given += ["--deploy-mode", "client"]
    assert "PYSPARK_SUBMIT_ARGS" in submit(project, *given, SPARK_CONF_DIR=defaults).env


@pytest.mark.parametrize("sign", ["#", "%20", "[", "]", ",", "?", "*", ":", "\\", "\n", '"', "{", "}"])
def test_a_folder_from_which_spark_loads_no_jars(tmp_path: Path, sign: str) -> None:
    executable(tmp_path / f"a{sign}b" / "spark-submit.sh", (ROOT / "spark-submit.sh").read_text())
    result = submit(tmp_path / f"a{sign}b", cwd=tmp_path)
    assert (result.code, result.out, len(result.err.splitlines())) == (2, "", 1)
    assert result.err.startswith("spark-submit.sh: Spark can't load jars from ")


def test_a_folder_of_other_characters(tmp_path: Path) -> None:
    assert submit(make_project(tmp_path / "é日 a'b&b;$c(d)"), cwd=tmp_path).code == 0


def test_from_another_folder_through_a_link_and_a_job_of_that_folder(unchanged: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "spark-submit.sh").symlink_to(unchanged / "spark-submit.sh")
    assert submit(tmp_path / "bin", cwd=tmp_path).args[-1] == str(unchanged / "jobs" / "nightly.py")
    executable(tmp_path / "jobs" / "nightly.py", JOB)
    assert submit(unchanged, cwd=tmp_path).args[-1] == "jobs/nightly.py"


@pytest.mark.parametrize(
    ("job", "env", "said"),
    [
        ("", {}, "usage: ./spark-submit.sh jobs/JOB.py [job options] [--spark spark-submit options]"),
        ("jobs/nihgtly.py", {}, "spark-submit.sh: no such job: PROJECT/jobs/nihgtly.py"),
        (
            "jobs/nightly.py",
            {"SPARK_PROFILE": "huge"},
            "spark-submit.sh: no such profile: huge (SPARK_PROFILE; there is no conf/spark/huge.conf)",
        ),
        *(
            (
                "jobs/nightly.py",
                {"SPARK_DRIVER_MEMORY": memory},
                f"spark-submit.sh: the driver's memory is {written}; write a size such as 4g or 512m",
            )
            for memory, written in (("0m", "0m"), ("2gb", "2gb"), ("-1g", "-1g"), ("4 g", "4\\ g"))
        ),
    ],
)
def test_refused_in_a_line(unchanged: Path, job: str, env: dict[str, str], said: str) -> None:
    result = submit(unchanged, job=job, **env)
    assert (result.code, result.out) == (2, "")
    assert result.err == said.replace("PROJECT", str(unchanged)) + "\n"


def test_help_goes_to_stdout(unchanged: Path) -> None:
    result = submit(unchanged, job="--help")
    assert (result.code, result.err) == (0, "")
    assert "SPARK_MASTER" in result.out


@pytest.mark.parametrize("missing", [".venv", ".venv/lib", ".jars/delta-storage-4.4.0.jar", ".incomplete"])
def test_without_a_whole_setup_it_says_so(project: Path, missing: str) -> None:
    if missing == ".incomplete":
        (project / ".venv" / missing).touch()
    else:
        (project / missing).rename(project / "gone")
    result = submit(project)
    assert (result.code, result.err) == (2, "spark-submit.sh: run make setup first\n")
