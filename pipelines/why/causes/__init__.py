"""The causes of `why`, in the order of the modules, and of the classes in each."""

from pipelines.why.causes import databases, order, readers, rules, sending, unplaced
from pipelines.why.causes.cause import Cause

CAUSES: tuple[Cause, ...] = tuple(
    member()
    for module in (rules, order, databases, readers, sending, unplaced)
    for member in vars(module).values()
    if isinstance(member, type) and issubclass(member, Cause) and member.__module__ == module.__name__
    if hasattr(member, "code")
)
"""All of them; answers break ties in this order."""
BY_CODE = {cause.code: cause for cause in CAUSES}
CODES = tuple(BY_CODE)
