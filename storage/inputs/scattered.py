"""Whether new rows are scattered over many small files, as a stream writes them."""

from collections.abc import Iterator, Sequence

from storage.inputs.delta_log import new_sizes
from storage.inputs.listing import InputFile

MANY_FILES = 64
SMALL_FILE = 1 << 20
"""More files than that, of fewer bytes each on average, are many small files (our choice)."""


def are_scattered(files: Sequence[InputFile]) -> bool:
    """Whether to open the files takes longer than to read what is in them."""
    sizes = list(_sizes(files))
    return len(sizes) > MANY_FILES and sum(sizes) < SMALL_FILE * len(sizes)


def _sizes(files: Sequence[InputFile]) -> Iterator[int]:
    for file in files:
        if file.version is not None:
            yield from new_sizes(file.path, file.since, file.version)
        elif file.length is not None:
            yield file.length
