"""Which view a file of a snapshot is, by its name, and which views `complete` means."""

from collections.abc import Collection, Iterable, Mapping

from pipelines.config.nearest import nearest
from pipelines.config.queue_filter import name_parts
from pipelines.server.snapshots.views import FILE_VIEWS, is_queue, queue_of

DEFAULT_SCHEMA = "dbo"


def find_view(stem: str, database: str) -> str | None:
    """The view that a name means, as this project spells it; None for a name without schema that is no view.

    Case does not count in names of views; `sys.`, and the name of the snapshot's database before that, may
    be left out. A queue is what follows the first dot; brackets around its names do not count.
    """
    parts = _parts(stem)
    if len(parts) > 2 and parts[0].lower() == database.lower():
        parts = parts[1:]
    if len(parts) == 2 and parts[0].lower() == "sys":
        return parts[1].lower() if parts[1].lower() in FILE_VIEWS else None
    if len(parts) > 1:
        return f"{parts[0]}.{'.'.join(parts[1:])}"
    name = parts[0].lower()
    return name if name in FILE_VIEWS else None


def find_queues(stem: str, complete: Iterable[str], others: Collection[str], database: str) -> list[str]:
    """The queues that a name without schema may mean: those of `complete` and of other files, else of dbo.

    Args:
        stem: the name, which is no view's.
        complete: what the settings say is complete.
        others: queues of other files.
        database: of the snapshot.
    """
    (name,) = _parts(stem)
    default = f"{DEFAULT_SCHEMA}.{name}"
    declared = [view for each in complete if (view := find_view(each, database)) and is_queue(view)]
    known = dict.fromkeys([*others, *declared])
    exact = [view for view in known if queue_of(view) == name]
    return exact or [view for view in known if queue_of(view).lower() == name.lower()] or [default]


def find_complete_views(
    complete: Iterable[str], found: Collection[str], database: str
) -> tuple[frozenset[str], dict[str, list[str]]]:
    """The views that `complete` means.

    Args:
        complete: names as the settings have them, with or without `sys.` or schema, in any case.
        found: the views that have files.
        database: of the snapshot.

    Returns:
        Those of `found`; and each name that means none or several of them, with these.
    """
    meant = set[str]()
    unclear: dict[str, list[str]] = {}
    for name in dict.fromkeys(complete):
        named = find_view(name, database)
        queue = ".".join(_parts(name))

        def is_meant(view: str, named: str | None = named, queue: str = queue) -> bool:
            return (
                view.lower() == named.lower()
                if named
                else is_queue(view) and queue_of(view).lower() == queue.lower()
            )

        several = [view for view in found if is_meant(view)]
        # A server may tell names apart by their case.
        exact = [view for view in several if named == view or (named is None and queue_of(view) == queue)]
        if len(exact or several) == 1:
            meant.update(exact or several)
        else:
            unclear[name] = several
    return frozenset(meant), unclear


def nearest_view(stem: str) -> str | None:
    """Return the view whose name is most like this one; None if none is like it."""
    name = _parts(stem)[-1].lower()
    return nearest(name, FILE_VIEWS, cutoff=0.75)


def find_spellings(views: Iterable[str], queues: Iterable[str]) -> Mapping[str, str]:
    """How the server spells the queues of views, where case is all that differs from one of `queues`."""
    known: dict[str, list[str]] = {}
    for queue in queues:
        known.setdefault(queue.lower(), []).append(queue)
    spelled = {}
    for view in filter(is_queue, views):
        same = known.get(queue_of(view).lower(), [])
        if len(same) == 1 and same[0] != queue_of(view):
            spelled[view] = f"{view.partition('.')[0]}.{same[0]}"
    return spelled


def _parts(name: str) -> list[str]:
    """The parts of a name between dots that stand in no brackets."""
    return name_parts(name) or name.split(".")
