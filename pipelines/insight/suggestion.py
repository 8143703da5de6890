"""A rule that could be added, written so that it can be pasted into a rule file."""

import yaml

from pipelines.insight.standing_rules import Names, Place

_WIDE = 10_000
"""No line breaks."""


def suggested_rule(place: Place, names: Names, level: int) -> str:
    """Return a CREATE statement in YAML for endpoints with these names; the names make its own name."""
    contract, local, remote = ("ANY" if name is None else _named(name) for name in names)
    instance, database = place
    entry = {
        "instance": instance,
        "database": database,
        "create": {
            "name": " ".join(name for name in names if name is not None)[:128],
            "contract": contract,
            "local_service": local,
            "remote_service": remote,
            "level": level,
        },
    }
    text = yaml.safe_dump([entry], default_flow_style=True, sort_keys=False, allow_unicode=True, width=_WIDE)
    return f"- {text.strip()[1:-1]}"


def _named(name: str) -> str | dict[str, str]:
    return {"name": name} if name == "ANY" else name
