"""YAML files: the values, where they stand, and what is refused."""

from itertools import pairwise
from pathlib import Path

import pytest

from pipelines.config.errors import ConfigError
from pipelines.config.yaml_file import Position, UnquotedTimestamp, YamlFile, load_yaml


def load(tmp_path: Path, content: str | bytes) -> YamlFile:
    path = tmp_path / "x.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return load_yaml(str(path))


def refusal(tmp_path: Path, content: str | bytes) -> list[str]:
    """The lines of the error, without the folder."""
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, content)
    return str(caught.value).replace(f"{tmp_path}/", "").split("\n")


@pytest.mark.parametrize(
    ("written", "value"),
    [
        pytest.param("text", "text", id="plain text"),
        pytest.param("'on'", "on", id="quoted word"),
        pytest.param('"5"', "5", id="quoted number"),
        pytest.param("on", True, id="on"),
        pytest.param("Off", False, id="off"),
        pytest.param("no", False, id="no"),
        pytest.param("5", 5, id="integer"),
        pytest.param("-5", -5, id="negative"),
        pytest.param("0.25", 0.25, id="decimal"),
        pytest.param("null", None, id="null"),
        pytest.param("", None, id="nothing"),
        pytest.param("2026-01-01", UnquotedTimestamp("2026-01-01"), id="date"),
        pytest.param("!!str 010", "010", id="tagged text"),
        pytest.param("[1, {b: c}]", [1, {"b": "c"}], id="nested"),
        pytest.param("ünï 名", "ünï 名", id="any script"),
    ],
)
def test_values(tmp_path: Path, written: str, value: object) -> None:
    assert load(tmp_path, f"a: {written}\n").data == {"a": value}


def test_an_empty_file_is_none(tmp_path: Path) -> None:
    assert load(tmp_path, "# nothing\n").data is None


def test_an_alias_is_the_value_of_its_anchor(tmp_path: Path) -> None:
    assert load(tmp_path, "a: &x {n: 1}\nb: *x\n").data == {"a": {"n": 1}, "b": {"n": 1}}


def test_a_byte_order_mark_moves_no_column(tmp_path: Path) -> None:
    file = load(tmp_path, "\ufeffa: 1\n".encode())
    assert file.data == {"a": 1}
    assert file.position(("a",), key=True) == Position(1, 1)


def test_positions_of_keys_values_and_what_is_absent(tmp_path: Path) -> None:
    file = load(tmp_path, "a:\n  - b: 'x'\n    c: {d: 10.5}\n")
    assert file.position(("a", 0, "b"), key=True) == Position(2, 5)
    assert file.position(("a", 0, "b")) == Position(2, 8)
    assert file.position(("a", 0, "c", "d")) == Position(3, 12)
    assert file.position(("a", 0, "c", "absent")) == Position(3, 8)
    assert file.position(("absent",)) == Position(1, 1)
    assert file.text(("a", 0, "b")) == "x"
    assert file.text(("a", 0)) is None
    assert file.problem(("a", 0, "c", "d"), "is bad; mend it").endswith(
        "x.yaml:3:12: a[0].c.d: is bad; mend it"
    )


@pytest.mark.parametrize(
    ("content", "line"),
    [
        pytest.param(
            "a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n",
            "x.yaml:5:3: the key 'c' stands here twice, first on line 3; remove one",
            id="repeated key",
        ),
        pytest.param(
            "on: 1\n",
            "x.yaml:1:1: the key on is not text to YAML; write it in quotes: 'on'",
            id="boolean key",
        ),
        pytest.param(
            "[a]: 1\n", "x.yaml:1:1: a list or a mapping can't be a key; write a word", id="list as key"
        ),
        pytest.param(
            "a: &x {n: 1}\nb:\n  <<: *x\n",
            "x.yaml:3:3: merge keys are not supported; write the keys out",
            id="merge key",
        ),
        pytest.param("a:\n\tb: 1\n", "x.yaml:2:1: a tab indents the line; use spaces", id="tab"),
        pytest.param(
            "a: 1\n  \tb: 1\n", "x.yaml:2:3: a tab indents the line; use spaces", id="tab after spaces"
        ),
        pytest.param(
            "a: [1\nb: 2\n",
            "x.yaml:2:2: is not YAML: expected ',' or ']', but got ':' (while parsing a flow sequence); "
            "correct the line or quote the value",
            id="open bracket",
        ),
        pytest.param(
            "a: *x\n",
            "x.yaml:1:4: is not YAML: found undefined alias 'x'; correct the line or quote the value",
            id="unknown alias",
        ),
        pytest.param(
            "a: 1\n---\nb: 1\n",
            "x.yaml:2:1: is not YAML: but found another document (expected a single document in the stream); "
            "correct the line or quote the value",
            id="two documents",
        ),
        pytest.param(
            "a: &x [*x]\n",
            "x.yaml:1:4: an alias stands inside its own anchor; write the value out",
            id="endless alias",
        ),
        pytest.param(
            "a: !x {b: 1}\n", "x.yaml:1:4: the tag !x means nothing here; remove it", id="tagged mapping"
        ),
        pytest.param("a: !x b\n", "x.yaml:1:4: the tag !x does not fit 'b'; remove it", id="tagged text"),
        pytest.param(
            "a: !!bool b\n", "x.yaml:1:4: the tag !!bool does not fit 'b'; remove it", id="no boolean"
        ),
        *(
            pytest.param(
                f"a: {number}\n",
                f"x.yaml:1:4: '{number}' is an unusual number; "
                "write plain digits, or quote it if it is a name",
                id=f"number {number}",
            )
            for number in ("010", "0x1F", "1_000", "1:30", ".inf", ".nan", "1:30.5", "9" * 19)
        ),
        pytest.param(
            'a: "\\ud800"\n',
            "x.yaml:1:4: U+0000 and half a surrogate pair are no text; write the character itself",
            id="half a surrogate pair",
        ),
        pytest.param(
            "a: b\nc: \x01\n",
            "x.yaml:2:4: the character U+0001 is not allowed in YAML; remove it",
            id="control",
        ),
        pytest.param(
            b"a: \xff\x81\n",
            "x.yaml:1:4: is not UTF-8 (byte 4); save it as UTF-8, or as UTF-16 with a byte order mark",
            id="not UTF-8",
        ),
        pytest.param(
            b"name: Auftr\xe4ge\n",
            "x.yaml:1:12: is not UTF-8 (byte 12) and looks like code page 1252 ('Auftr\u00e4ge'); save it as "
            "UTF-8, or as UTF-16 with a byte order mark",
            id="code page 1252",
        ),
        pytest.param(
            "name: x\n".encode("utf-16-le"),
            "x.yaml: is UTF-16 (little-endian) without a byte order mark; save it as UTF-8, or as "
            "UTF-16 with a byte order mark",
            id="UTF-16 without a mark",
        ),
    ],
)
def test_refused(tmp_path: Path, content: str | bytes, line: str) -> None:
    assert refusal(tmp_path, content) == [line]


@pytest.mark.parametrize(
    ("content", "place"),
    [
        pytest.param("[" * 50_000, "1:100", id="lists"),
        pytest.param("[" * 50_000 + "]" * 50_000, "1:100", id="closed"),
        pytest.param("{a: " * 50_000, "1:397", id="mappings"),
        pytest.param("- " * 50_000, "1:199", id="dashes"),
        pytest.param("? " * 50_000, "1:199", id="keys"),
        pytest.param("[{a: " * 50_000, "1:247", id="in turn"),
        pytest.param("".join(" " * depth + "a:\n" for depth in range(200)), "100:100", id="by indent"),
        pytest.param(
            "a: &a [x]\na0: &a0 [*a]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 5000)),
            "1:8",
            id="by aliases",
        ),
    ],
)
def test_nested_too_deeply(tmp_path: Path, content: str, place: str) -> None:
    assert refusal(tmp_path, content) == [
        f"x.yaml:{place}: nested too deeply to be read; write it with fewer than 100 levels"
    ]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_no_text(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "x.yaml").write_bytes("name: Größe\r\n".encode(encoding))
    assert load_yaml(str(tmp_path / "x.yaml")).data == {"name": "Größe"}


def test_all_problems_are_listed(tmp_path: Path) -> None:
    assert [line.split(": ")[0] for line in refusal(tmp_path, "a: 010\nb: 1\nb: 2\nc: [!x y]\n")] == [
        "x.yaml:1:4",
        "x.yaml:3:1",
        "x.yaml:4:5",
    ]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_yaml(str(tmp_path / "gone.yaml"))
    assert str(caught.value) == f"{tmp_path}/gone.yaml: no such file; correct the path or create it"
    assert caught.value.exit_code == 2


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_yaml(str(tmp_path))
    assert str(caught.value) == f"{tmp_path}: can't be read (Is a directory); correct path or permissions"


def test_aliases_can_not_make_a_small_file_endless(tmp_path: Path) -> None:
    anchors = "abcdefghi"
    lines = [f"a: &a [{', '.join(['lol'] * 9)}]"]
    lines += [f"{name}: &{name} [{', '.join([f'*{of}'] * 9)}]" for of, name in pairwise(anchors)]
    (line,) = refusal(tmp_path, "\n".join(lines))
    assert line.endswith("aliases make more than 100,000 values of this file; write them out")
    # A few aliases are fine.
    assert load(tmp_path, "a: &a [1, 2]\nb: *a").data == {"a": [1, 2], "b": [1, 2]}
