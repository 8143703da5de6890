"""The version of this code, as `runs.code_version` tells it."""

VERSION = "0.1.0"


def code_version() -> str:
    """The version of the code."""
    return VERSION
