"""`priorities init` writes files that the checks take, and never over others."""

from pathlib import Path

import pytest
import yaml

from pipelines import cli
from pipelines.commands.init import FILES
from pipelines.config.errors import ConfigError, InputError, OutputError
from pipelines.config.load import load_settings
from tests.support.dbapi import capture_lines

QUEUE_LINE = {"database": "Claims", "view": "queue", "schema": "dbo", "queue": "ClaimIntakeQueue"}
LINES = capture_lines(
    {"database": "Claims", "read": True, "reason": None, "view_definition": True},
    {"database": "Archive", "read": False, "reason": "OFFLINE", "view_definition": None},
    {**QUEUE_LINE, "row": {"status": 1, "priority": 9}},
    {**QUEUE_LINE, "count": 1, "complete": True, "error": None, "read_at": "2026-11-24T07:30:00.3Z"},
)
WRITTEN = {".gitignore", ".priorities", "captures", "priorities.yaml"}


def test_a_link_that_leads_nowhere_is_in_the_way(tmp_path: Path) -> None:
    """Nothing is written where it leads."""
    (tmp_path / "priorities.yaml").symlink_to(tmp_path / "elsewhere.yaml")
    with pytest.raises(ConfigError, match=r"priorities\.yaml is there already; remove it"):
        cli.run(["init", str(tmp_path)])
    assert [path.name for path in tmp_path.iterdir()] == ["priorities.yaml"]


def test_the_files_are_settings(tmp_path: Path) -> None:
    assert cli.run(["init", str(tmp_path / "new" / "folder")]) == 0
    settings = load_settings(tmp_path / "new" / "folder" / "priorities.yaml")
    assert [*settings.catalog.service_bindings()] == [
        ("SERVER1", "Sales", "OrderService", "OrderQueue"),
        ("SERVER1", "Sales", "ReplyService", "ReplyQueue"),
    ]


def test_the_rules_that_stand_in_comments_are_rules(tmp_path: Path) -> None:
    cli.run(["init", str(tmp_path)])
    rules = tmp_path / "rules.yaml"
    lines = [line[2:] for line in rules.read_text().splitlines() if line.startswith(("# - ", "#   "))]
    rules.write_text("\n".join(lines))
    assert len(load_settings(tmp_path / "priorities.yaml").rule_history) == 2


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_there_stays(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(ConfigError, match=f"{name} is there already; remove it, or name another folder"):
        cli.run(["init", str(tmp_path)])
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="can't be written"):
        cli.run(["init", str(tmp_path / "file")])


def test_the_first_line_names_a_schema_that_is_there(tmp_path: Path) -> None:
    cli.run(["init", str(tmp_path)])
    for name in FILES:
        first = (tmp_path / name).read_text().partition("\n")[0]
        assert (tmp_path / first.removeprefix("# yaml-language-server: $schema=")).is_file()


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
    assert yaml.safe_load((folder / "priorities.yaml").read_text()) == {
        "warehouse": "warehouse",
        "snapshots": [{"path": "captures"}],
    }
    load_settings(folder / "priorities.yaml")
    assert [path.name for path in (folder / "captures").iterdir()] == ["saved.txt"]
    assert (folder / "captures" / "saved.txt").read_bytes() == capture.read_bytes()
    assert (folder / ".gitignore").read_text() == "warehouse/\ncaptures/\n"
    assert (folder / ".priorities" / "settings.json").is_file()
    assert capsys.readouterr().out.splitlines() == [
        "saved.txt is a capture of SQL1 at 2026-11-24T07:30:00.123456Z: 1 database",
        f"wrote {Path('new dir', 'priorities.yaml')} and {Path('new dir', 'captures', 'saved.txt')}",
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
        f"wrote {Path('mine', 'priorities.yaml')} and 3 captures in {Path('mine', 'captures')}",
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
    names = [f"2026-11-{day}/SQL1-202611{day}T073000Z.jsonl" for day in (23, 24)]
    for name, id in zip(names, ("6F0B", "6F0C"), strict=True):
        path = capture.parent / "recorded" / name
        path.parent.mkdir(parents=True)
        text = capture.read_text().replace('"6F0C"', f'"{id}"')
        path.write_text(text.replace("2026-11-24T07", f"{path.parent.name}T07"))
    (capture.parent / "recorded" / ".recorder-SQL1").touch()
    assert cli.run(["init", "new", "--capture", "recorded"]) == 0
    copied = (capture.parent / "new" / "captures").rglob("*.jsonl")
    assert (
        sorted(path.relative_to(capture.parent / "new" / "captures").as_posix() for path in copied) == names
    )
    out = capsys.readouterr().out.splitlines()
    assert out[:2] == [
        "recorded has 2 captures; the newest is a capture of SQL1 at 2026-11-24T07:30:00.123456Z: 1 database",
        f"wrote {Path('new', 'priorities.yaml')} and 2 captures in {Path('new', 'captures')}",
    ]
    # Where the recorder writes, nothing is copied.
    (capture.parent / "recorded").rename(capture.parent / "captures")
    assert cli.run(["init", "--capture", "captures"]) == 0
    assert len([*(capture.parent / "captures").rglob("*.jsonl")]) == 2


def test_a_folder_without_captures(capture: Path) -> None:
    (capture.parent / "empty").mkdir()
    with pytest.raises(InputError, match="there is no capture in this folder"):
        cli.run(["init", "new", "--capture", "empty"])
    assert not (capture.parent / "new").exists()


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


@pytest.mark.parametrize("text", ["", "a\n", "".join(f"{line}\n" for line in LINES[:-1])])
def test_no_whole_capture(capture: Path, text: str) -> None:
    capture.write_text(text)
    with pytest.raises(InputError, match=r"saved\.txt"):
        cli.run(["init", "new", "--capture", "saved.txt"])
    assert not (capture.parent / "new").exists()


def test_no_such_file(capture: Path) -> None:
    with pytest.raises(ConfigError, match="--capture missing: there is no such file"):
        cli.run(["init", "new", "--capture", "missing"])


def test_another_capture_of_the_name_stays(capture: Path) -> None:
    (capture.parent / "captures").mkdir()
    (capture.parent / "captures" / "saved.txt").write_text("mine")
    with pytest.raises(ConfigError, match="is there already, with other content"):
        cli.run(["init", "--capture", "saved.txt"])
    assert (capture.parent / "captures" / "saved.txt").read_text() == "mine"
    assert not (capture.parent / "priorities.yaml").exists()


def test_settings_that_are_there_stay(capture: Path) -> None:
    (capture.parent / "priorities.yaml").write_text("mine")
    with pytest.raises(ConfigError, match=r"priorities\.yaml is there already"):
        cli.run(["init", "--capture", "saved.txt"])
    assert {path.name for path in capture.parent.iterdir()} == {"priorities.yaml", "saved.txt"}


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
