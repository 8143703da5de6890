"""Lines of JSON: strict objects, and their fields as columns."""

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from pipelines.text.json_objects import add_payloads, json_type, object_of, objects_of, read_fields

NAMES = st.sampled_from(["a", "b", '"', "a b", "\u00e9", ""])
SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(-1e9, 1e9) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(NAMES, inner), max_leaves=5)
PIECES = ['"a":1,', '"b" :2,', '"a"\t:{},', '"', "\\", "{", "}", "[", "]", ",", ":", " ", "NaN", "-", "1e999"]


@st.composite
def lines(draw: st.DrawFn) -> str:
    """A line of JSON, often with something put in or cut out."""
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (",", " : ")]))
    row = draw(st.dictionaries(NAMES, VALUES))
    line = json.dumps(row, ensure_ascii=draw(st.booleans()), separators=separators)
    start, end = sorted(draw(st.tuples(*[st.integers(0, len(line))] * 2)))
    return line[:start] + draw(st.sampled_from(PIECES)) + line[draw(st.sampled_from([start, end])) :]


def strictly(line: str) -> dict[str, Any] | None:
    """What the standard library takes for an object, without what it allows beyond the standard."""

    def unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        assert len({name for name, _ in pairs}) == len(pairs)
        return dict(pairs)

    try:
        found = json.loads(line, object_pairs_hook=unique)
        json.dumps(found, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, AssertionError):
        return None
    return found if isinstance(found, dict) else None


@given(st.lists(lines()))
def test_objects_are_those_of_a_strict_parser(given: list[str]) -> None:
    expected = [strictly(line) for line in given]
    assert [object_of(line) for line in given] == expected
    assert objects_of(given) == expected


@pytest.mark.parametrize(
    "line",
    [
        '{"a": 1, "a": 1}',
        '{"a":1,"a" :1}',
        '{"a":1,"a"\t:1}',
        '{"a":1,"\\u0061":1}',
        '{"b":"\\":","a":1,"a":2}',
        '{"a":{"b":1,"b":2}}',
        '{"a":[{"b":1,"b":2}]}',
        '{"a"\r:1,"a":2}\r',
    ],
)
def test_a_name_twice(line: str) -> None:
    assert object_of(line) is None
    assert objects_of(['{"a":1}', line]) == [{"a": 1}, None]


@pytest.mark.parametrize("levels", [32, 33, 2000])
@pytest.mark.parametrize("pair", ["[]", ('{"a":', "}")])
def test_levels(levels: int, pair: Sequence[str]) -> None:
    line = '{"a":' + pair[0] * (levels - 1) + "1" + pair[1] * (levels - 1) + "}"
    assert (object_of(line) is None) == (levels > 32)


def test_fields_are_columns() -> None:
    rows = ['{"a":"x","b":7,"c":true}', '{"a":1,"b":1.5}', '{"b":9223372036854775808}', "no", "{}"]
    given = pa.record_batch({"raw": [*rows, rows[0]], "is_text": [True] * 5 + [False]})
    [typed] = read_fields(
        [given], {"first": ("a", "string"), "second": ("b", "integer"), "third": ("c", "boolean")}
    )
    assert typed.to_pydict() == {
        "raw": [*rows, rows[0]],
        "broken": [False, False, False, True, False, True],
        "mistyped": [None, "a integer,b number", "b number", None, None, None],
        "first": ["x", None, None, None, None, None],
        "second": [7, None, None, None, None, None],
        "third": [True, None, None, None, None, None],
    }
    [texts] = read_fields([given], {"first": ("a", None), "second": ("b", None), "third": ("c", None)})
    assert texts.column("first").to_pylist() == ["x", "1", None, None, None, None]
    assert texts.column("second").to_pylist() == ["7", "1.5", "9223372036854775808", None, None, None]
    assert texts.column("third").to_pylist() == ["true", None, None, None, None, None]
    assert set(texts.column("mistyped").to_pylist()) == {None}


def test_payloads_are_the_declared_fields() -> None:
    given = pa.record_batch({"raw": ['{"c":1,"b":null,"a":"\u00e9"}', "no"], "other": [1, 2]})
    [found] = add_payloads([given], ["a", "b", "c"])
    assert found.column_names == ["raw", "other", "payload"]
    assert found.column("payload").to_pylist() == ['{"a":"\u00e9","c":1}', None]


def test_json_types() -> None:
    values = ["", True, 2**63 - 1, 2**63, -(2**63) - 1, 1.5, {}, []]
    words = ["string", "boolean", "integer", "number", "number", "number", "object", "array"]
    assert [json_type(value) for value in values] == words
