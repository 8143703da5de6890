"""Queues in Python workers, without an engine."""

import numpy as np
import pytest

from pipelines.queue_machine.workers import require_order


def test_an_order_that_the_engine_did_not_keep_is_seen() -> None:
    assert require_order(np.array([4, 4, 5]), None) == 5
    assert require_order(np.array([5]), 5) == 5
    for positions, last in (([5, 4], None), ([4], 5)):
        with pytest.raises(RuntimeError, match="did not keep the order"):
            require_order(np.array(positions), last)
