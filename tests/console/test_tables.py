"""Tables on narrow terminals: nothing is lost, no word is broken inside, ids that are unique are short."""

import re
from collections.abc import Callable, Sequence

import pytest

from pipelines.blocks.tables import Kind, Row, Table, column
from pipelines.console.tables import print_answer
from pipelines.console.terminal import Terminal, open_console
from pipelines.console.wording import shorten_ids
from tests.support.factories import NOON

FIRST = "6C7CC50F-D016-50A7-5A70-E9CF31A7C6BE"
SECOND = "6C7CC50F-0000-50A7-5A70-E9CF31A7C6BE"
OTHER = "B75890D2-4768-2E27-ADB2-F5CF1719E6DB"
THIRD, FOURTH = f"{FIRST}/target/3", f"{FIRST}/target/4"
Open = Callable[..., Terminal]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Open:
    """Opens a terminal without colours of so many columns."""

    def opened(columns: int, *, wide: bool = False) -> Terminal:
        for name, value in {"FORCE_COLOR": "1", "TERM": "xterm", "NO_COLOR": "1"}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("COLUMNS", str(columns))
        return open_console(wide=wide)

    return opened


def declare(title: str, *names: str, is_tree: bool = False) -> Table:
    """A table of these columns: ids, moments, counts by their names, all others are names."""
    kinds: dict[str, Kind] = {"message_id": "id", "conversation_id": "id", "position": "count", "f": "moment"}
    return Table("t", title, [column(name, kinds.get(name, "name"), name) for name in names], is_tree=is_tree)


def show(console: Terminal, rows: Sequence[Row], title: str = "Next") -> None:
    print_answer(console, declare(title, *rows[0]), rows)


def plain(printed: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", printed)


def words(printed: str) -> set[str]:
    return set(re.split(r"[\s│┃━─┏┓┡┩└┘┳╇┴┬(),]+", plain(printed)))


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([FIRST, FIRST, OTHER], {FIRST: "6C7CC50F", OTHER: "B75890D2"}),
        ([FIRST, SECOND, OTHER], {OTHER: "B75890D2"}),
        (["c1", "12345678"], {}),
        (["12345678", "123456789"], {}),
        ([THIRD], {THIRD: "6C7CC50F"}),
        ([THIRD, FOURTH], {THIRD: "6C7CC50F/target/3", FOURTH: "6C7CC50F/target/4"}),
        ([THIRD, f"{SECOND}/target/3"], {}),
        ([THIRD, FOURTH, "6C7CC50F/target/3"], {FOURTH: "6C7CC50F/target/4"}),
    ],
)
def test_ids_shorten_where_they_stay_unique(ids: list[str], expected: dict[str, str]) -> None:
    assert shorten_ids(ids) == expected


MESSAGES = [
    {"queue": "ClaimIntakeQueue", "position": number, "message_id": id, "conversation_id": FIRST}
    for number, id in enumerate([OTHER, f"{FIRST}/target/0"], start=1)
]


def test_a_table_that_has_room_is_as_it_is(terminal: Open, capsys: pytest.CaptureFixture[str]) -> None:
    show(terminal(140), MESSAGES)
    printed = plain(capsys.readouterr().out)
    assert printed.startswith("Next\n")
    assert {FIRST, OTHER, "ClaimIntakeQueue"} <= words(printed)
    assert "--wide" not in printed


def table_rows(printed: str) -> list[list[str]]:
    lines = [line for line in plain(printed).splitlines() if line.startswith("│")]
    return [[each.strip() for each in line.strip("│").split("│")] for line in lines]


def test_what_all_rows_share_moves_into_the_title(terminal: Open, capsys: pytest.CaptureFixture[str]) -> None:
    shared = {"instance": "ERP1", "contract": "x" * 40}
    rows = [{**shared, "position": 1, "why": "late"}, {**shared, "position": 2, "why": None}]
    show(terminal(60), rows)
    printed = capsys.readouterr().out
    assert plain(printed).splitlines()[:2] == ["Next (instance ERP1, contract", f"{'x' * 40})"]
    assert table_rows(printed) == [["1", "late"], ["2", ""]]
    # A cell that a row does not have is no value.
    what = {"group": (None, "x" * 60), "conversation": ("SubmitClaim", "y"), "message": (None, "z")}
    tree = declare("Next", "contract", "what", "id", is_tree=True)
    cells = [{"contract": contract, "what": each, "id": id} for each, (contract, id) in what.items()]
    print_answer(terminal(80), tree, cells)
    printed = capsys.readouterr().out
    assert plain(printed).splitlines()[0] == "Next (contract SubmitClaim)"
    assert [row[0] for row in table_rows(printed)] == ["group", "conversation", "message"]
    # One row keeps its columns.
    show(terminal(30), MESSAGES[:1])
    printed = plain(capsys.readouterr().out)
    assert printed.splitlines()[0] == "Next"
    assert {"ClaimIntakeQueue", "B75890D2", "6C7CC50F"} <= words(printed)


def test_a_terminal_shows_short_ids_and_says_so_once(
    terminal: Open, capsys: pytest.CaptureFixture[str]
) -> None:
    console = terminal(40)
    for _ in range(2):
        print_answer(console, declare("Next", "position", "message_id"), MESSAGES)
    printed = capsys.readouterr().out
    assert table_rows(printed) == [["1", "B75890D2"], ["2", "6C7CC50F"]] * 2
    assert plain(printed).count("--wide") == 1


def test_wide_and_a_file_have_whole_ids(
    terminal: Open, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    show(terminal(40, wide=True), MESSAGES)
    whole = [["ClaimIntakeQueue", str(row["position"]), row["message_id"], FIRST] for row in MESSAGES]
    assert table_rows(capsys.readouterr().out) == whole
    monkeypatch.delenv("FORCE_COLOR")
    rows = [{**row, "why": "x" * 60} for row in MESSAGES]
    show(open_console(), rows)
    assert {row["message_id"] for row in MESSAGES} <= words(capsys.readouterr().out)


def test_times_and_numbers_stay_whole(terminal: Open, capsys: pytest.CaptureFixture[str]) -> None:
    why = "valid from 2026-01-01T00:00:00Z, which is 3,426.64 s later: see //acme/portal/Gold"
    for columns in range(40, 60, 3):
        show(terminal(columns), [{"why": why, "count": "1"}], "")
        printed = table_rows(capsys.readouterr().out)
        assert " ".join(line for line, _ in printed) == why


def test_no_word_is_broken_inside(terminal: Open, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["//acme/portal/Gold", "SubmitClaim and ReviewClaim", "ClaimIntakeQueue", FIRST, SECOND]
    rows = [dict(zip("abcdef", [*texts[at:], *texts[:at], NOON], strict=True)) for at in (0, 1)]
    for columns in (100, 60, 40, 30, 20):
        show(terminal(columns), rows, "Title")
        printed = plain(capsys.readouterr().out)
        whole = {"acme/", "portal/", "Gold", "SubmitClaim", "and", "ReviewClaim", "ClaimIntakeQueue"}
        assert whole <= set(re.split(r"[\s│]+|(?<=/)", printed))
        assert "50A7" in printed


def test_every_line_of_a_table_fits(terminal: Open, capsys: pytest.CaptureFixture[str]) -> None:
    """Eight columns of eight letters need 64 cells and seven blanks between them."""
    rows = [{f"column_{n}": f"value_{n}{row}" for n in range(8)} for row in range(2)]
    for columns in range(64, 100, 5):
        show(terminal(columns), rows, "")
        lines = plain(capsys.readouterr().out).splitlines()
        assert max(map(len, lines)) <= columns
