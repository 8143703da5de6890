"""The causes as they are declared, and their page."""

from pipelines.why.causes import BY_CODE, CAUSES
from pipelines.why.causes.cause import ORDER


def test_each_cause_has_a_code_and_those_of_the_order_stand_in_it() -> None:
    assert len(BY_CODE) == len(CAUSES)
    of_order = tuple(cause.code for cause in CAUSES if cause.severity == ORDER)
    assert of_order == ("outranked", "own_group_first", "older_first", "first_in_line")


def test_causes_end_with_what_to_do() -> None:
    without = [cause.code for cause in CAUSES if "\n    To do: " not in (type(cause).__doc__ or "")]
    assert without == [], "these docstrings do not end with what to do"
