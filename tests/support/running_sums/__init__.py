"""The figures of conformance a second way: an oracle that shares only the timeline with the machine.

Groups become free, change their level and are held: a running sum of +1 and -1 over a queue says before each
decision how many groups there were at each level. numpy looks at a whole queue at once.
"""

from .facts import facts
from .figures import FIGURES, comparable, figures_at, figures_of

__all__ = ["FIGURES", "comparable", "facts", "figures_at", "figures_of"]
