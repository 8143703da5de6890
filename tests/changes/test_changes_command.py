"""`priorities changes` and the summary of a second night, on the captures of an insurer."""

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.commands.open import warehouse_of
from pipelines.config.instants import parse_instant
from pipelines.settings.load import KNOWN_ONLY, load_settings
from schemas.outputs import FINDINGS
from tests.field.running import Case, Outcome
from tests.support.processes import ROOT

pytestmark = pytest.mark.slow
MONDAY, TUESDAY = "2026-11-23T07:30:00Z", "2026-11-24T07:30:00Z"
SETTINGS = "warehouse: warehouse\nsnapshots:\n  - path: captures\n"
QUEUE = {"kind": "receive", "instance": "SQL1", "database": "Claims", "queue": "ClaimIntakeQueue"}
LINES = [
    f"since the as_of of {MONDAY}: conversations: 50 began and 50 ended in SQL1.Claims, with 66 "
    "messages that no fact shows as received; 20 began and 20 ended in SQL1.Portal",
    "1 place changed: 88 messages then, 168 now; at least 168 arrived and at least 22 were received",
    "findings that are new: rule newer than endpoint (Queue SQL1.Claims.ClaimIntakeQueue)",
    "rules: 'GoldClaims' of SQL1.Claims was created",
]


@pytest.fixture(scope="module")
def nights(embedded: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Case, Outcome, Outcome]:
    folder = tmp_path_factory.mktemp("nights")
    shutil.copytree(ROOT / "pipelines" / "capture" / "sample", folder / "captures")
    (folder / "settings.yaml").write_text(SETTINGS)
    case = Case(folder)
    first = case.job("nightly", "--as-of", MONDAY, "--format", "json")
    assert first.code == 0, first.err
    return case, first, case.published(TUESDAY)


@pytest.fixture(scope="module")
def case(nights: tuple[Case, Outcome, Outcome]) -> Case:
    return nights[0]


def test_the_answer(case: Case) -> None:
    found = case.ask("changes")
    assert list(found) == ["as_of", "since", "rules", "catalog", "conversations", "places", "findings"]
    assert (found["as_of"], found["since"], found["catalog"]) == (TUESDAY, MONDAY, [])
    [rule] = found["rules"]
    criteria = ("SubmitClaim", "//acme/claims/Intake", "//acme/portal/Gold", 9)
    assert (rule["change"], rule["name"], rule["at"]) == ("created", "GoldClaims", TUESDAY)
    assert (rule["old"], tuple(rule["new"].values())) == (None, criteria)
    assert found["conversations"] == [
        {"instance": "SQL1", "database": "Claims", "begun": 50, "gone": 50, "unread_gone": 66},
        {"instance": "SQL1", "database": "Portal", "begun": 20, "gone": 20, "unread_gone": 0},
    ]
    assert found["places"] == [
        QUEUE
        | {"messages_then": 88, "messages_now": 168}
        | {"oldest_seconds_then": 3000, "oldest_seconds_now": 4740}
        | {"arrived_at_least": 168, "arrived_at_most": 4773, "received_at_least": 22}
    ]
    [new] = found["findings"]["new"]
    assert new == QUEUE | {
        "code": "rule_newer_than_endpoint",
        "severity": "misconfigured",
        "messages": 64,
        "conversations": 40,
    }
    assert found["findings"]["gone"] == []


def test_the_night_begins_with_the_lines_of_the_command(
    nights: tuple[Case, Outcome, Outcome],
) -> None:
    case, first, second = nights
    assert first.json["changes"] is None
    assert case.lines("changes")[: len(LINES)] == LINES
    # The ages of databases that the newest captures lack come before them, behind the verdict.
    lines = second.out.splitlines()
    begin = lines.index(LINES[0])
    assert all(" is " in line for line in lines[1:begin])
    assert lines[begin : begin + len(LINES)] == LINES
    assert case.lines("changes", "--since", "2026-11-24T00:00:00Z")[0] == LINES[0]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--as-of", MONDAY], "no as_of was published before it"),
        (["--since", "2026-11-01T00:00:00Z"], "no as_of was published up to then"),
        (["--since", "yesterday"], "--since"),
    ],
)
def test_without_an_earlier_as_of_it_is_2(case: Case, options: list[str], says: str) -> None:
    done = case.job("changes", *options)
    assert done.code == 2
    assert says in done.err


def test_rows_that_were_removed_and_the_next_ones(case: Case, tmp_path: Path) -> None:
    """Housekeeping keeps what is a day old: of three as_ofs the first goes."""
    copy = Case(Path(shutil.copytree(case.folder, tmp_path / "copy")))
    later = "2026-11-25T00:00:00Z"
    copy.publish(later)
    assert copy.job("maintain", "--keep-days", "1", "--keep-hours", "0").code == 0
    removed = copy.job("changes", "--since", MONDAY)
    assert removed.code == 2
    assert (
        f"the rows of {MONDAY} were removed (maintain); name --since {TUESDAY}, the next one" in removed.err
    )
    unchanged = copy.ask("changes")
    assert (unchanged["since"], unchanged["as_of"]) == (TUESDAY, later)
    assert [unchanged[name] for name in ("rules", "catalog", "conversations", "places")] == [[], [], [], []]
    assert copy.lines("changes")[0] == f"since the as_of of {TUESDAY}: nothing has changed"


def test_a_finding_that_is_worse_than_before_is_new(case: Case, tmp_path: Path) -> None:
    copy = Case(Path(shutil.copytree(case.folder, tmp_path / "copy")))
    warehouse = warehouse_of(load_settings(copy.config, KNOWN_ONLY), "tests")
    row = {**QUEUE, "code": "not_received", "messages": 88, "conversations": 50}
    for moment, severity in ((MONDAY, "order"), (TUESDAY, "stopped")):
        warehouse.replace_rows_of(FINDINGS, [{**row, "severity": severity}], parse_instant(moment))
    found = copy.ask("changes")["findings"]
    assert [[each["severity"] for each in found[part]] for part in ("new", "gone")] == [
        ["stopped"],
        ["order"],
    ]
    assert LINES[2].replace("rule newer than endpoint", "not received") in copy.lines("changes")
