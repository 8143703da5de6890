"""Metrics as text that OpenMetrics and the older text form of Prometheus share: gauges without timestamps."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

PREFIX = "service_broker_"
ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", '"': '\\"'})
Label = str | int | None
Sample = tuple[Sequence[Label], float]
"""The values of the labels, null for none, and the value."""


@dataclass(frozen=True)
class Family:
    """The metrics of one name.

    Attributes:
        name: without PREFIX.
        labels: their names.
        help: what is measured.
    """

    name: str
    labels: tuple[str, ...]
    help: str

    @property
    def full_name(self) -> str:
        """The name as monitoring tools see it."""
        return PREFIX + self.name


def write_text(families: Iterable[tuple[Family, Sequence[Sample]]]) -> str:
    """Return the text of all families that have samples, in their order."""
    lines = []
    for family, samples in families:
        if samples:
            lines += [f"# HELP {family.full_name} {family.help}", f"# TYPE {family.full_name} gauge"]
            lines += [f"{family.full_name}{_labels(family, values)} {_number(n)}" for values, n in samples]
    return "".join(f"{line}\n" for line in [*lines, "# EOF"])


def _labels(family: Family, values: Sequence[Label]) -> str:
    pairs = zip(family.labels, values, strict=True)
    told = [f'{name}="{_text(value).translate(ESCAPES)}"' for name, value in pairs]
    return f"{{{','.join(told)}}}" if told else ""


def _text(value: Label) -> str:
    return "" if value is None else str(value)


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))
