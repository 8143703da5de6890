"""The example of every job's --help starts that job, in one of its two ways, on files that are there."""

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
JOBS = sorted(path.stem for path in (ROOT / "jobs").glob("*.py") if "launch(main)" in path.read_text())
KEPT = re.compile(r"(?:conf|samples)/[^\s=]+")
"""Files of the checkout; what a command writes lies elsewhere."""


@pytest.mark.parametrize("name", JOBS)
def test_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        import_module(f"jobs.{name}").main(["--help"])
    (example,) = re.findall(r"^example: (.+)$", capsys.readouterr().out, re.MULTILINE)
    assert example.startswith((f".venv/bin/python -m jobs.{name} ", f"./spark-submit.sh jobs/{name}.py "))
    assert [path for path in KEPT.findall(example) if not (ROOT / path).exists()] == []
