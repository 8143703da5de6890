"""Say which version this is, and on what it runs."""

import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from pipelines.commands.options import Parser
from pipelines.config.version import code_version

PACKAGES = ("pysail", "pyspark", "pyspark-client", "deltalake", "pyarrow")


def main(argv: Sequence[str]) -> int:
    """Parse the command line, and print one line."""
    parser = Parser("version", "Say which version this is, and on what it runs.", config=False)
    parser.parse_args(argv)
    found = {name: installed for name in PACKAGES if (installed := _version(name))}
    on = ", ".join(f"{name} {installed}" for name, installed in found.items())
    print(f"priorities {code_version()} (Python {platform.python_version()}, {on})")
    return 0


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
