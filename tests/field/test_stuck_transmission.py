"""Messages that wait to be sent, and endpoints that the server keeps: what its views say of them."""

from pathlib import Path

import pytest

from tests.field.running import OpenCase, Row, parts_of, rewrite
from tests.field.servers import Servers

pytestmark = pytest.mark.slow

SAID = [
    "Connecting failed: '10060(no answer, within the time, from the other host)'.",
    'Dropped: no service of the name "Warehouse", said the transport.',
    "Reading from the peer failed: '10054(the other side closed the connection)'.",
    "The broker of the sending database is off.",
    "The service named in TO is not known here: check its spelling, and the routes.",
]


def closed(snap: Path) -> Row:
    """Endpoints alone, in other states; the last one was begun twenty minutes before."""
    for view in ("transmission_queue", "dbo.MillQueue", "dm_broker_queue_monitors"):
        (snap / f"{view}.csv").unlink()
    late = "2094-12-08 12:54:07.000"
    states = iter([("CD", ""), ("ER", ""), ("DI", ""), ("CD", ""), ("CO", ""), ("CD", late)])

    def change(row: dict[str, str]) -> None:
        state, lifetime = next(states)
        row.update({"state": state, "lifetime": lifetime or row["lifetime"]})

    rewrite(snap / "conversation_endpoints.csv", change)
    return {"complete": ["conversation_endpoints"]}


@pytest.fixture(scope="module")
def servers(open_case: OpenCase) -> Servers:
    return Servers(open_case("field-16-stuck-transmission"), {"STUCK": lambda snap: None, "CLOSED": closed})


def test_what_the_server_says_stands_first(servers: Servers, tmp_path: Path) -> None:
    case, night = servers.case, servers.night
    lines = night.out.splitlines()
    assert lines[0] == "5 messages of STUCK can't be sent."
    start = lines.index("Why messages still wait to be sent, as the server says")
    assert [line.split(" (oldest")[0] for line in lines[start + 1 : start + 7]] == [
        *(f"  1 message: {text}" for text in SAID),
        "  1 message: (no transmission_status: not tried yet, or no snapshot shows the message)",
    ]
    of_instance = ("next", "--instance", "STUCK", "--transmission")
    assert f"position 2, the server says: {SAID[4]}" in case.lines(*of_instance)
    in_order = [None, *(SAID[number] for number in (4, 1, 2, 0, 3))]
    assert [row["why_still_here"] for row in case.ask(*of_instance)["next"]] == in_order
    message = ("explain", "--message", "C0000000-0001-4000-8000-0000000002BD/initiator/0")
    assert f"Why it is still here, as the server says: {SAID[4]}" in case.lines(*message)
    [place] = case.ask(*message)["transmissions"]
    assert place["why_still_here"] == SAID[4]
    assert case.lines("waiting")[0] == "Why messages still wait to be sent, as the server says"
    case.lines("report", "--out", tmp_path / "page.html")
    [finding] = parts_of(tmp_path / "page.html")["findings"]
    assert finding["details"] == [{"messages": 1, "text": text} for text in SAID]


def test_levels_of_a_snapshot_are_not_checkable(servers: Servers) -> None:
    """The server's own levels always agree with themselves; today's rules may give others."""
    found = servers.case.ask("conformance")
    counts = {"endpoints": 12, "logged": 0, "differing": 0, "of_server": 12, "differing_today": 12}
    assert found["endpoints"] == counts
    assert found["sentence"] == (
        "The levels of 12 endpoints are not checkable: these levels are the server's own, shown by a "
        "snapshot; 12 endpoints differ from today's rules. The log has no RECEIVED events: whether "
        "receives kept to the levels is not known."
    )


def test_closed_endpoints_that_the_server_keeps(servers: Servers) -> None:
    """One snapshot does not tell since when."""
    case = servers.case
    found = case.ask("leaks")
    not_known = [(row["state"], row["endpoints"]) for row in found["not_known"]]
    assert (not_known, found["endpoints"]) == ([("CD", 3), ("DI", 1), ("ER", 1)], 0)
    said = {
        "BC": "CLOSED (CD): both sides have ended, and the server still keeps it.",
        "BD": "ERROR (ER): an error has come to it, and it can neither send nor receive more messages.",
        "BE": "DISCONNECTED_INBOUND (DI): the far side has ended, and this one has not.",
    }
    explain = ("explain", "--conversation")
    for ending, text in said.items():
        lines = case.lines(*explain, f"C0000000-0002-4000-8000-0000000002{ending}")
        assert f"The snapshot of 2026-11-20T10:00:00Z shows it {text}" in lines
    out = "\n".join(case.lines(*explain, "C0000000-0002-4000-8000-0000000002C0"))
    assert "The snapshot of" not in out
    assert "not known to have ended" in out
