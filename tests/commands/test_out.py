"""What --out names: a plain file, or a folder of its own, and nothing that the job reads."""

import os
import stat
from pathlib import Path

import pytest

from pipelines.commands.out import plain_file, require_not_read, require_own_folder, write_whole
from pipelines.config.errors import ConfigError, OutputError
from pipelines.settings.load import Settings, load_settings

SETTINGS = """
warehouse: warehouse
inputs:
  endpoint_events: {path: endpoint_events, format: json}
  message_events: {path: messages.jsonl, format: json}
catalog: catalog.yaml
rules: [{path: rules/a.yaml}]
"""
CATALOG = "instances: [{name: I, databases: [{name: D, queues: [{name: Q}]}]}]\n"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    for folder in ("endpoint_events", "rules", "warehouse"):
        (tmp_path / folder).mkdir()
    for file in ("messages.jsonl", "rules/a.yaml"):
        (tmp_path / file).touch()
    (tmp_path / "catalog.yaml").write_text(CATALOG)
    (tmp_path / "settings.yaml").write_text(SETTINGS)
    return load_settings(tmp_path / "settings.yaml")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def write(out: Path, text: str = "new") -> None:
    write_whole(text, plain_file(out))


@pytest.mark.parametrize(("mask", "expected"), [(0o022, 0o644), (0o077, 0o600)])
def test_a_new_file_has_the_mode_that_the_umask_leaves(tmp_path: Path, mask: int, expected: int) -> None:
    # A name may have as many characters.
    page = tmp_path / ("x" * 255)
    before = os.umask(mask)
    try:
        write(page)
    finally:
        os.umask(before)
    assert (mode(page), page.read_text()) == (expected, "new")


@pytest.mark.parametrize("before", [0o600, 0o755])
def test_a_file_that_is_replaced_keeps_its_mode(tmp_path: Path, before: int) -> None:
    page = tmp_path / "page.html"
    page.write_text("old")
    page.chmod(before)
    write(page)
    assert (mode(page), page.read_text()) == (before, "new")
    assert list(tmp_path.iterdir()) == [page]


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    page, new = tmp_path / "there" / "page.html", tmp_path / "there" / "new.html"
    page.write_text("old")
    for link, leads_to in ((tmp_path / "link", page), (tmp_path / "dangling", new)):
        link.symlink_to(leads_to)
        write(link)
        assert link.is_symlink()
        assert leads_to.read_text() == "new"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("/dev/null", "it is a device or a pipe"),
        ("pipe", "it is a device or a pipe"),
        ("link to pipe", "it is a device or a pipe"),
        ("folder", "it is a folder"),
        ("", "it is a folder"),
        ("not there/page.html", "its folder is not there"),
        ("protected", "it is write-protected"),
        ("loop", "Too many levels of symbolic links"),
        ("x" * 300, "File name too long"),
        ("protected/page.html", "its folder is not there"),
    ],
)
def test_what_is_no_plain_file(tmp_path: Path, name: str, says: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link to pipe").symlink_to("pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "folder").mkdir()
    (tmp_path / "protected").write_text("old")
    (tmp_path / "protected").chmod(0o444)
    before = sorted(tmp_path.iterdir())
    out = tmp_path / name
    with pytest.raises(ConfigError) as caught:
        write(out)
    assert str(caught.value) == (
        f"--out {out}: {says}; name a new file, or one to replace, in a folder that exists"
    )
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "protected").read_text() == "old"


@pytest.mark.parametrize(
    "name",
    [
        "settings.yaml",
        "catalog.yaml",
        "rules/a.yaml",
        "messages.jsonl",
        "endpoint_events/page.html",
        "warehouse/page.html",
        "answers/page.html",
        "link/page.html",
        "another name of the settings",
    ],
)
def test_a_file_that_the_job_reads(tmp_path: Path, settings: Settings, name: str) -> None:
    (tmp_path / "answers").mkdir()
    (tmp_path / "link").symlink_to("endpoint_events")
    (tmp_path / "another name of the settings").hardlink_to(tmp_path / "settings.yaml")
    target = plain_file(tmp_path / name)
    with pytest.raises(ConfigError, match=r"^--out .* or lies in it; name another file$"):
        require_not_read(target, settings, [str(tmp_path / "answers"), None])
    require_not_read(plain_file(tmp_path / "page.html"), settings)
    require_not_read(plain_file(tmp_path / "rules" / "page.html"), settings)


def test_a_file_that_can_not_be_written_in_the_end(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    page = plain_file(tmp_path / "folder" / "page.html")
    (tmp_path / "folder").rmdir()
    with pytest.raises(OutputError, match=r"can't be written \(No such file or directory\)"):
        write_whole("new", page)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("warehouse", "lies in the warehouse {}/warehouse; name another folder"),
        ("warehouse/answers", "lies in the warehouse {}/warehouse; name another folder"),
        ("endpoint_events/answers", "lies in the input {}/endpoint_events; name another folder"),
        ("", "the warehouse {}/warehouse lies in it; name another folder"),
        ("link", "the warehouse {}/warehouse lies in it; name another folder"),
        ("file", "{}/file is no folder; name a folder that can be written"),
        ("file/answers", "{}/file is no folder; name a folder that can be written"),
        ("pipe", "{}/pipe is no folder; name a folder that can be written"),
        ("dangling", "it is a link to nothing; name a folder that can be written"),
        ("x" * 300, "File name too long; name a folder that can be written"),
    ],
)
def test_what_is_no_folder_for_tables(tmp_path: Path, settings: Settings, name: str, says: str) -> None:
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(".")
    (tmp_path / "dangling").symlink_to("nothing")
    out = f"{tmp_path}/{name}".rstrip("/")
    with pytest.raises(ConfigError) as caught:
        require_own_folder(out, settings)
    assert str(caught.value) == f"--out {out}: {says.format(tmp_path)}"


def test_a_folder_with_credentials(settings: Settings) -> None:
    with pytest.raises(ConfigError) as caught:
        require_own_folder("abfss://c@h/x?sig=S3CRET", settings)
    assert str(caught.value) == (
        "--out abfss://c@h/x?...: has credentials in it; give them to the engine by the environment"
    )


def test_a_folder_of_its_own(tmp_path: Path, settings: Settings) -> None:
    (tmp_path / "there").mkdir()
    for out in (None, f"{tmp_path}/there", f"{tmp_path}/new/below", "s3a://bucket/answers"):
        require_own_folder(out, settings)
