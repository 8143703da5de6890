"""The pictures of the page's first screen: bars with a line of text above each."""

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.console.wording import format_count, format_duration
from pipelines.report.formats import format_name, format_night, format_number
from pipelines.report.tables import PageData, Row

BARS = 8
"""Queues and sending instances in the picture of places."""
LONGEST_LABEL = 38
"""Characters of a label beside a figure."""
WAITS = {"oldest": "the oldest", "p95": "95 of 100 at most", "median": "half of them at most"}
"""What is drawn of waits, the longest first, as the shorter bars lie above."""


@dataclass(frozen=True)
class Bar:
    """A bar.

    Attributes:
        label: what it stands for.
        figure: its figures.
        parts: where each part begins and how long it is, as shares of the width; its class and its text.
    """

    label: str
    figure: str
    parts: Sequence[tuple[float, float, str, str]]

    @property
    def shown(self) -> str:
        """The label, cut in the middle if it is long: its end tells queues apart."""
        half = LONGEST_LABEL // 2
        return self.label if len(self.label) <= LONGEST_LABEL else f"{self.label[:half]}…{self.label[-half:]}"


@dataclass(frozen=True)
class Chart:
    """A picture: its name in the page, its title, its bars, and the text of each class in it."""

    name: str
    title: str
    bars: Sequence[Bar]
    legend: Sequence[tuple[str, str]]


def make_charts(data: PageData) -> list[Chart]:
    """Make the pictures that have something to show."""
    charts = [_chart_places(data), _chart_waits(data), _chart_nights(data)]
    return [chart for chart in charts if chart.bars]


def _chart_places(data: PageData) -> Chart:
    """Messages of the largest queues and sending instances, by level."""
    queues, instances = (
        [(label(row), row, levels.get(row["index"], ())) for row in data.rows(f"{kind}_places")]
        for kind, label in (("receive", _queue_label), ("transmission", _instance_label))
        for levels in [data.rows_by_place(f"{kind}_place_levels")]
    )
    places = sorted([*queues, *instances], key=lambda place: -place[1]["messages"])
    shown = places[:BARS]
    more = data.total("receive_places") + data.total("transmission_places") - len(shown)
    most = max((row["messages"] for _, row, _ in shown), default=1)
    used = sorted({row["level"] for _, _, levels in shown for row in levels}, reverse=True)
    return Chart(
        "places",
        "Messages by place and level"
        + (
            f"; {format_count(more, 'more place')} {'has' if more == 1 else 'have'} fewer" if more > 0 else ""
        ),
        [
            Bar(
                label,
                format_number(row["messages"]),
                _side_by_side(
                    [
                        (each["messages"], f"level-{each['level']}", f"level {each['level']}")
                        for each in levels
                    ],
                    most,
                ),
            )
            for label, row, levels in shown
        ],
        [(f"level-{level}", f"level {level}") for level in used],
    )


def _chart_waits(data: PageData) -> Chart:
    """How long the messages of each level wait."""
    rows = data.rows("receive_levels")
    longest = max((data.seconds_since(row["oldest"]) for row in rows), default=0)

    def bar(row: Row) -> Bar:
        waits = (data.seconds_since(row["oldest"]), row["p95_seconds"], row["median_seconds"])
        texts = [format_duration(seconds) for seconds in waits]
        parts = [
            (0.0, max(0, seconds) / (longest or 1), f"wait-{name}", f"{WAITS[name]}: {text}")
            for name, seconds, text in zip(WAITS, waits, texts, strict=True)
        ]
        return Bar(f"level {row['level']}", " · ".join(reversed(texts)), parts)

    return Chart(
        "waits",
        "How long messages wait in queues, by level",
        [bar(row) for row in rows],
        [(f"wait-{name}", WAITS[name]) for name in reversed(WAITS)],
    )


def _chart_nights(data: PageData) -> Chart:
    """What waited in each night; nothing before the second one."""
    nights = [row for row in data.rows("nights") if row["open_receive"] is not None]
    kinds = (("open_receive", "to receive"), ("open_transmission", "to send"))
    most = max((sum(row[name] or 0 for name, _ in kinds) for row in nights), default=1) or 1
    bars = [
        Bar(
            format_night(row["as_of"]),
            " + ".join(format_number(row[name] or 0) for name, _ in kinds),
            _side_by_side([(row[name] or 0, name, text) for name, text in kinds], most),
        )
        for row in nights
    ]
    return Chart("backlog", "What waited, the latest first", bars if len(bars) > 1 else [], kinds)


def _side_by_side(parts: Sequence[tuple[int, str, str]], most: int) -> list[tuple[float, float, str, str]]:
    """Parts of a bar: messages, class and text of each."""
    made, begin = [], 0.0
    for messages, css, text in parts:
        share = messages / most
        if share:
            made.append((begin, share, css, f"{text}: {format_number(messages)}"))
        begin += share
    return made


def _queue_label(row: Row) -> str:
    return ".".join(format_name(row[name]) for name in ("instance", "database", "queue"))


def _instance_label(row: Row) -> str:
    return f"{format_name(row['instance'])}, to send"
