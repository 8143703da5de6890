"""Rules and settings that are proposed in place of the current ones."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from config.catalog import Catalog
from config.errors import ConfigError
from config.load import Settings, folded_rules, load_for_lint
from config.rules.history import Folded, RuleVersion
from config.rules.read import read_rules
from config.rules.rule_file import RuleFile

EARLIEST = datetime(1900, 1, 1, tzinfo=UTC)
"""No event is older: a statement of this moment precedes all others."""

UNSAID = ""
"""The instance of a statement for which neither file nor command line names one."""


@dataclass(frozen=True)
class Proposal:
    """What is proposed.

    Attributes:
        settings: the current settings with the proposed rules, honor flags, receive and transmission.
        folded: the proposed rule statements, none of them refused.
    """

    settings: Settings
    folded: Folded


def proposed_rules(current: Settings, given: Sequence[str]) -> Proposal:
    """Read `[INSTANCE=]FILE` arguments, which take the place of the settings' rule sources.

    The statements of a script are of that instance, else of the catalog's only one, and precede all dated
    ones. Snapshots are no rule sources: their rules stay in databases that the files have no statements of.

    Raises:
        ConfigError: a file is missing or wrong, or its instance is not known; one line a problem.
    """
    files: list[RuleFile] = []
    problems: list[str] = []
    for argument in given:
        try:
            files.append(_file(current.catalog, argument))
        except ConfigError as error:
            problems.extend(error.problems)
    if problems:
        raise ConfigError(*problems)
    folded = folded_rules(files, current.snapshots)
    folded.require_accepted()
    return Proposal(replace(current, rule_files=tuple(files), rule_history=folded.versions), folded)


def proposed_settings(current: Settings, path: str) -> Proposal:
    """Read a settings file whose rules, honor flags, receive and transmission are proposed.

    Raises:
        ConfigError: the file is wrong, or differs in what a proposal can't change; each is named.
    """
    settings, folded = load_for_lint(path)
    folded.require_accepted()
    problems = [
        f"{path}: {what} differ from those of {current.path}; a proposal may change rules, "
        "honor_broker_priority, receive.top, transmission.starvation and transmission.blocks only"
        for what in _differences(current, settings)
    ]
    if problems:
        raise ConfigError(*problems)
    return Proposal(settings, folded)


def standing(versions: Sequence[RuleVersion]) -> list[RuleVersion]:
    """The rules that stand after the last statement, as if they had always stood."""
    return [replace(version, valid_from=EARLIEST) for version in versions if version.valid_to is None]


def _file(catalog: Catalog, argument: str) -> RuleFile:
    instances = sorted({instance for instance, *_ in catalog.database_rows()})
    instance, path = _instance_and_path(instances, argument)
    file = read_rules(path, instance=instance, effective_from=EARLIEST)
    if homeless := [statement for statement in file.statements if statement.instance == UNSAID]:
        raise ConfigError(
            f"{homeless[0].origin}: nothing names its instance, and the catalog has {', '.join(instances)}; "
            f"write --rules INSTANCE={path}"
        )
    return file


def _instance_and_path(instances: Sequence[str], argument: str) -> tuple[str, str]:
    name, sign, rest = argument.partition("=")
    path = rest if sign and not os.path.exists(argument) else argument
    if not os.path.exists(path):
        raise ConfigError(f"--rules {argument}: there is no file {path}; correct the path")
    if path != argument:
        if name not in instances:
            raise ConfigError(
                f"--rules {argument}: the catalog has no instance {name!r}; it has {', '.join(instances)}"
            )
        return name, path
    return (instances[0] if len(instances) == 1 else UNSAID), path


def _differences(current: Settings, proposed: Settings) -> list[str]:
    ours, theirs = current.catalog, proposed.catalog
    pairs = {
        "warehouse": (current.warehouse, proposed.warehouse),
        "inputs": (current.inputs, proposed.inputs),
        "instances and databases": (
            sorted(row[:2] for row in ours.database_rows()),
            sorted(row[:2] for row in theirs.database_rows()),
        ),
        "services and their queues": (sorted(ours.service_bindings()), sorted(theirs.service_bindings())),
        "queues and their statuses": (sorted(ours.queue_rows()), sorted(theirs.queue_rows())),
    }
    return [what for what, (one, other) in pairs.items() if one != other]
