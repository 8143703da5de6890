"""Capture each server before the night."""

from datetime import UTC, datetime

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, CronTriggerTimetable

with DAG(
    dag_id="conversation_captures",
    schedule=CronTriggerTimetable("30 2 * * *", timezone="UTC"),
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
) as dag:
    for server in ("SQL1", "SQL2"):
        BashOperator(
            task_id=f"capture_{server}",
            bash_command=f"/srv/priorities/venv/bin/priorities capture --server {server}",
            cwd="/srv/priorities",
            retries=2,
        )
