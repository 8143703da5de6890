"""YAML files: the values, where they stand, and what is refused."""

from itertools import pairwise
from pathlib import Path

import pytest

from pipelines.config.yaml_file import Position, UnquotedTimestamp, YamlFile, load_yaml
from tests.support.cases import cases, lines_of_error


def load(tmp_path: Path, content: str) -> YamlFile:
    path = tmp_path / "x.yaml"
    path.write_bytes(content.encode())
    return load_yaml(str(path))


def refusal(tmp_path: Path, content: str) -> list[str]:
    """The lines of the error, without the folder."""
    return lines_of_error(tmp_path, load, tmp_path, content)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        *(("text", "text"), ("'on'", "on"), ('"5"', "5"), ("!!str 010", "010"), ("ünï 名", "ünï 名")),
        *(("on", True), ("Off", False), ("no", False), ("null", None), ("", None)),
        *(("5", 5), ("-5", -5), ("0.25", 0.25)),
        ("2026-01-01", UnquotedTimestamp("2026-01-01")),
        ("[1, {b: c}]", [1, {"b": "c"}]),
        ("[&x {n: 1}, *x]", [{"n": 1}, {"n": 1}]),
    ],
)
def test_values(tmp_path: Path, written: str, value: object) -> None:
    assert load(tmp_path, f"a: {written}\n").data == {"a": value}


def test_an_empty_file_is_none(tmp_path: Path) -> None:
    assert load(tmp_path, "# nothing\n").data is None


def test_positions_of_keys_values_and_what_is_absent(tmp_path: Path) -> None:
    """A byte order mark moves no column."""
    file = load(tmp_path, "\ufeffa:\n  - b: 'x'\n    c: {d: 10.5}\n")
    assert file.position(("a",), key=True) == Position(1, 1)
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
    ("content", "said"),
    cases("""
        a: 1
        b:
          c: 1
          d: 2
          c: 3
        => 5:3: the key 'c' stands here twice, first on line 3; remove one

        on: 1             => 1:1: the key on is not text to YAML; write it in quotes: 'on'
        [a]: 1            => 1:1: a list or a mapping can't be a key; write a word
        a: &x [*x]        => 1:4: an alias stands inside its own anchor; write the value out
        a: !x {b: 1}      => 1:4: the tag !x means nothing here; remove it
        a: !x b           => 1:4: the tag !x does not fit 'b'; remove it
        a: !!bool b       => 1:4: the tag !!bool does not fit 'b'; remove it
        a: *x
        => 1:4: is not YAML: found undefined alias 'x'; correct the line or quote the value
        a: "\\ud800"
        => 1:4: U+0000 and half a surrogate pair are no text; write the character itself

        a: &x {n: 1}
        b:
          <<: *x
        => 3:3: merge keys are not supported; write the keys out

        a:
        \tb: 1
        => 2:1: a tab indents the line; use spaces
        a: 1
          \tb: 1
        => 2:3: a tab indents the line; use spaces

        a: [1
        b: 2
        => 2:2: is not YAML: expected ',' or ']', but got ':' (while parsing a flow sequence);
           correct the line or quote the value

        a: 1
        ---
        b: 1
        => 2:1: is not YAML: but found another document (expected a single document in the stream);
           correct the line or quote the value

        a: b
        c: \x01
        => 2:4: the character U+0001 is not allowed in YAML; remove it

        a: 010
        b: 1
        b: 2
        c: [!x y]
        => 1:4: '010' is an unusual number; write plain digits, or quote it if it is a name
        => 3:1: the key 'b' stands here twice, first on line 2; remove one
        => 4:5: the tag !x does not fit 'y'; remove it
    """),
)
def test_refused(tmp_path: Path, content: str, said: list[str]) -> None:
    assert refusal(tmp_path, f"{content}\n") == [f"x.yaml:{line}" for line in said]


@pytest.mark.parametrize("number", ["0x1F", "1_000", "1:30", ".inf", "1:30.5", "9" * 19])
def test_an_unusual_number(tmp_path: Path, number: str) -> None:
    assert refusal(tmp_path, f"a: {number}\n") == [
        f"x.yaml:1:4: '{number}' is an unusual number; write plain digits, or quote it if it is a name"
    ]


ALIASES = [f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 1500)]


@pytest.mark.parametrize(
    ("content", "place"),
    [
        pytest.param("[" * 10_000 + "]" * 10_000, "1:100", id="lists"),
        pytest.param("- " * 10_000, "1:199", id="dashes"),
        pytest.param("[{a: " * 10_000, "1:247", id="in turn"),
        pytest.param("".join(" " * depth + "a:\n" for depth in range(200)), "100:100", id="by indent"),
        pytest.param("a0: &a0 [x]\n" + "".join(ALIASES), "1:10", id="by aliases"),
    ],
)
def test_nested_too_deeply(tmp_path: Path, content: str, place: str) -> None:
    assert refusal(tmp_path, content) == [
        f"x.yaml:{place}: nested too deeply to be read; write it with fewer than 100 levels"
    ]


def test_aliases_can_not_make_a_small_file_endless(tmp_path: Path) -> None:
    anchors = "abcdefghi"
    lines = [f"a: &a [{', '.join(['lol'] * 9)}]"]
    lines += [f"{name}: &{name} [{', '.join([f'*{of}'] * 9)}]" for of, name in pairwise(anchors)]
    (line,) = refusal(tmp_path, "\n".join(lines))
    assert line.endswith("aliases make more than 100,000 values of this file; write them out")
