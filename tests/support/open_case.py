"""The type of the fixture that opens a field case."""

from collections.abc import Callable

from tests.field.running import Case

OpenCase = Callable[..., Case]
