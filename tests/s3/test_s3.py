"""The nightly job with its inputs and its warehouse on S3: a server on loopback, the documented packages."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
import yaml
from moto.server import ThreadedMotoServer

from pipelines.storage.lock import LOCK
from tests.support.factories import at
from tests.support.harness import SOURCES, Project
from tests.support.processes import finish
from tests.support.small_project import a_bit_of_everything, project_in
from tests.support.warehouses import changed, contents

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 900.0
"""The first run fetches 690 MB."""
AS_OF = at(60)
BUCKET = "conversations"
ACCESS = {
    "AWS_ACCESS_KEY_ID": "anybody",
    "AWS_SECRET_ACCESS_KEY": "anything",
    "AWS_REGION": "us-east-1",
    "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1",
}


@pytest.fixture
def endpoint() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    yield "http://{}:{}".format(*server.get_host_and_port())
    server.stop()


def documented() -> str:
    """The command of the section, up to the options of an S3 that is not Amazon's."""
    section = (ROOT / "docs" / "running.md").read_text("utf-8").split("## S3")[1].split("\n## ")[0]
    return re.findall(r"```\n(.*?)```", section, re.DOTALL)[0].strip()


def upload(bucket: Any, project: Project) -> None:
    for source in SOURCES:
        for path in (project.folder / source).iterdir():
            bucket.upload_file(str(path), f"in/{source}/{path.name}")


def download(bucket: Any, project: Project) -> None:
    """The warehouse as a folder: a Delta table is the same wherever it lies."""
    for item in bucket.objects.filter(Prefix="warehouse/"):
        if not item.key.endswith("/"):
            target = project.folder / item.key
            target.parent.mkdir(parents=True, exist_ok=True)
            bucket.download_file(item.key, str(target))


def test_the_tables_are_those_of_a_folder_and_a_rerun_changes_nothing(endpoint: str, tmp_path: Path) -> None:
    in_a_folder, on_s3 = project_in(tmp_path / "in a folder"), project_in(tmp_path / "on s3")
    for project in (in_a_folder, on_s3):
        project.add(a_bit_of_everything())
    finish("embedded", in_a_folder, AS_OF)

    keys = {"aws_access_key_id": "anybody", "aws_secret_access_key": "anything"}
    store = boto3.resource("s3", endpoint_url=endpoint, region_name="us-east-1", **keys)
    bucket = store.create_bucket(Bucket=BUCKET)
    upload(bucket, on_s3)
    settings = yaml.safe_load(Path(on_s3.config).read_text())
    settings["warehouse"] = f"s3a://{BUCKET}/warehouse"
    for source, given in settings["inputs"].items():
        given["path"] = f"s3a://{BUCKET}/in/{source}"
    Path(on_s3.config).write_text(yaml.safe_dump(settings, allow_unicode=True))

    command = documented().replace("my/settings.yaml", f"'{on_s3.config}' --quiet")
    command = command.replace("2026-11-21T00:00:00Z", AS_OF.isoformat())
    command += (
        f" --conf spark.hadoop.fs.s3a.endpoint={endpoint} --conf spark.hadoop.fs.s3a.path.style.access=true"
    )
    left_by_a_killed_job = f"warehouse/{LOCK}"
    for _ in range(2):
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=ROOT,
            env=os.environ | ACCESS | {"AWS_ENDPOINT_URL": endpoint},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        download(bucket, on_s3)
        assert changed(contents(in_a_folder, leave_out={"path"}), contents(on_s3, leave_out={"path"})) == {}
        assert not any(item.key == left_by_a_killed_job for item in bucket.objects.all())
        bucket.put_object(Key=left_by_a_killed_job, Body=b"nightly, process 4711 on db1\n0815\n")
    assert "its job (nightly, process 4711 on db1) is gone; taking it over" in done.stdout + done.stderr
    assert "nothing new" in done.stdout
    assert [row["status"] for row in on_s3.table("runs")] == ["succeeded", "succeeded"]
