"""Conversation priorities for Service Broker, worked out offline from event logs and server views.

The public names; all others may change with any version:

    import pipelines

    warehouse = pipelines.open_warehouse("priorities.yaml")
    warehouse.as_ofs                                   # the moments that were published
    warehouse.read("receive_schedule")                 # a Spark DataFrame of the newest as_of
    warehouse.read_pandas("receive_schedule", as_of)   # the same in pandas, of another one
    warehouse.next(queue="OrderQueue", limit=3)        # what `priorities next --format json` prints
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipelines.api import OpenWarehouse, open_warehouse
    from pipelines.config.errors import ConfigError, PipelineError

__version__ = "0.1.0"
"""The version of this code, also in `runs.code_version`."""
__all__ = ["ConfigError", "OpenWarehouse", "PipelineError", "__version__", "open_warehouse"]

HOMES = {
    "ConfigError": "pipelines.config.errors",
    "OpenWarehouse": "pipelines.api",
    "PipelineError": "pipelines.config.errors",
    "open_warehouse": "pipelines.api",
}
"""Where the public names are. They are imported when they are first asked for: each command imports this."""


def __getattr__(name: str) -> Any:
    """Import a public name."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
