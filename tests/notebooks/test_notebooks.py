"""Every notebook runs from top to bottom on a small warehouse, in a kernel of its own."""

from pathlib import Path

import jupytext
import nbformat
import pytest

from tests.support.harness import Project
from tests.support.notebooks import EXPECTED, NOTEBOOKS, ROOT, figures, shown
from tools import notebooks

PNG = b"\x89PNG\r\n\x1a\n"


PROJECTS = {"what_readers_did": "packing"}
"""The fixtures of those that need another warehouse."""


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(notebook: Path, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    project: Project = request.getfixturevalue(PROJECTS.get(notebook.stem, "project"))
    written = notebooks.run(notebook, tmp_path, project.config)
    content = nbformat.read(written, as_version=4)
    count, said = EXPECTED[notebook.stem]
    text = shown(content)
    assert [line for line in said if line not in text] == []
    pictures = figures(content)
    assert len(pictures) == count
    assert all(picture.startswith(PNG) for picture in pictures)


def test_no_notebook_is_kept_with_results() -> None:
    assert list((ROOT / "notebooks").glob("*.ipynb")) == []
    assert {path.stem for path in NOTEBOOKS} == EXPECTED.keys()
    for path in NOTEBOOKS:
        assert jupytext.read(path).cells[0].source.startswith("# ")
