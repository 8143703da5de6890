"""`priorities init` writes files that the checks take, and never over others."""

from pathlib import Path

import pytest
import yaml

from pipelines import cli
from pipelines.commands.init import FILES
from pipelines.config.errors import ConfigError, InputError, OutputError
from pipelines.settings.load import load_settings
from tests.support.dbapi import capture_lines

QUEUE_LINE = {"database": "Claims", "view": "queue", "schema": "dbo", "queue": "ClaimIntakeQueue"}
LINES = capture_lines(
    {"database": "Claims", "read": True, "reason": None, "view_definition": True},
    {"database": "Archive", "read": False, "reason": "OFFLINE", "view_definition": None},
    {**QUEUE_LINE, "row": {"status": 1, "priority": 9}},
    {**QUEUE_LINE, "count": 1, "complete": True, "error": None, "read_at": "2026-11-24T07:30:00.3Z"},
)
WRITTEN = {".gitignore", ".priorities", "captures", "priorities.yaml"}


def test_the_files_are_settings_with_a_schema(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    assert cli.run(["init", str(folder)]) == 0
    settings = load_settings(folder / "priorities.yaml")
    assert [*settings.catalog.service_bindings()] == [
        ("SERVER1", "Sales", "OrderService", "OrderQueue"),
        ("SERVER1", "Sales", "ReplyService", "ReplyQueue"),
    ]
    for name in FILES:
        first = (folder / name).read_text().partition("\n")[0]
        assert (folder / first.removeprefix("# yaml-language-server: $schema=")).is_file()
    # Rules stand there in comments.
    rules = folder / "rules.yaml"
    lines = [line[2:] for line in rules.read_text().splitlines() if line.startswith(("# - ", "#   "))]
    rules.write_text("\n".join(lines))
    assert len(load_settings(folder / "priorities.yaml").rule_history) == 2


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_there_stays(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(ConfigError, match=f"{name} is there already; remove it, or name another folder"):
        cli.run(["init", str(tmp_path)])
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"


def test_a_link_that_leads_nowhere_is_in_the_way(tmp_path: Path) -> None:
    """Nothing is written where it leads."""
    (tmp_path / "priorities.yaml").symlink_to(tmp_path / "elsewhere.yaml")
    with pytest.raises(ConfigError, match=r"priorities\.yaml is there already; remove it"):
        cli.run(["init", str(tmp_path)])
    assert [path.name for path in tmp_path.iterdir()] == ["priorities.yaml"]


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="can't be written"):
        cli.run(["init", str(tmp_path / "file")])


@pytest.fixture
def capture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A capture in the current folder."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    file = tmp_path / "here" / "saved.txt"
    file.write_text("".join(f"{line}\n" for line in LINES))
    return file


def test_settings_for_a_capture(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["init", "new dir", "--capture", "saved.txt"]) == 0
    folder = capture.parent / "new dir"
    assert {path.name for path in folder.iterdir()} == WRITTEN
    assert [str(each.path) for each in load_settings(folder / "priorities.yaml").snapshot_entries] == [
        str(folder / "captures")
    ]
    assert [path.name for path in (folder / "captures").iterdir()] == ["saved.txt"]
    assert (folder / "captures" / "saved.txt").read_bytes() == capture.read_bytes()
    assert (folder / ".gitignore").read_text() == "warehouse/\ncaptures/\n"
    assert (folder / ".priorities" / "settings.json").is_file()
    assert capsys.readouterr().out.splitlines() == [
        "saved.txt is a capture of SQL1 at 2026-11-24T07:30:00.123456Z: 1 database",
        "wrote new dir/priorities.yaml and new dir/captures/saved.txt",
        "next:",
        "  cd 'new dir' && priorities nightly --as-of latest",
        "  priorities next --queue SQL1.Claims.ClaimIntakeQueue",
    ]


def test_settings_for_the_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.run(["init", "mine", "--sample"]) == 0
    assert {path.name for path in (tmp_path / "mine").iterdir()} == WRITTEN
    assert len(list((tmp_path / "mine" / "captures").iterdir())) == 3
    assert capsys.readouterr().out.splitlines() == [
        "wrote mine/priorities.yaml and 3 captures in mine/captures",
        "next:",
        "  cd mine && priorities nightly --as-of latest",
        "  priorities why --queue ClaimIntakeQueue --remote-service //acme/portal/Gold",
    ]


def test_a_capture_that_stands_in_its_place(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As `priorities capture` leaves it."""
    (capture.parent / "captures").mkdir()
    file = capture.rename(capture.parent / "captures" / "saved.txt")
    (capture.parent / ".gitignore").write_text("mine")
    assert cli.run(["init", "--capture", str(file)]) == 0
    assert {path.name for path in capture.parent.iterdir()} == WRITTEN
    assert [path.name for path in file.parent.iterdir()] == ["saved.txt"]
    assert (capture.parent / ".gitignore").read_text() == "mine"
    *_, ignored, _, night, _ = capsys.readouterr().out.splitlines()
    assert ignored == ".gitignore is there already; see that it has warehouse/ and captures/"
    assert night == "  priorities nightly --as-of latest"


def test_a_folder_of_a_recorder(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder with the folders of days, copied as it is."""
    names = {f"2026-11-{day}/SQL1-202611{day}T073000Z.jsonl" for day in (23, 24)}
    recorded, captures = capture.parent / "recorded", capture.parent / "new" / "captures"
    for name, id in zip(sorted(names), ("6F0B", "6F0C"), strict=True):
        path = recorded / name
        path.parent.mkdir(parents=True)
        text = capture.read_text().replace('"6F0C"', f'"{id}"')
        path.write_text(text.replace("2026-11-24T07", f"{path.parent.name}T07"))
    (recorded / ".recorder-SQL1").touch()
    assert cli.run(["init", "new", "--capture", "recorded"]) == 0
    assert {path.relative_to(captures).as_posix() for path in captures.rglob("*.jsonl")} == names
    assert capsys.readouterr().out.splitlines()[:2] == [
        "recorded has 2 captures; the newest is a capture of SQL1 at 2026-11-24T07:30:00.123456Z: 1 database",
        "wrote new/priorities.yaml and 2 captures in new/captures",
    ]
    # Where the recorder writes, nothing is copied.
    recorded.rename(capture.parent / "captures")
    assert cli.run(["init", "--capture", "captures"]) == 0
    assert len([*(capture.parent / "captures").rglob("*.jsonl")]) == 2


def test_without_messages_it_asks_who_waits(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture.write_text("".join(f"{line}\n" for line in capture_lines()))
    assert cli.run(["init", "--capture", "saved.txt"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "  priorities waiting"


@pytest.mark.parametrize(
    ("name", "copied"),
    [
        ("a.JSONL", "a.JSONL"),
        ("a.csv.gz", "a.csv.gz"),
        ("_a.txt", "a.txt"),
        ("a.dat", "a.dat.jsonl"),
        ("capture", "capture.jsonl"),
    ],
)
def test_a_copy_has_a_name_that_a_run_reads(capture: Path, name: str, copied: str) -> None:
    capture.rename(capture.parent / name)
    assert cli.run(["init", "new", "--capture", name]) == 0
    assert [path.name for path in (capture.parent / "new" / "captures").iterdir()] == [copied]


@pytest.mark.parametrize(
    ("given", "text", "says"),
    [
        ("saved.txt", "", r"saved\.txt"),
        ("saved.txt", "a\n", r"saved\.txt"),
        ("saved.txt", "".join(f"{line}\n" for line in LINES[:-1]), r"saved\.txt"),
        ("missing", "", "--capture missing: there is no such file"),
        ("empty", "", "there is no capture in this folder"),
    ],
)
def test_no_whole_capture(capture: Path, given: str, text: str, says: str) -> None:
    capture.write_text(text)
    (capture.parent / "empty").mkdir()
    with pytest.raises((ConfigError, InputError), match=says):
        cli.run(["init", "new", "--capture", given])
    assert not (capture.parent / "new").exists()


@pytest.mark.parametrize(
    ("there", "says"),
    [
        ("captures/saved.txt", "is there already, with other content"),
        ("priorities.yaml", r"priorities\.yaml is there already"),
    ],
)
def test_what_is_there_stays(capture: Path, there: str, says: str) -> None:
    (capture.parent / "captures").mkdir()
    (capture.parent / there).write_text("mine")
    with pytest.raises(ConfigError, match=says):
        cli.run(["init", "--capture", "saved.txt"])
    assert (capture.parent / there).read_text() == "mine"
    files = {path for path in capture.parent.rglob("*") if path.is_file()}
    assert files == {capture, capture.parent / there}


LOG = "LogId,ProcessedAt,Direction,Handle,SeqNo,MsgType,Body\n"


def test_like_guesses_a_mapping_by_names_and_says_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "BrokerLog.csv").write_text(LOG)
    assert cli.run(["init", str(tmp_path / "new"), "--like", str(tmp_path / "BrokerLog.csv")]) == 0
    settings = tmp_path / "new" / "priorities.yaml"
    [source] = yaml.safe_load(settings.read_text())["inputs"]["message_events"]
    assert source == {
        "name": "BrokerLog",
        "path": "../BrokerLog.csv",
        "format": "csv",
        "columns": {
            "event_id": {"from": "LogId"},
            "event_time": {"from": "ProcessedAt"},
            "message_sequence_number": {"from": "SeqNo"},
            "message_type": {"from": "MsgType"},
            "size_bytes": {"from": "Body", "length": "bytes"},
            "conversation_handle": {"from": "Handle"},
        },
    }
    told = capsys.readouterr().out
    assert (
        "event_time: {from: ProcessedAt} # guess by the name; times are UTC unless zone: or offset:" in told
    )
    assert "# event_type: {value: RECEIVED}" in told
    assert "# Columns that are not taken: Direction" in told
    with pytest.raises(ConfigError) as error:
        load_settings(settings)
    assert "an event needs instance and database and event_type; name the column" in str(error.value)


def test_like_needs_a_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file; name an export of the table"):
        cli.run(["init", str(tmp_path), "--like", str(tmp_path / "none.csv")])
