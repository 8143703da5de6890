"""What no input says is not known: no finding, no advice and no difference rests on it."""

import pytest
from pyspark.sql import SparkSession

from tests.field.running import Case, Outcome, Row
from tests.field.servers import Fleet

pytestmark = pytest.mark.slow


def handle(server: int, number: int) -> str:
    return f"{server:02}222222-AAAA-4BBB-8CCC-00000000000{number}"


UNKNOWN, LISTED, WHOLE, FAR = range(4)


@pytest.fixture(scope="module")
def nights(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Case, Outcome]:
    """UNKNOWN shows a transmission queue alone; the others a queue and a listing of rules."""
    fleet = Fleet(tmp_path_factory.mktemp("not-known"))
    fleet.add("UNKNOWN", "field-33-honor-unknown")
    fleet.add("LISTED", "field-31-vendor-listing")
    whole = fleet.add("WHOLE", "field-31-vendor-listing")
    with (whole / "conversation_priorities.csv").open("a") as file:
        file.write("Rest,NULL,NULL,NULL,4\n")
    fleet.add("FAR", "field-31-vendor-listing", "settings2.yaml")
    return fleet, fleet.published("latest")


@pytest.fixture(scope="module")
def case(nights: tuple[Case, Outcome]) -> Case:
    return nights[0]


@pytest.fixture(scope="module")
def differences(case: Case) -> Row:
    found: Row = case.ask("differences")
    return found


def of(rows: list[Row], server: str) -> list[Row]:
    return [row for row in rows if row["instance"] == server]


def test_whether_a_database_honors_priorities_is_not_known(nights: tuple[Case, Outcome]) -> None:
    case, night = nights
    why = case.job("why", "--instance", "UNKNOWN").out
    said = "hether UNKNOWN.PressDB honors priorities is not known; the order to send holds if it does"
    assert said in night.out
    assert said in why
    assert [text for text in (night.out, why, case.job("lint").out) if "ALTER DATABASE" in text] == []
    columns = ("message_id", "position", "honored", "priority", "transmit_priority")
    rows = [tuple(row.values()) for row in case.table("transmission_schedule", columns)]
    assert sorted(rows) == [
        (f"{handle(UNKNOWN, 1)}/initiator/0", 2, None, 3, 3),
        (f"{handle(UNKNOWN, 2)}/initiator/0", 3, None, 3, 3),
        (f"{handle(UNKNOWN, 3)}/initiator/0", 1, None, 8, 8),
    ]
    assert [word for word in ("no rule", "rule '", "default", "end these") if word in why] == []
    assert "from //press/Desk to //press/Job" in why


def test_neither_side_nor_rules_of_an_endpoint_are_known(case: Case) -> None:
    [endpoint] = case.ask("explain", "--conversation", handle(UNKNOWN, 1))["endpoints"]
    assert (endpoint["side_known"], endpoint["rules_known"]) == (False, False)
    assert (endpoint["by_present_rules"], endpoint["steps"]) == (None, [])
    said = case.job("explain", "--conversation", handle(UNKNOWN, 1)).out
    assert "Initiator endpoint" not in said
    assert "not known whether it is the initiator's or the target's" in said
    assert "The rules of UNKNOWN.PressDB are not known" in said


def test_the_listing_of_the_vendor_is_a_view_of_rules(nights: tuple[Case, Outcome]) -> None:
    case, night = nights
    assert "LISTED/conversation_priorities.csv" in night.err
    assert "inner joins leave out rules with ANY" in night.err
    columns = ("name", "contract", "local_service", "remote_service", "level")
    rules = of(case.table("priority_rules"), "LISTED")
    assert sorted(tuple(row[name] for name in columns) for row in rules) == [
        ("Rush", "//press/JobContract", "//press/Job", "//press/Desk", 8),
        ("Slow", "//press/JobContract", "//press/Job", None, 2),
    ]
    waiting = of(case.table("receive_schedule"), "LISTED")
    assert {row["position"]: row["priority"] for row in waiting} == {1: 8, 2: 2}


def test_what_the_listing_may_leave_out_is_not_known(nights: tuple[Case, Outcome], differences: Row) -> None:
    """Whether a rule with ANY for the contract stands behind the others; a listing that has one is whole."""
    names = {row["instance"] for row in differences["rules_not_known"]}
    assert ({"UNKNOWN", "LISTED"} <= names, "WHOLE" in names) == (True, False)
    assert "WHOLE/" not in nights[1].err
    assert of(differences["rules"], "UNKNOWN") == of(differences["levels"], "UNKNOWN") == []


def test_a_remote_service_that_is_not_known_rules_no_rule_out(case: Case, differences: Row) -> None:
    assert of(differences["levels"], "FAR") == []
    findings = case.job("lint", "--format", "json").json
    assert of(findings, "UNKNOWN") == []
    assert [each for each in of(findings, "FAR") if each["code"] != "R307"] == []
    for number, level in ((1, 8), (2, 2)):
        [endpoint] = case.ask("explain", "--conversation", handle(FAR, number))["endpoints"]
        assert endpoint["given"] == {"level": level, "rule_name": None, "ladder_step": None}
        assert endpoint["by_present_rules"] is None
        [candidate] = endpoint["steps"][0]["candidates"]
        assert candidate["rule_name"] == "Rush"
        assert candidate["asks_for"] == {"remote_service": "//press/Desk"}
    said = case.job("explain", "--conversation", handle(FAR, 1)).out
    assert "fits if the remote service is //press/Desk; not known" in said
    assert "would decide" not in said
