"""Ids that are GUIDs are one id whatever their spelling."""

import pytest

from tests.field.running import OpenCase

pytestmark = pytest.mark.slow


def test_ids_are_taken_in_any_spelling_and_a_queue_in_any_form(open_case: OpenCase) -> None:
    """Messages with ids in lower case are of their conversations."""
    case = open_case("field-19-guid-spelling")
    case.publish("2026-11-20T10:00:08Z")
    assert case.table("unresolved") == []
    columns = ("position", "message_id", "conversation_id", "conversation_handle", "conversation_group_id")
    rows = case.table("receive_schedule", columns)
    assert sorted(tuple(row.values()) for row in rows) == [
        (number - 2, name, *(f"{kind}000000-0000-4000-8000-{number:012}" for kind in ("CC", "BB", "E2")))
        for number, name in ((3, "m-Report"), (4, "m-Grant"))
    ]
    conversation = "CC000000-0000-4000-8000-000000000003"
    for name in (f"{{{conversation.lower()}}}", "bb000000-0000-4000-8000-000000000003"):
        assert case.ask("explain", "--conversation", name)["conversation_id"] == conversation
    found = case.ask("next", "--queue", "[MILL1].[EtlDB].[dbo].[EtlQueue]")
    assert [row["message_id"] for row in found["next"]] == ["m-Report", "m-Grant"]
    unknown = case.job("next", "--queue", "EtlDB.EtlQeue")
    assert (unknown.code, unknown.out) == (2, "")
    assert unknown.err.endswith("there is no such queue; did you mean MILL1.EtlDB.EtlQueue?\n")
