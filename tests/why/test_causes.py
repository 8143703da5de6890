"""The causes as they are declared, and their page."""

from dev.findings_page import findings_page
from pipelines.why.causes import BY_CODE, CAUSES, CODES
from pipelines.why.causes.cause import ORDER
from tests.support.model.why import CODES as CODES_OF_MODEL
from tests.support.processes import ROOT


def test_the_codes_are_those_of_the_model_in_one_order() -> None:
    assert tuple(CODES_OF_MODEL) == CODES
    assert len(BY_CODE) == len(CAUSES)
    of_order = tuple(cause.code for cause in CAUSES if cause.severity == ORDER)
    assert of_order == ("outranked", "own_group_first", "older_first", "first_in_line")


def test_the_page_is_that_of_the_causes() -> None:
    assert (ROOT / "docs" / "findings.md").read_text("utf-8") == findings_page(), "run make docs"
    without = [cause.code for cause in CAUSES if "\n    To do: " not in (type(cause).__doc__ or "")]
    assert without == [], "these docstrings do not end with what to do"
