"""Ids that are GUIDs are one id whatever their spelling."""

import pytest

from tests.field.conftest import OpenCase

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_messages_with_lower_case_ids_are_of_their_conversations(open_case: OpenCase) -> None:
    case = open_case("field-19-guid-spelling")
    night = case.nightly("2026-11-20T10:00:08Z")
    assert night.code == 0
    assert "can't be placed" not in night.out
    columns = ("position", "message_id", "conversation_id", "conversation_handle", "conversation_group_id")
    rows = case.table("receive_schedule", columns)
    assert [tuple(row.values()) for row in rows] == [
        (number - 2, name, *(f"{kind}000000-0000-4000-8000-{number:012}" for kind in ("CC", "BB", "E2")))
        for number, name in ((3, "m-Report"), (4, "m-Grant"))
    ]
    assert case.table("unresolved") == []
