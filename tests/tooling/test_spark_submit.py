"""spark-submit.sh in a stand-in project, whose job and spark-submit tell how they were called."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
JOB = """
import json, os, shlex, sys
submitted = shlex.split(os.environ["PYSPARK_SUBMIT_ARGS"])
assert submitted.pop() == "pyspark-shell"
json.dump({"args": submitted + sys.argv, "env": dict(os.environ)}, sys.stdout)
sys.exit(int(os.environ.get("EXIT", 0)))
"""
TELL = """#!/bin/bash
exec "$PYSPARK_DRIVER_PYTHON" -c 'import json, os, sys; \
json.dump({"args": sys.argv[1:], "env": dict(os.environ)}, sys.stdout); \
sys.exit(int(os.environ.get("EXIT", 0)))' "$@"
"""


class Result(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def args(self) -> list[str]:
        args: list[str] = json.loads(self.out)["args"]
        return args

    @property
    def env(self) -> dict[str, str]:
        env: dict[str, str] = json.loads(self.out)["env"]
        return env

    def option(self, name: str) -> str:
        """The value that counts: spark-submit takes the last one."""
        last = len(self.args) - 1 - self.args[::-1].index(name)
        return self.args[last + 1]


def executable(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "a project"
    shutil.copytree(ROOT / "conf" / "spark", root / "conf" / "spark")
    (root / "tools").mkdir()
    for tool in ("local_spark.py", "package.py"):
        shutil.copy(ROOT / "tools" / tool, root / "tools")
    shutil.copy(ROOT / "spark-submit.sh", root)
    executable(root / ".venv" / "bin" / "python", f'#!/bin/bash\nexec "{sys.executable}" "$@"\n')
    spark = root / ".venv" / "lib" / "python3.11" / "site-packages" / "pyspark"
    executable(spark / "bin" / "spark-submit", TELL)
    (root / ".jars").mkdir()
    (root / ".jars" / "delta-spark_4.2_2.13-4.4.0.jar").touch()
    (root / ".jars" / "delta-storage-4.4.0.jar").touch()
    (root / "jobs").mkdir()
    (root / "jobs" / "nightly.py").write_text(JOB)
    return root


def submit(
    project: Path, *args: str, cwd: Path | None = None, env: Mapping[str, str] = MappingProxyType({})
) -> Result:
    unset = ("ENGINE", "SPARK_", "PYSPARK_")
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(unset)}
    done = subprocess.run(
        [str(project / "spark-submit.sh"), *args],
        cwd=cwd or project,
        env=inherited | dict(env),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    return Result(done.returncode, done.stdout, done.stderr)


def test_job_options_follow_the_job_as_they_are(project: Path) -> None:
    result = submit(project, "jobs/nightly.py", "--name", "two words", "", "*", 'q"é')

    assert result.args[-5:] == ["--name", "two words", "", "*", 'q"é']
    assert result.args[-6].endswith("jobs/nightly.py")


def test_what_follows_spark_goes_before_the_job(project: Path) -> None:
    result = submit(project, "jobs/nightly.py", "--config", "c", "--spark", "--conf", "a=b c")

    assert result.args[-5:] == ["--conf", "a=b c", "jobs/nightly.py", "--config", "c"]


@pytest.mark.parametrize(
    "options", [["--deploy-mode", "cluster"], ["--conf", "spark.submit.deployMode=cluster"]], ids=" ".join
)
def test_where_the_cluster_runs_the_job_spark_starts_it(project: Path, options: list[str]) -> None:
    result = submit(project, "jobs/nightly.py", "--config", "c", "--spark", *options)

    assert "PYSPARK_SUBMIT_ARGS" not in result.env
    assert result.args[-5:] == [*options, "jobs/nightly.py", "--config", "c"]


@pytest.mark.parametrize("file", ["conf/spark/cluster.conf", "own.conf", "defaults/spark-defaults.conf"])
def test_a_file_may_say_that_the_cluster_runs_the_job(project: Path, file: str) -> None:
    (project / file).parent.mkdir(exist_ok=True)
    (project / file).write_text("# spark.submit.deployMode client\n  spark.submit.deployMode=cluster\n")
    own = ["--properties-file", "own.conf"] if file == "own.conf" else []
    env = {"SPARK_CONF_DIR": str(project / "defaults")}

    def is_submitted(*options: str) -> bool:
        given = ["jobs/nightly.py", "--spark", "--master", "yarn", *own, *options]
        return "PYSPARK_SUBMIT_ARGS" not in submit(project, *given, env=env).env

    assert is_submitted()
    assert not is_submitted("--deploy-mode", "client")


@pytest.mark.parametrize("option", ["--help", "-h", "--version", "--status=1", "--kill=1"])
def test_a_question_to_spark_starts_no_job(project: Path, option: str) -> None:
    """PySpark would wait for a Java that has answered and ended, without end."""
    assert "PYSPARK_SUBMIT_ARGS" not in submit(project, "jobs/nightly.py", "--spark", option).env


@pytest.mark.parametrize("memory", ["0m", "lots", "2gb", "-1g", "4 g", "1.5g"])
def test_memory_that_is_no_size(project: Path, memory: str) -> None:
    result = submit(project, "jobs/nightly.py", env={"SPARK_DRIVER_MEMORY": memory})

    assert (result.code, result.out, len(result.err.splitlines())) == (2, "", 1)
    assert result.err.endswith("write a size such as 4g or 512m\n")


@pytest.mark.parametrize("sign", ["#", "%20", "[", "]", ",", "?", "*", ":", "\\", "\n", '"', "{", "}"])
def test_a_folder_from_which_spark_loads_no_jars(project: Path, tmp_path: Path, sign: str) -> None:
    moved = project.rename(tmp_path / f"a{sign}b")

    result = submit(moved, "jobs/nightly.py", cwd=tmp_path)

    assert (result.code, result.out, len(result.err.splitlines())) == (2, "", 1)
    assert result.err.startswith("spark-submit.sh: Spark can't load jars from ")


@pytest.mark.parametrize("name", ["a b", "é日本", "a'b", "a&b;$c", "a(b)"])
def test_a_folder_of_other_characters(project: Path, tmp_path: Path, name: str) -> None:
    assert submit(project.rename(tmp_path / name), "jobs/nightly.py", cwd=tmp_path).code == 0


def test_a_job_has_a_spark_of_its_own(project: Path) -> None:
    env = submit(project, "jobs/nightly.py", env={"SPARK_REMOTE": "sc://localhost"}).env

    assert env["ENGINE"] == "spark"
    assert "SPARK_REMOTE" not in env


@pytest.mark.parametrize(
    ("args", "env", "master", "profile"),
    [
        pytest.param([], {}, "local[*]", "local", id="default"),
        pytest.param([], {"SPARK_MASTER": "local[2]"}, "local[2]", "local", id="local"),
        pytest.param([], {"SPARK_MASTER": "yarn"}, "yarn", "cluster", id="cluster"),
        pytest.param(
            [], {"SPARK_MASTER": "yarn", "SPARK_PROFILE": "local"}, "yarn", "local", id="profile named"
        ),
        pytest.param(["--spark", "--master", "yarn"], {}, "yarn", "cluster", id="master after --spark"),
        pytest.param(["--master", "yarn"], {}, "local[*]", "local", id="the job's own --master"),
    ],
)
def test_master_decides_the_profile(
    project: Path, args: list[str], env: dict[str, str], master: str, profile: str
) -> None:
    result = submit(project, "jobs/nightly.py", *args, env=env)

    job = result.args.index("jobs/nightly.py")
    ours = result._replace(out=json.dumps({"args": result.args[:job], "env": result.env}))
    assert ours.option("--master") == master
    assert ours.option("--properties-file") == str(project / "conf" / "spark" / f"{profile}.conf")


def test_the_environment_is_the_projects_own(project: Path) -> None:
    env = submit(
        project,
        "jobs/nightly.py",
        env={"SPARK_HOME": "/elsewhere", "PYSPARK_PYTHON": "x", "TZ": "Asia/Tokyo"},
    ).env

    assert env["SPARK_HOME"] == str(project / ".venv/lib/python3.11/site-packages/pyspark")
    assert env["PYSPARK_PYTHON"] == str(project / ".venv/bin/python")
    assert env["PATH"].startswith(f"{project}/.venv/bin:")
    assert env["TZ"] == "UTC"
    assert env["LOG4J_CONFIGURATION_FILE"] == str(project / "conf/spark/log4j2.properties")


HALF = f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') // 2**21}m"


@pytest.mark.parametrize(
    ("given", "memory"),
    [
        pytest.param({}, HALF, id="half of the machine's"),
        pytest.param({"ENGINE_MEMORY": "3g"}, "3g", id="as for either engine"),
        pytest.param({"ENGINE_MEMORY": "3g", "SPARK_DRIVER_MEMORY": "9g"}, "9g", id="Spark's own"),
        pytest.param({"ENGINE_MEMORY": "3g", "SPARK_MASTER": "yarn"}, None, id="a cluster's own"),
    ],
)
def test_driver_memory(project: Path, given: dict[str, str], memory: str | None) -> None:
    assert submit(project, "jobs/nightly.py", env=given).env.get("SPARK_DRIVER_MEMORY") == memory


@pytest.mark.parametrize(
    "given",
    [
        ["--driver-memory", "2g"],
        ["--driver-memory=2g"],
        ["--conf", "spark.driver.memory=2g"],
        ["-c", "spark.driver.memory=2g"],
    ],
    ids=" ".join,
)
def test_memory_after_spark_goes_before_all_others(project: Path, given: list[str]) -> None:
    """What follows from memory must fit it: a JVM does not start with a heap that is larger."""
    result = submit(project, "jobs/nightly.py", "--spark", *given, env={"SPARK_DRIVER_MEMORY": "9g"})
    assert result.env["SPARK_DRIVER_MEMORY"] == "2g"
    assert "spark.sql.autoBroadcastJoinThreshold=11184810b" in result.args


MUCH_TO_TAKE_IN = "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=4"


@pytest.mark.parametrize(
    ("length", "env", "both"),
    [
        pytest.param(300_000_000, {}, True, id="much"),
        pytest.param(100_000_000, {}, False, id="little"),
        pytest.param(300_000_000, {"SPARK_MASTER": "yarn"}, False, id="a cluster has its own"),
    ],
)
def test_both_compilers_where_much_is_new(
    project: Path, length: int, env: dict[str, str], both: bool
) -> None:
    log = project / "log.parquet"
    log.touch()
    os.truncate(log, length)
    settings = "warehouse: w\ninputs: {message_events: {path: log.parquet, format: parquet}}\n"
    (project / "settings.yaml").write_text(settings)

    result = submit(
        project, "jobs/nightly.py", "--config", "settings.yaml", "--spark", "--conf", "a=b", env=env
    )

    assert (MUCH_TO_TAKE_IN in result.args) == both
    # Of two values of one setting the last one counts: what the user says.
    assert not both or result.args.index(MUCH_TO_TAKE_IN) < result.args.index("a=b")


@pytest.mark.parametrize(
    ("env", "setting"),
    [
        pytest.param(
            {"ENGINE_MEMORY": "3g"}, "spark.sql.autoBroadcastJoinThreshold=16777216b", id="one machine"
        ),
        pytest.param({"ENGINE_MEMORY": "3g", "SPARK_MASTER": "yarn"}, None, id="a cluster has its own"),
    ],
)
def test_broadcasts_by_memory(project: Path, env: dict[str, str], setting: str | None) -> None:
    args = submit(project, "jobs/nightly.py", env=env).args

    assert [arg for arg in args if "autoBroadcast" in arg] == ([setting] if setting else [])


def test_on_a_cluster_the_workers_python_can_be_named(project: Path) -> None:
    env = submit(
        project, "jobs/nightly.py", env={"SPARK_MASTER": "yarn", "PYSPARK_PYTHON": "/opt/python"}
    ).env

    assert env["PYSPARK_PYTHON"] == "/opt/python"
    assert env["PYSPARK_DRIVER_PYTHON"] == str(project / ".venv/bin/python")


def test_the_jars_and_the_packages_travel_along(project: Path) -> None:
    result = submit(project, "jobs/nightly.py")

    jars = result.option("--jars").split(",")
    assert [Path(jar).name for jar in jars] == ["delta-spark_4.2_2.13-4.4.0.jar", "delta-storage-4.4.0.jar"]
    assert Path(result.option("--py-files")).is_file()


def test_the_users_jars_and_files_come_on_top(project: Path) -> None:
    result = submit(project, "jobs/nightly.py", "--spark", "--jars", "a b.jar,c.jar", "--py-files=own.zip")

    ours = "delta-spark_4.2_2.13-4.4.0.jar", "delta-storage-4.4.0.jar"
    assert [Path(jar).name for jar in result.option("--jars").split(",")] == [*ours, "a b.jar", "c.jar"]
    packages, own = result.option("--py-files").split(",")
    assert (Path(packages).is_file(), own) == (True, "own.zip")


def test_runs_from_any_directory_and_through_a_link(project: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "bin").mkdir(parents=True)
    (elsewhere / "bin" / "spark-submit.sh").symlink_to(project / "spark-submit.sh")

    result = submit(elsewhere / "bin", "jobs/nightly.py", cwd=elsewhere)

    assert result.args[-1] == str(project / "jobs" / "nightly.py")


def test_a_job_in_the_callers_directory_comes_first(project: Path, tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "nightly.py").write_text(JOB)

    assert submit(project, "jobs/nightly.py", cwd=tmp_path).args[-1] == "jobs/nightly.py"


def test_the_exit_code_is_the_jobs(project: Path) -> None:
    assert submit(project, "jobs/nightly.py", env={"EXIT": "3"}).code == 3


def test_without_arguments_one_usage_line(project: Path) -> None:
    result = submit(project)

    assert result.code == 2
    assert result.out == ""
    assert result.err.splitlines() == [
        "usage: ./spark-submit.sh jobs/JOB.py [job options] [--spark spark-submit options]"
    ]


def test_help_goes_to_stdout(project: Path) -> None:
    result = submit(project, "--help")

    assert (result.code, result.err) == (0, "")
    assert "SPARK_MASTER" in result.out


def test_a_missing_job_is_named(project: Path) -> None:
    result = submit(project, "jobs/nihgtly.py")

    assert result.code == 2
    assert len(result.err.splitlines()) == 1
    assert "no such job" in result.err
    assert "jobs/nihgtly.py" in result.err


def test_an_unknown_profile_is_named(project: Path) -> None:
    result = submit(project, "jobs/nightly.py", env={"SPARK_PROFILE": "huge"})

    assert result.code == 2
    assert "conf/spark/huge.conf" in result.err


@pytest.mark.parametrize("missing", [".venv", ".jars", ".venv/lib", ".jars/delta-storage-4.4.0.jar"])
def test_without_a_setup_it_says_so(project: Path, missing: str) -> None:
    (project / missing).rename(project / "gone")

    result = submit(project, "jobs/nightly.py")

    assert (result.code, result.err) == (2, "spark-submit.sh: run make setup first\n")


def test_a_setup_that_was_interrupted_does_not_count(project: Path) -> None:
    (project / ".venv" / ".incomplete").touch()

    result = submit(project, "jobs/nightly.py")

    assert (result.code, result.err) == (2, "spark-submit.sh: run make setup first\n")
