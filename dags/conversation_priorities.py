"""The nightly run as an Airflow DAG: tasks take in what is new, publish the as_of, and look at expectations.

The file imports nothing of the pipeline, and Airflow lives in an environment of its own. Where tasks run,
this checkout has to be there with the environment of `make setup`.
"""

import os
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from airflow.providers.standard.hooks.subprocess import SubprocessHook
from airflow.sdk import DAG, BaseOperator, Context, CronTriggerTimetable, Param, chain, task
from airflow.sdk.exceptions import AirflowException, AirflowFailException

PROJECT = Path(__file__).resolve().parents[1]
CONFIG = os.environ.get("CONVERSATION_PRIORITIES_CONFIG", "conf/local.yaml")
"""The settings file, absolute or relative to the project; the parameter `config` replaces it for one run."""

MIDNIGHT, LATEST = "midnight", "latest"
AS_OF = os.environ.get("CONVERSATION_PRIORITIES_AS_OF", MIDNIGHT)
"""The as_of of a run for which none is given: midnight, or latest, which is `--as-of latest` of the jobs; the
parameter `default_as_of` replaces it for one run."""
if AS_OF not in (MIDNIGHT, LATEST):
    raise ValueError(f"CONVERSATION_PRIORITIES_AS_OF: {AS_OF!r} is unknown; write {MIDNIGHT} or {LATEST}")

ENGINE = os.environ.get("CONVERSATION_PRIORITIES_ENGINE", "spark")
"""spark: Apache Spark, wherever SPARK_MASTER says. embedded: in the process of the job, without Java."""

ONE_AS_OF = ["--config", "{{ params.config }}", "--as-of", "{{ ti.xcom_pull(task_ids='as_of') }}"]
STEPS = {
    "fold": ONE_AS_OF,
    "schedules": ONE_AS_OF,
    "expect": ONE_AS_OF,
}
"""The jobs in their order, with their options; together they do what jobs/nightly.py does. The last one fails
for good if an expectation is not met: the as_of is published by then."""

COMMANDS = {
    "spark": ["./spark-submit.sh", "jobs/{}.py"],
    "embedded": [".venv/bin/python", "-m", "jobs.{}"],
}
"""What runs a job, by engine; paths start at the project."""

FOR_GOOD = {
    2: "the command line, settings, catalog or rules are wrong",
    3: "an input breaks its contract, or too many rows were rejected (docs/operations.md)",
    6: "it is published, but a condition of the settings is not met (docs/expectations.md)",
}
"""Exit codes that a second try would only repeat: somebody has to mend something first."""
FOR_NOW = {
    1: "it failed (docs/operations.md)",
    5: "another job is writing the warehouse",
    130: "it was interrupted",
    137: "it was killed, perhaps for want of memory",
    143: "it was asked to end",
}
"""What the other exit codes mean. These are tried again, as are all that are not listed."""


def decide_as_of(given: str | None, default: str, moment: datetime) -> str:
    """The as_of of a run: the instant given, else `latest`, or the last midnight (UTC) before its moment.

    It is decided in a task of its own, so a retry after midnight describes the same instant. What `latest`
    is, the job finds out: a retry finds the same, as nothing is taken in meanwhile.

    Args:
        given: the parameter `as_of`, for backfills.
        default: the parameter `default_as_of`.
        moment: the logical date; of a run that has none, the moment from which it may run.
    """
    if given:
        return given
    if default == LATEST:
        return LATEST
    midnight = moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight.isoformat()


class PipelineJob(BaseOperator):
    """One job of the pipeline; its exit code decides whether it is tried again."""

    template_fields = ("options",)

    def __init__(self, *, job: str, options: list[str], **kwargs: Any) -> None:
        """Name the job, such as fold, and its options; the latter are templates."""
        super().__init__(**kwargs)
        self.job = job
        self.options = options

    @cached_property
    def _process(self) -> SubprocessHook:
        return SubprocessHook()

    def execute(self, context: Context) -> None:
        """Run the job; its output is the task's log.

        Raises:
            AirflowFailException: the exit code is one of FOR_GOOD; the task is not tried again.
            AirflowException: any other failure.
        """
        if ENGINE not in COMMANDS:
            raise AirflowFailException(
                f"CONVERSATION_PRIORITIES_ENGINE: {ENGINE!r} is no engine; write {' or '.join(COMMANDS)}"
            )
        program, *parts = COMMANDS[ENGINE]
        command = [str(PROJECT / program), *[part.format(self.job) for part in parts], *self.options]
        code = self._process.run_command(command, cwd=str(PROJECT)).exit_code
        # Python tells of a signal by a negative number, a shell by one above 128.
        code = 128 - code if code < 0 else code
        if code in FOR_GOOD:
            raise AirflowFailException(f"{self.job}: exit code {code}, {FOR_GOOD[code]}; not tried again")
        if code != 0:
            meaning = FOR_NOW.get(code, "unknown")
            raise AirflowException(
                f"{self.job}: exit code {code}, {meaning}; tried again while tries are left"
            )

    def on_kill(self) -> None:
        """Ask the job to end."""
        self._process.send_sigterm()


with DAG(
    dag_id="conversation_priorities",
    description="Priorities, receive order and transmission order of conversations, every night",
    doc_md=__doc__,
    # At three, what happened before midnight should have come in.
    schedule=CronTriggerTimetable("0 3 * * *", timezone="UTC"),
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,  # one writer at a time: docs/operations.md
    default_args={"retries": 2, "retry_delay": timedelta(minutes=5), "retry_exponential_backoff": True},
    params={
        "config": Param(CONFIG, type="string", description="the settings file"),
        "as_of": Param(
            None,
            type=["null", "string"],
            format="date-time",
            description="for a backfill: the instant to describe, such as 2026-11-21T00:00:00Z",
        ),
        "default_as_of": Param(
            AS_OF,
            type="string",
            enum=[MIDNIGHT, LATEST],
            description="without as_of: the last midnight (UTC), or the newest snapshot or event",
        ),
    },
    tags=["service-broker"],
) as dag:

    @task(task_id="as_of")
    def as_of(**context: Any) -> str:
        """Decide the as_of of the run, whichever of its tasks is tried again."""
        run = context["dag_run"]
        params = context["params"]
        return decide_as_of(params["as_of"], params["default_as_of"], run.logical_date or run.run_after)

    chain(as_of(), *[PipelineJob(task_id=name, job=name, options=options) for name, options in STEPS.items()])
