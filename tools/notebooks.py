"""Run the notebooks, and keep what they show.

.venv/bin/python tools/notebooks.py                    # all, with conf/local.yaml, into build/notebooks
.venv/bin/python tools/notebooks.py --config my/settings.yaml notebooks/rules.py
eval "$(.venv/bin/python tools/notebooks.py --env)"    # for a Jupyter of your own
"""

import argparse
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 600
"""That one cell may take."""


def environment(root: Path) -> dict[str, str]:
    """What a kernel needs so that `SparkSession.builder.getOrCreate()` has Delta, and UTC."""
    jars = ",".join(str(jar) for jar in sorted((root / ".jars").glob("*.jar")))
    conf = root / "conf" / "spark" / "local.conf"
    submit = ["--properties-file", str(conf), "--jars", jars, "pyspark-shell"]
    return {
        "PYTHONPATH": str(root),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": shlex.join(submit),
        "TZ": "UTC",
        "LOG4J_CONFIGURATION_FILE": str(root / "conf" / "spark" / "log4j2.properties"),
    }


def run(notebook: Path, out: Path, config: str, extra: Mapping[str, str] | None = None) -> Path:
    """Execute a notebook and write it with its results as .ipynb; a cell that fails is an error."""
    import jupytext
    import nbformat
    from nbclient import NotebookClient

    content = jupytext.read(notebook)
    # A kernel that ends with Spark still at work leaves a stack trace behind.
    content.cells.append(nbformat.v4.new_code_cell("spark.stop()"))
    client = NotebookClient(
        content,
        timeout=SECONDS,
        kernel_name="python3",
        # It warns of TCP, on loopback and for a minute.
        extra_arguments=["--IPKernelApp.log_level=ERROR"],
        # Beside the notebook, as in an editor.
        resources={"metadata": {"path": str(notebook.parent)}},
    )
    wanted = environment(ROOT) | {"SETTINGS": os.path.abspath(config)} | dict(extra or {})
    client.execute(env={**os.environ, **wanted})
    content.cells.pop()
    out.mkdir(parents=True, exist_ok=True)
    target = out / f"{notebook.stem}.ipynb"
    nbformat.write(content, target)
    return target


def main(argv: Sequence[str]) -> int:
    """Run notebooks, or print the environment that they need."""
    parser = argparse.ArgumentParser(description="Run the notebooks, and keep what they show.")
    parser.add_argument("notebooks", nargs="*", type=Path, help="default: all of notebooks/")
    parser.add_argument("--config", default=str(ROOT / "conf" / "local.yaml"), help="settings file")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "build" / "notebooks", help="folder for the results"
    )
    parser.add_argument(
        "--env", action="store_true", help="print the environment for a shell, and do nothing"
    )
    options = parser.parse_args(argv)
    if options.env:
        for name, value in environment(ROOT).items():
            print(f"export {name}={shlex.quote(value)}")
        return 0
    for notebook in options.notebooks or sorted((ROOT / "notebooks").glob("*.py")):
        print(run(notebook.resolve(), options.out, options.config))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
