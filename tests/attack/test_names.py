"""Names that want to be something else: SQL, paths, HTML, patterns, steering signs, and very long ones."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs import coverage, explain, lint_rules, next as next_messages, nightly, report, waiting
from tests.attack.scene import FIRST
from tests.factories import (
    at,
    by_source,
    catalog,
    create_rule,
    database,
    endpoint_event,
    message_event,
    queue_event,
)
from tests.harness import Project

pytestmark = pytest.mark.spark

HOSTILE = {
    "quotes": "a'b\"c`d]e[f",
    "newline": "a\nb\r\nc\td",
    "steering": "a\x1b[2Jb\x07c\u202ed",
    "emoji": "\U0001f468\u200d\U0001f469\u200d\U0001f467 \u00e9 e\u0301 \ufb01",
    "long": "x" * 110,
    "SQL": "'; DROP TABLE endpoints; --",
    "path": "../../etc/passwd",
    "URL": "a%2Fb%00c?d#e&f=g",
    "HTML": "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "pattern": "*?{a,b}[c]$1\\1",
    "blank": " ",
    "comma": "a,b;c|d=e",
    "null": "null",
    "nothing": "\\N",
    "hive": "__HIVE_DEFAULT_PARTITION__",
}


def texts_in(value: Any) -> set[str]:
    """Every text in a value of JSON."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return {text for each in value for text in texts_in(each)}
    return {value} if isinstance(value, str) else set()


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_a_name_is_a_name(
    session: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """In every column that holds names: it comes out as it went in, and steers nothing on the way."""
    services = [f"{name} initiator", f"{name} target"]
    places = catalog(
        {
            name: [
                database(f"{name} A", services[0], f"{name} queue A"),
                database(f"{name} B", services[1], f"{name} queue B"),
            ],
            "SQL1": [],
            "SQL2": [],
        }
    )
    places["instances"] = [each for each in places["instances"] if each["databases"]]
    rule = create_rule(
        f"{name} rule",
        9,
        instance=name,
        database=f"{name} A",
        contract=f"{name} contract",
        remote_service=services[1],
    )
    project = Project(tmp_path, catalog=places, rules=[rule])
    ids = {"instance": name, "conversation_id": f"{name} c"}
    group = {"conversation_group_id": f"{name} g", "contract": f"{name} contract"}
    begun = {**ids, **group, "local_service": services[0], "remote_service": services[1]}
    created = {**ids, **group, "local_service": services[1], "remote_service": services[0]}
    message = {**ids, "message_id": f"{name} m", "message_type": f"{name} type"}
    project.add(
        by_source(
            endpoint_event(**begun, database=f"{name} A", event_id=f"{name} 1"),
            endpoint_event(
                "DIALOG_CREATED", **created, database=f"{name} B", event_id=f"{name} 2", event_time=at(1)
            ),
            message_event(**message, database=f"{name} A", event_id=f"{name} 3"),
            message_event(
                "DELIVERED", **message, database=f"{name} B", event_id=f"{name} 4", event_time=at(2)
            ),
            message_event(
                **{**message, "message_id": f"{name} waits"}, database=f"{name} A", event_id=f"{name} 5"
            ),
            queue_event(
                "QUEUE_ALTERED",
                f"{name} 6",
                instance=name,
                database=f"{name} B",
                queue=f"{name} queue B",
                queue_status="ON",
            ),
        )
    )
    config = ["--config", project.config]
    assert nightly.main([*config, "--as-of", FIRST.isoformat()]) == 0
    (waits,) = project.table("receive_schedule", ["queue", "message_id", "message_type", "priority"])
    assert waits == {
        "queue": f"{name} queue B",
        "message_id": f"{name} m",
        "message_type": f"{name} type",
        "priority": 5,
    }
    ours = [row for row in project.table("endpoints") if row["is_initiator"]]
    assert [(row["instance"], row["rule_name"], row["priority"]) for row in ours] == [
        (name, f"{name} rule", 9)
    ]
    out = tmp_path / "page.html"
    assert report.main([*config, "--out", str(out)]) == 0
    assert lint_rules.main(config) in (0, 4)
    for job, options in (
        (coverage, []),
        (waiting, []),
        (next_messages, ["--queue", f"{name} queue B"]),
        (explain, ["--conversation", f"{name} c"]),
    ):
        assert job.main([*config, *options]) == 0
        shown = capsys.readouterr()
        assert not set(shown.out + shown.err) & set("\x1b\x07\u202e\r\x00"), job.__name__
    assert next_messages.main([*config, "--queue", f"{name} queue B", "--format", "json"]) == 0
    assert f"{name} m" in texts_in(json.loads(capsys.readouterr().out))
    page = out.read_text()
    assert "<script>alert(1)</script>" not in page
    assert "<img src=x" not in page
    inside = {path.name for path in tmp_path.iterdir()}
    assert inside <= {
        "warehouse",
        "page.html",
        "settings.yaml",
        "catalog.yaml",
        "rules.yaml",
        "endpoint_events",
        "message_events",
        "queue_events",
    }
