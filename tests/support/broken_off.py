"""Writes that end in the middle, as those of a process that is killed do."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest


class BrokenOffError(BaseException):
    """Nothing catches it, as nothing catches kill -9."""


@contextmanager
def dying(monkeypatch: pytest.MonkeyPatch, writer: type, *names: str, after: int) -> Iterator[list[int]]:
    """Let so many calls of these methods come to pass, and none after them; the item is how many are left."""
    left = [after]

    def counted(write: Callable[..., None]) -> Callable[..., None]:
        def or_die(*args: object, **options: object) -> None:
            if not left[0]:
                raise BrokenOffError
            left[0] -= 1
            write(*args, **options)

        return or_die

    with monkeypatch.context() as patched:
        for name in names:
            patched.setattr(writer, name, counted(getattr(writer, name)))
        yield left
