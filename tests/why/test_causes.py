"""The causes as they are declared, and their page."""

import re

from pipelines.why.causes import BY_CODE, CAUSES, CODES
from pipelines.why.causes.cause import ORDER
from tests.support.model.why import CODES as CODES_OF_MODEL
from tests.support.processes import ROOT

PAGE = (ROOT / "docs" / "why.md").read_text("utf-8")


def test_the_codes_are_those_of_the_model_in_one_order() -> None:
    assert tuple(CODES_OF_MODEL) == CODES
    assert len(BY_CODE) == len(CAUSES)
    of_order = tuple(cause.code for cause in CAUSES if cause.severity == ORDER)
    assert of_order == ("outranked", "own_group_first", "older_first", "first_in_line")


def test_the_page_has_the_docstring_of_each_cause_in_their_order() -> None:
    paragraphs = re.findall(r"^\*\*(\w+)\.\*\* (.*?)\n\n", PAGE, re.DOTALL | re.MULTILINE)
    found = [(code, " ".join(text.split())) for code, text in paragraphs]
    assert found == [(cause.code, " ".join((type(cause).__doc__ or "").split())) for cause in CAUSES]
