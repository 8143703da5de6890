"""How the page carries its data: no Spark, no browser."""

import base64
import hashlib
import json
import re
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any

import pytest

from pipelines.report.page import render_page
from pipelines.report.tables import PageTable

AS_OF = datetime(2026, 11, 21, tzinfo=UTC)


class Reader(HTMLParser):
    """What a browser's parser would find: elements, and the text of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.cdata_elem:
            tag, attributes = self.elements[-1]
            self.texts.append((str(attributes.get("id", tag)), data))


def written(*values: Any) -> str:
    return render_page(AS_OF, {"part": PageTable(["value"], [[value] for value in values], len(values))})


def data_of(text: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(dict(Reader(text).texts)["data"])
    return content


@pytest.mark.parametrize(
    "name",
    [
        "</script><script>alert(1)</script>",
        "<!--<script>",
        "]]>",
        "$style ${data} $$",
        'a "b" \\ \' & &lt; \u2028 \u2029 \x00',
        "\U0001f600 \u202egnp",
    ],
)
def test_a_name_comes_back_as_it_was_and_makes_no_element(name: str) -> None:
    text = written(name)
    assert data_of(text)["parts"]["part"]["rows"] == [[name]]
    assert [tag for tag, _ in Reader(text).elements] == [tag for tag, _ in Reader(written("x")).elements]


@pytest.mark.parametrize("name", ["</td><script>alert(1)</script>", '" onclick="alert(1)', "{{ 7 * 7 }}"])
def test_a_name_in_a_table_is_text(name: str) -> None:
    columns = ["source", "reason", "events", "last_seen"]
    pages = [
        render_page(AS_OF, {"rejected": PageTable(columns, [["events", reason, 1, AS_OF]], 1)})
        for reason in (name, "x")
    ]
    attributes = [
        [(tag, sorted(names)) for tag, names in Reader(text).elements if tag != "wbr"] for text in pages
    ]
    assert attributes[0] == attributes[1]
    assert "49" not in pages[0][pages[0].index("<tbody") : pages[0].index("</tbody")]


def test_values_are_plain_and_bounded() -> None:
    rows = data_of(written(AS_OF, None, 1.5, "é" * 1000))["parts"]["part"]["rows"]
    assert rows == [["2026-11-21T00:00:00Z"], [None], [1.5], ["é" * 400 + "…"]]


def test_a_value_that_json_lacks_is_an_error() -> None:
    with pytest.raises(ValueError, match="JSON"):
        written(float("nan"))


def test_only_its_own_script_and_style_may_run() -> None:
    text = written("x")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy[1].split(";"))
    assert rules["default-src"] == "'none'"
    for name in ("script", "style"):
        content = dict(Reader(text).texts)[name]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert rules[f"{name}-src"] == f"'sha256-{digest}'"


def test_nothing_is_fetched_from_anywhere() -> None:
    found = [
        (tag, name, value)
        for tag, attributes in Reader(written("x")).elements
        for name, value in attributes.items()
        if name in ("src", "href", "action", "srcset", "data") and not str(value).startswith(("#", "data:,"))
    ]
    assert found == []
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest", written("x"))
