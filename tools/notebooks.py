"""Run the notebooks, and keep what they show.

.venv/bin/python tools/notebooks.py                    # all, with conf/local.yaml, into build/notebooks
.venv/bin/python tools/notebooks.py --config my/settings.yaml notebooks/rules.py
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 600
"""That one cell may take."""


def run(notebook: Path, out: Path, config: str, extra: Mapping[str, str] | None = None) -> Path:
    """Execute a notebook and write it with its results as .ipynb; a cell that fails is an error."""
    import jupytext
    import nbformat
    from nbclient import NotebookClient

    content = jupytext.read(notebook)
    client = NotebookClient(
        content,
        timeout=SECONDS,
        kernel_name="python3",
        # It warns of TCP, on loopback and for a minute.
        extra_arguments=["--IPKernelApp.log_level=ERROR"],
        # Beside the notebook, as in an editor.
        resources={"metadata": {"path": str(notebook.parent)}},
    )
    wanted = {"PYTHONPATH": str(ROOT), "SETTINGS": os.path.abspath(config)} | dict(extra or {})
    client.execute(env={**os.environ, **wanted})
    out.mkdir(parents=True, exist_ok=True)
    target = out / f"{notebook.stem}.ipynb"
    nbformat.write(content, target)
    return target


def main(argv: Sequence[str]) -> int:
    """Run notebooks."""
    parser = argparse.ArgumentParser(description="Run the notebooks, and keep what they show.")
    parser.add_argument("notebooks", nargs="*", type=Path, help="default: all of notebooks/")
    parser.add_argument("--config", default=str(ROOT / "conf" / "local.yaml"), help="settings file")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "build" / "notebooks", help="folder for the results"
    )
    options = parser.parse_args(argv)
    for notebook in options.notebooks or sorted((ROOT / "notebooks").glob("*.py")):
        print(run(notebook.resolve(), options.out, options.config))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
