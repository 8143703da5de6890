"""What no input says is not known: no finding, no advice and no difference rests on it."""

from pathlib import Path

from pyspark.sql import SparkSession

from tests.field.running import Case


def test_whether_a_database_honors_priorities_is_not_known(session: SparkSession, tmp_path: Path) -> None:
    case = Case.copied("field-33-honor-unknown", tmp_path / "case")
    night, why, lint = case.published("latest"), case.job("why"), case.job("lint")
    said = "hether MILL1.PressDB honors priorities is not known; the order to send holds if it does"
    assert said in night.out
    assert said in why.out
    assert [text for text in (night.out, why.out, lint.out) if "ALTER DATABASE" in text] == []
    columns = ("message_id", "position", "honored", "priority", "transmit_priority")
    rows = [tuple(row.values()) for row in case.table("transmission_schedule", columns)]
    handle = "22222222-AAAA-4BBB-8CCC-00000000000"
    assert sorted(rows) == [
        (f"{handle}1/initiator/0", 2, None, 3, 3),
        (f"{handle}2/initiator/0", 3, None, 3, 3),
        (f"{handle}3/initiator/0", 1, None, 8, 8),
    ]


def test_nothing_follows_from_what_no_input_has(session: SparkSession, tmp_path: Path) -> None:
    case = Case.copied("field-33-honor-unknown", tmp_path / "case")
    case.publish("latest")
    answer = case.ask("differences")
    assert (answer["rules"], answer["levels"]) == ([], [])
    assert answer["rules_not_known"] == [{"instance": "MILL1", "database": "PressDB"}]
    assert case.ask("lint") == []
    why = case.job("why")
    assert [word for word in ("rule", "default", "end these") if word in why.out] == []
    assert "from //press/Desk to //press/Job" in why.out
    handle = "22222222-AAAA-4BBB-8CCC-000000000001"
    [endpoint] = case.ask("explain", "--conversation", handle)["endpoints"]
    assert (endpoint["side_known"], endpoint["rules_known"]) == (False, False)
    assert (endpoint["by_present_rules"], endpoint["steps"]) == (None, [])
    said = case.job("explain", "--conversation", handle).out
    assert "Initiator endpoint" not in said
    assert "not known whether it is the initiator's or the target's" in said
    assert "The rules of MILL1.PressDB are not known" in said


def test_the_listing_of_the_vendor_is_a_view_of_rules(session: SparkSession, tmp_path: Path) -> None:
    case = Case.copied("field-31-vendor-listing", tmp_path / "case")
    night = case.published("latest")
    assert "inner joins leave out rules with ANY" in night.err
    columns = ("name", "contract", "local_service", "remote_service", "level")
    rules = [tuple(row.values()) for row in case.table("priority_rules", columns)]
    assert sorted(rules) == [
        ("Rush", "//press/JobContract", "//press/Job", "//press/Desk", 8),
        ("Slow", "//press/JobContract", "//press/Job", None, 2),
    ]
    levels = {row["position"]: row["priority"] for row in case.table("receive_schedule")}
    assert levels == {1: 8, 2: 2}
    # Whether a rule with ANY for the contract stands behind these is not known.
    assert case.ask("differences")["rules_not_known"] == [{"instance": "MILL1", "database": "PressDB"}]


def test_a_listing_with_any_leaves_out_nothing(session: SparkSession, tmp_path: Path) -> None:
    case = Case.copied("field-31-vendor-listing", tmp_path / "case")
    with case.view("conversation_priorities").open("a") as file:
        file.write("Rest,NULL,NULL,NULL,4\n")
    night = case.published("latest")
    assert "inner joins" not in night.err
    assert case.ask("differences")["rules_not_known"] == []


def test_a_remote_service_that_is_not_known_rules_no_rule_out(session: SparkSession, tmp_path: Path) -> None:
    case = Case.copied("field-31-vendor-listing", tmp_path / "case", "settings2.yaml")
    case.publish("latest")
    assert case.ask("differences")["levels"] == []
    assert [finding for finding in case.ask("lint") if finding["code"] != "R307"] == []
    for number, level in ((1, 8), (2, 2)):
        handle = f"22222222-AAAA-4BBB-8CCC-00000000000{number}"
        [endpoint] = case.ask("explain", "--conversation", handle)["endpoints"]
        assert endpoint["given"] == {"level": level, "rule_name": None, "ladder_step": None}
        assert endpoint["by_present_rules"] is None
        [candidate] = endpoint["steps"][0]["candidates"]
        assert candidate["rule_name"] == "Rush"
        assert candidate["asks_for"] == {"remote_service": "//press/Desk"}
        said = case.job("explain", "--conversation", handle).out
        assert "fits if the remote service is //press/Desk; not known" in said
        assert "would decide" not in said


def test_what_two_captures_do_not_show_is_told_as_open(session: SparkSession, tmp_path: Path) -> None:
    case = Case.copied("field-46-normal-day", tmp_path / "case")
    case.publish("latest")
    message = "57CDC10C-2FD6-065E-9E27-0044A2D5BBA7/initiator/0"
    found = case.ask("explain", "--message", message)
    between = {"from": "2026-11-19T10:00:00Z", "to": "2026-11-20T10:00:00Z"}
    assert found["gone_between"] == {**between, "fate": "received_or_dropped"}
    assert "it is gone between 2026-11-19T10:00:00Z and 2026-11-20T10:00:00Z" in found["state"]
    assert "END_CONVERSATION" not in case.job("explain", "--message", message).out


def test_a_table_that_lost_its_files_is_no_empty_one(session: SparkSession, tmp_path: Path) -> None:
    case = Case.copied("field-46-normal-day", tmp_path / "case")
    case.publish("latest")
    for file in (case.folder / "warehouse" / "captures").rglob("*.parquet"):
        file.unlink()
    for job in ("why", "lint", "differences"):
        asked = case.job(job)
        assert asked.code == 1
        assert "/warehouse/captures: the table can't be read (" in asked.err
