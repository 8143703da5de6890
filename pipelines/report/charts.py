"""The pictures of the page's first screen: bars or lines with a line of text above each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pipelines.blocks.tables import Row
from pipelines.console.wording import format_count, format_duration, format_number
from pipelines.report.cells import NO_VALUE, format_name, format_night
from pipelines.report.tables import PageData

BARS = 8
"""Queues and sending instances in the picture of places."""
LONGEST_LABEL = 38
"""Characters of a label beside a figure."""
WIDTH, LINE = 360, 24
"""Of a picture, and the height of a line in it."""
BAR_STEP, LINE_STEP = 30, 44
"""Between two bars, and between two lines."""
WAITS = {"oldest": "the oldest", "p95": "95 of 100 at most", "median": "half of them at most"}
"""What is drawn of waits, the longest first, as the shorter bars lie above."""

_Values = dict[int, float]
"""By the number of the as_of."""


@dataclass(frozen=True)
class Bar:
    """A bar, or a line over time.

    Attributes:
        label: what it stands for.
        figure: its figures.
        parts: where each part begins and how long it is, as shares of the width; its class and its text.
        line: the path of the line, in a field of WIDTH and LINE.
    """

    label: str
    figure: str
    parts: Sequence[tuple[float, float, str, str]] = ()
    line: str = ""

    @property
    def shown(self) -> str:
        """The label, cut in the middle if it is long: its end tells queues apart."""
        half = LONGEST_LABEL // 2
        return self.label if len(self.label) <= LONGEST_LABEL else f"{self.label[:half]}…{self.label[-half:]}"


@dataclass(frozen=True)
class Chart:
    """A picture: its name in the page, its title, its bars, and the text of each class in it.

    `step` is the distance between two bars.
    """

    name: str
    title: str
    bars: Sequence[Bar]
    legend: Sequence[tuple[str, str]] = ()
    step: int = BAR_STEP


def make_charts(data: PageData) -> list[Chart]:
    """Make the pictures that have something to show."""
    charts = [_chart_places(data), _chart_waits(data), *_charts_over_time(data)]
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


def _charts_over_time(data: PageData) -> list[Chart]:
    """What waited at each published as_of, a line each; nothing before the second as_of."""
    points = data.rows("points")
    if len(points) < 2:
        return []
    ago = {row["point"]: data.seconds_since(row["as_of"]) for row in points}
    first, last = points[0], points[-1]
    span = ago[first["point"]] - ago[last["point"]]
    across = {point: WIDTH * (ago[first["point"]] - seconds) / span for point, seconds in ago.items()}
    places = data.rows("waited_places")
    more = data.total("waited_places") - len(places)
    labels: dict[int | None, str] = {
        row["index"]: _queue_label(row) if row["kind"] == "receive" else _instance_label(row)
        for row in places
    }
    if more:
        labels[None] = format_count(more, "more place")
    # A place without messages has 0; a level without messages has no oldest wait.
    messages: dict[int | None, _Values] = {place: dict.fromkeys(across, 0) for place in labels}
    for row in data.rows("waited"):
        messages[row["place"]][row["point"]] = row["messages"]
    waits: dict[int, _Values] = {}
    for row in sorted(data.rows("oldest_waits"), key=lambda row: -row["level"]):
        waits.setdefault(row["level"], {})[row["point"]] = row["seconds"]
    when = f"at {len(points)} as_ofs from {format_night(first['as_of'])} to {format_night(last['as_of'])}"
    return [
        Chart(
            "messages-over-time",
            f"Messages by queue {when}",
            _lines(across, {labels[place]: values for place, values in messages.items()}, format_number),
            step=LINE_STEP,
        ),
        Chart(
            "waits-over-time",
            f"Oldest wait by level {when}",
            _lines(across, {f"level {level}": values for level, values in waits.items()}, format_duration),
            step=LINE_STEP,
        ),
    ]


def _lines(
    across: Mapping[int, float], values: Mapping[str, _Values], text: Callable[[float], str]
) -> list[Bar]:
    """A line for each label, all on one scale."""
    last = max(across)
    highest = max((value for own in values.values() for value in own.values()), default=0) or 1
    return [
        Bar(
            label,
            f"{text(own[last]) if last in own else NO_VALUE} · most {text(max(own.values()))}",
            line=_path(across, own, highest),
        )
        for label, own in values.items()
    ]


def _path(across: Mapping[int, float], values: _Values, highest: float) -> str:
    """The path through the values; it has a gap where there is none, and a dash where one stands alone."""
    path, has_before = "", False
    for point, x in across.items():
        has_value = point in values
        if has_value:
            path += f"{'L' if has_before else 'M'}{x:.1f} {LINE * (1 - values[point] / highest):.1f}"
            path += "" if has_before else "h.5"
        has_before = has_value
    return path


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
