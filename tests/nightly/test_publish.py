"""A run whose sums do not add up is not published."""

import pytest

from pipelines.config.errors import ReconciliationError
from pipelines.nightly.publish import reconcile

EVENTS = {"events": 11, "accepted": 7, "duplicates": 2, "rejected": 1, "pending": 1}
OPEN = {"open_receive": 5, "open_transmission": 4, "open_forwarded": 1}
WRITTEN = {
    "group_priorities": 3,
    "receive_schedule": 3,
    "unresolved_receive": 2,
    "transmission_schedule": 4,
    "transmission_schedule_forwarded": 1,
    "unresolved_transmission": 1,
    "activation": 9,
    "activation_summary": 2,
}


def test_sums_that_add_up_are_told() -> None:
    expected = EVENTS | OPEN | WRITTEN
    del expected["group_priorities"]
    assert reconcile(EVENTS, OPEN, WRITTEN) == expected


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        ({"accepted": 6}, "events = accepted + duplicates + rejected + pending: 11 is not 10"),
        ({"receive_schedule": 2}, "open to receive = scheduled + unresolved: 5 is not 4"),
        ({"unresolved_receive": 3}, "open to receive = scheduled + unresolved: 5 is not 6"),
        ({"unresolved_transmission": 0}, "open to transmit = scheduled + unresolved: 4 is not 3"),
        ({"open_transmission": 5}, "open to transmit = scheduled + unresolved: 5 is not 4"),
        ({"open_forwarded": 0}, "being forwarded = scheduled: 0 is not 1"),
    ],
)
def test_a_row_too_few_or_too_many_is_named(lost: dict[str, int], said: str) -> None:
    changed = [
        {**counts, **{name: lost[name] for name in lost if name in counts}}
        for counts in (EVENTS, OPEN, WRITTEN)
    ]
    with pytest.raises(ReconciliationError) as caught:
        reconcile(*changed)
    assert str(caught.value) == (
        f"the run's sums do not add up, nothing is published: {said}; please report this as a fault"
    )
    assert caught.value.exit_code == 1
