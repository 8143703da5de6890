"""The nightly run as an Airflow DAG: a task per step, each a job of this project on spark-submit.sh.

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

CONFIG_ONLY = ["--config", "{{ params.config }}"]
CONFIG_AND_AS_OF = [*CONFIG_ONLY, "--as-of", "{{ ti.xcom_pull(task_ids='as_of') }}"]
STEPS = {
    "rules": CONFIG_ONLY,
    "ingest": CONFIG_ONLY,
    "ledger": CONFIG_ONLY,
    "schedules": CONFIG_AND_AS_OF,
    "activation": CONFIG_AND_AS_OF,
    "coverage": CONFIG_AND_AS_OF,
    "publish": CONFIG_AND_AS_OF,
}
"""The steps in their order: the job jobs/<name>.py and its options. The same order as in jobs/nightly.py."""

FOR_GOOD = {
    2: "the command line, settings, catalog or rules are wrong",
    3: "an input breaks its contract, or too many rows were rejected (docs/data-quality.md)",
}
"""Exit codes that a second try would only repeat: somebody has to mend something first."""
FOR_NOW = {
    1: "it failed (docs/operations.md)",
    130: "it was interrupted",
    137: "it was killed, perhaps for want of memory",
    143: "it was asked to end",
}
"""What the other exit codes mean. These are tried again, as are all that are not listed."""


def decide_as_of(given: str | None, moment: datetime) -> str:
    """The instant that a run describes: the one given, else the last midnight (UTC) before its moment.

    Every job of a run gets the answer of one task, so a retry after midnight describes the same instant.

    Args:
        given: the parameter `as_of`, for backfills.
        moment: the logical date; of a run that has none, the moment from which it may run.
    """
    if given:
        return given
    midnight = moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight.isoformat()


class PipelineJob(BaseOperator):
    """One job of the pipeline on spark-submit.sh; its exit code decides whether it is tried again."""

    template_fields = ("options",)

    def __init__(self, *, job: str, options: list[str], **kwargs: Any) -> None:
        """Name the job, such as jobs/ingest.py, and its options; the latter are templates."""
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
        command = [str(PROJECT / "spark-submit.sh"), self.job, *self.options]
        code = self._process.run_command(command, cwd=str(PROJECT)).exit_code
        if code in FOR_GOOD:
            raise AirflowFailException(f"{self.job}: exit code {code}, {FOR_GOOD[code]}; not tried again")
        if code != 0:
            meaning = FOR_NOW.get(code, "unknown")
            raise AirflowException(
                f"{self.job}: exit code {code}, {meaning}; tried again while tries are left"
            )

    def on_kill(self) -> None:
        """Ask the job to end; it cancels what Spark is doing."""
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
    },
    tags=["service-broker"],
) as dag:

    @task(task_id="as_of")
    def as_of(**context: Any) -> str:
        """Decide the as_of of all steps."""
        run = context["dag_run"]
        return decide_as_of(context["params"]["as_of"], run.logical_date or run.run_after)

    steps = [
        PipelineJob(task_id=name, job=f"jobs/{name}.py", options=options) for name, options in STEPS.items()
    ]
    chain(as_of(), *steps)
