"""Write the zip that carries this project's Python packages to Spark, and print its path.

The name holds a hash of the contents and the entries have one fixed time, so the same sources always give the
same bytes and an unchanged tree is not packed twice. Zips of earlier sources go after a day.
"""

import hashlib
import os
import sys
import tempfile
import time
import zipfile
from contextlib import suppress
from pathlib import Path

PACKAGES = ("jobs", "pipelines", "schemas")
EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip can hold
A_DAY = 24 * 60 * 60


def sources(root: Path) -> list[tuple[str, bytes]]:
    """All files of the packages as (name in the zip, contents), sorted; no caches, no hidden files."""
    found = []
    for package in PACKAGES:
        for path in (root / package).rglob("*"):
            parts = path.relative_to(root).parts
            skipped = path.suffix == ".pyc" or any(p.startswith(".") or p == "__pycache__" for p in parts)
            if path.is_file() and not skipped:
                found.append(("/".join(parts), path.read_bytes()))
    return sorted(found)


def digest(files: list[tuple[str, bytes]]) -> str:
    """A hash over names and contents; lengths keep neighbours apart."""
    total = hashlib.sha256()
    for name, content in files:
        total.update(f"{name}\0{len(content)}\0".encode())
        total.update(content)
    return total.hexdigest()[:16]


def package(root: Path) -> Path:
    """The zip of the packages under `root`, written if it is not there yet."""
    files = sources(root)
    target = root / "build" / f"packages-{digest(files)}.zip"
    if target.exists():
        return target
    target.parent.mkdir(exist_ok=True)
    for old in target.parent.glob("packages-*.zip"):
        # A job copies its zip when it starts. Another that starts now may be tidying up as well.
        with suppress(FileNotFoundError):
            if old.stat().st_mtime < time.time() - A_DAY:
                old.unlink()
    # Written aside and renamed: a job that starts at the same moment sees the whole zip or none.
    handle, partial = tempfile.mkstemp(dir=target.parent, prefix=".packages-", suffix=".partial")
    try:
        with os.fdopen(handle, "wb") as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files:
                entry = zipfile.ZipInfo(name, EPOCH)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = 0o644 << 16
                archive.writestr(entry, content)
        os.chmod(partial, 0o644)
        os.replace(partial, target)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise
    return target


if __name__ == "__main__":
    sys.stdout.write(f"{package(Path(__file__).resolve().parent.parent)}\n")
