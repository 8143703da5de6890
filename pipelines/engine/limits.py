"""Limits of the system on this process that are too low for an engine."""

FILES = 64
"""Open files: with fewer, connections to the engine fail, and nothing says so."""
ADDRESS_SPACE = 6 << 30
"""Bytes: with less, libraries can't be loaded, or threads of the engine can't start."""


def tight_limit() -> str | None:
    """What limit is too low, and what to do; None if none is."""
    try:
        import resource
    except ImportError:  # Windows has no such limits.
        return None
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= files < FILES:
        return f"ulimit -n: this process may open {files} files; allow {FILES} or more"
    space, _ = resource.getrlimit(resource.RLIMIT_AS)
    if 0 <= space < ADDRESS_SPACE:
        return (
            f"ulimit -v: this process may use {space >> 20}m of address space; allow {ADDRESS_SPACE >> 30}g "
            "or more, or set it to unlimited"
        )
    return None
