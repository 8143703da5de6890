"""The machine of a replay alone, without an engine."""

from collections.abc import Iterator
from random import Random
from statistics import mean, stdev

import pytest

from pipelines.queue_machine.workers import BITS
from pipelines.replay import timeline as codes
from pipelines.replay.player import Machine, Player

SECOND = 1_000_000
BATCHES = 20
T_999 = 3.883
"""Student's t for 19 degrees of freedom: 99.9 % of the means of 20 batches lie within it."""


def machine(end: int, readers: int | None = 1, top: int | None = None, *, drain: bool = False) -> Machine:
    return Machine(start=0, end=end, readers=readers, top=top, drain=drain)


def arrival(time: int, number: int, level: int, work: int, group: str | None = None) -> tuple[object, ...]:
    """A message that arrives in a conversation of its own."""
    name = f"m{number}"
    position = (time << BITS) + codes.ARRIVAL
    return (position, name, name, group or name, time, None, level, 2, number, work, False)


def play(player: Player, rows: list[tuple[object, ...]]) -> dict[str, int | None]:
    player.play([list(column) for column in zip(*rows, strict=True)])
    return player.finish()


def poisson(random: Random, rates: dict[int, float], count: int) -> Iterator[tuple[int, int]]:
    """Moments in microseconds with a level each."""
    time, total = 0.0, sum(rates.values())
    for _ in range(count):
        time += random.expovariate(total)
        yield int(time * SECOND), random.choices(list(rates), list(rates.values()))[0]


@pytest.mark.slow
def test_one_reader_with_exponential_times_meets_cobhams_formula() -> None:
    random, rates, count = Random(23), {9: 0.2, 5: 0.3, 1: 0.25}, 20_000
    rows = [
        arrival(time, number, level, int(random.expovariate(1.0) * SECOND))
        for number, (time, level) in enumerate(poisson(random, rates, count))
    ]
    player = Player(machine(rows[-1][4] + 1, drain=True))  # type: ignore[operator]
    play(player, rows)
    waits: dict[int, list[float]] = {level: [] for level in rates}
    for _, arrived, started, _, _, level, *_ in sorted(player.finished, key=lambda row: row[1]):
        waits[level].append((started - arrived) / SECOND)
    # The work that an arrival finds under way: the sum of all rates times half the second moment, 2.
    under_way, load = sum(rates.values()), 0.0
    for level, rate in rates.items():
        expected = under_way / ((1 - load) * (1 - load - rate))
        load += rate
        size = len(waits[level]) // BATCHES
        batches = [mean(waits[level][position * size : (position + 1) * size]) for position in range(BATCHES)]
        assert abs(mean(batches) - expected) < T_999 * stdev(batches) / BATCHES**0.5, level


def test_more_readers_find_only_locked_groups() -> None:
    rows = [arrival(0, number, 5, SECOND, "one group") for number in range(3)]
    player = Player(machine(10 * SECOND, readers=2, top=1))
    totals = play(player, rows)
    assert [(started, number) for _, _, started, _, number, *_ in player.finished] == [
        (0, 1),
        (SECOND, 2),
        (2 * SECOND, 3),
    ]
    assert (totals["busy"], totals["idle_locked"]) == (3 * SECOND, 2 * SECOND)


def test_a_conversation_is_as_old_as_its_oldest_arrival_since_it_was_empty() -> None:
    def ready(time: int, arrived: int, conversation: str) -> tuple[object, ...]:
        position = (time << BITS) + codes.ARRIVAL
        message_id = f"{conversation} {arrived}"
        return (position, message_id, conversation, "g", arrived, None, 5, 2, -arrived, 10, False)

    lock = (codes.LOCK, None, None, "g", None, None, None, None, None, 30, None)
    # What came first in b comes back after the others; a is older until then.
    rows = [lock, ready(10, 10, "a"), ready(12, 12, "b"), ready(20, 5, "b")]
    player = Player(machine(100, top=1))
    play(player, rows)
    taken = [row[0] for row in sorted(player.finished, key=lambda row: row[4])]
    assert taken == ["b 12", "b 5", "a 10"]
