"""The causes as they are declared, and their page."""

from pipelines.why.causes import BY_CODE, CAUSES, CODES
from pipelines.why.causes.cause import ORDER
from tests.support.model.why import CODES as CODES_OF_MODEL


def test_the_codes_are_those_of_the_model_in_one_order() -> None:
    assert tuple(CODES_OF_MODEL) == CODES
    assert len(BY_CODE) == len(CAUSES)
    of_order = tuple(cause.code for cause in CAUSES if cause.severity == ORDER)
    assert of_order == ("outranked", "own_group_first", "older_first", "first_in_line")


def test_causes_end_with_what_to_do() -> None:
    without = [cause.code for cause in CAUSES if "\n    To do: " not in (type(cause).__doc__ or "")]
    assert without == [], "these docstrings do not end with what to do"
