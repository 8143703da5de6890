"""Rules and settings that are proposed beside the current ones."""

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from pipelines.config.errors import ConfigError, read_each
from pipelines.config.instants import FIRST
from pipelines.config.nearest import suggest_nearest
from pipelines.config.yaml_file import load_yaml
from pipelines.rules.history import Fault, Refusal, RuleHistory, RuleVersion, apply_statements
from pipelines.rules.statements import Note, NoteReason, RuleDefaults, RuleFile
from pipelines.server.snapshots.missing_names import find_missing_names
from pipelines.settings.load import Settings, rule_history_of, rule_statements
from pipelines.settings.rule_sources import read_rules

log = logging.getLogger(__name__)

UNSAID = ""
"""The instance of a statement for which neither file nor command line names one."""

Places = Mapping[str, set[str]]
"""The databases of each instance."""


@dataclass(frozen=True)
class Proposal:
    """What is proposed.

    Attributes:
        settings: the current settings with the proposed rules, honor flags, receive and transmission.
        folded: the proposed rule statements, none of them refused.
        replaced: how many of the rules that stand it replaces; None if it lays statements over them.
        files: the rule files that the command line names.
    """

    settings: Settings
    folded: RuleHistory
    replaced: int | None = None
    files: tuple[RuleFile, ...] = ()

    def at(self, moment: datetime) -> "Proposal":
        """The proposal with the catalog of a moment."""
        return replace(self, settings=self.settings.at(moment))

    def rules(self) -> int:
        """How many rules stand after the last proposed statement."""
        return len(keep_standing_rules(self.settings.rule_history))

    def notes(self) -> Iterator[Note]:
        """Yield what of its files does not count; a file without rules has its own warning."""
        for file in self.files:
            yield from (note for note in file.notes if note.kind is not NoteReason.NO_RULES)

    def ignored_settings(self) -> Iterator[str]:
        """Yield a line for each HONOR_BROKER_PRIORITY that its files turn, which changes no answer."""
        known = self.settings.catalog.honors()
        said = {(each.instance, each.database): each for file in self.files for each in file.honor_settings}
        for place, each in said.items():
            if known.get(place, each.is_on) != each.is_on:
                turned = "on" if each.is_on else "off"
                is_now = {True: "on", False: "off", None: "not known"}[known[place]]
                yield (
                    f"{each.location}: HONOR_BROKER_PRIORITY is turned {turned}, and the answer takes it "
                    "as it "
                    f"is now, {is_now}; to ask for both, name settings by --proposed"
                )


def read_changes(current: Settings, given: Sequence[str]) -> Proposal:
    """Read `[INSTANCE=]FILE` arguments and lay their statements over the rules that stand.

    These are known from rule files or from snapshots. The statements come after all others, in the order of
    the files, whatever their dates.

    Raises:
        ConfigError: as for `read_replacement`, or a statement does not fit the rules that stand, is of a
            database that the settings do not know, or has a name that its database lacks.
    """
    files = _files(current, "--change", given)
    ConfigError.raise_any(_find_unknown_databases(current, files))
    ConfigError.raise_any(map(str, find_missing_names(files, current.snapshots, are_later=False)))
    if not any(file.statements for file in files):
        raise _no_statement_error(
            f"--change {' '.join(given)}: has no rule statement; name a file with one", files
        )
    stated = rule_statements(current.rule_files, current.snapshots)
    last = max((statement.effective_from for statement in stated), default=FIRST)
    changes = [replace(statement, effective_from=last) for file in files for statement in file.statements]
    folded = apply_statements([*stated, *changes])
    folded.require_accepted()
    rule_files = (*current.rule_files, *files)
    settings = replace(current, rule_files=rule_files, rule_history=folded.versions)
    return Proposal(settings, folded, files=tuple(files))


def read_replacement(current: Settings, given: Sequence[str]) -> Proposal:
    """Read `[INSTANCE=]FILE` arguments, which take the place of the settings' rule sources.

    The statements of a script are of that instance, else of the only one, and of the database that USE
    names, else of the instance's only one. Statements without a date precede all dated ones. As with
    settings, the rules that a snapshot shows stand in databases that the files have no statements of, unless
    all files say that there is no rule.

    Raises:
        ConfigError: a file is missing or wrong, or its instance is not known; one line a problem.
    """
    files = _files(current, "--rules", given)
    for unknown in _find_unknown_databases(current, files):
        log.warning("%s", unknown)
    if all(_is_empty(file) for file in files):
        message = "has no rule statement; for no rules at all name a YAML file with []"
        raise _no_statement_error(f"--rules {' '.join(given)}: {message}", files)
    are_none = not any(file.statements for file in files)
    folded = rule_history_of(files, () if are_none else current.snapshots)
    if folded.refusals:
        standing_now = {version.key[:3] for version in keep_standing_rules(current.rule_history)}
        raise ConfigError(*(_refused(refusal, standing_now) for refusal in folded.refusals))
    settings = replace(current, rule_files=tuple(files), rule_history=folded.versions)
    replaced = len(keep_standing_rules(current.rule_history)) if are_none else count_replaced(current, files)
    return Proposal(settings, folded, replaced, tuple(files))


def count_replaced(current: Settings, files: Sequence[RuleFile]) -> int:
    """Count the rules that stand and that rule files in place of the current ones replace.

    Rules that a snapshot shows are replaced where these files have statements of their database.
    """
    stated = [statement for file in (*current.rule_files, *files) for statement in file.statements]
    places = {(statement.instance, statement.database) for statement in stated}
    return sum(
        (version.instance, version.database) in places
        for version in keep_standing_rules(current.rule_history)
    )


def keep_standing_rules(versions: Sequence[RuleVersion]) -> list[RuleVersion]:
    """The rules that stand after the last statement, as if they had always stood."""
    return [replace(version, valid_from=FIRST) for version in versions if version.valid_to is None]


def _refused(refusal: Refusal, standing_now: set[tuple[str, str, str]]) -> str:
    statement = refusal.statement
    name = statement.instance, statement.database, statement.name
    if refusal.fault is Fault.NO_SUCH_RULE and name in standing_now:
        return (
            f"{refusal.message}; --rules replaces the rule of that name that stands; to change it, name the "
            "file with --change"
        )
    return refusal.message


def _files(current: Settings, option: str, given: Sequence[str]) -> list[RuleFile]:
    places = _known_databases(current)
    files = read_each(lambda argument: _file(places, option, argument, current.variables), given)
    for file in files:
        if _is_empty(file):
            log.warning("%s %s: the file has no rule statement", option, file.path)
    return files


def _no_statement_error(message: str, files: Sequence[RuleFile]) -> ConfigError:
    """The error for files without a statement, with the places of what they have instead."""
    instead_of = (note for file in files for note in file.notes if note.kind is not NoteReason.NO_RULES)
    return ConfigError(message, *map(str, instead_of))


def _is_empty(file: RuleFile) -> bool:
    """Whether a file has no statement; a YAML file with [] says that there is no rule."""
    if file.statements:
        return False
    return file.path.lower().endswith(".sql") or load_yaml(file.path).data is None


def _known_databases(current: Settings) -> Places:
    """The databases that the catalog, the snapshots and the rule files of the settings name, by instance."""
    places: dict[str, set[str]] = {instance.name: set() for instance in current.catalog.instances}
    named = [
        *(row[:2] for row in current.catalog.database_rows()),
        *(snapshot.database_key for snapshot in current.snapshots),
        *current.databases_of_rule_files,
    ]
    for instance, database in named:
        places.setdefault(instance, set()).add(database)
    return places


def _file(places: Places, option: str, argument: str, variables: Mapping[str, str]) -> RuleFile:
    instance, path = _instance_and_path(places, option, argument)
    database = _database(places, instance, path)
    file = read_rules(path, RuleDefaults(instance, FIRST, database, variables))
    if homeless := [statement for statement in file.statements if statement.instance == UNSAID]:
        raise ConfigError(
            f"{homeless[0].location}: nothing names its instance, and the catalog has "
            f"{', '.join(sorted(places)) or 'none'}; write {option} INSTANCE={path}"
        )
    return file


def _database(places: Places, instance: str, path: str) -> str | None:
    """The database of statements for which the file names none."""
    if instance == UNSAID and path.lower().endswith(".sql"):
        # The instance is what is missing first.
        return UNSAID
    databases = places.get(instance, set())
    return next(iter(databases)) if len(databases) == 1 else None


def _find_unknown_databases(current: Settings, files: Sequence[RuleFile]) -> list[str]:
    """A line for each instance or database that only these files name: it may be misspelt."""
    places = _known_databases(current)
    problems: dict[str, str] = {}
    for statement in (statement for file in files for statement in file.statements):
        of_instance = places.get(statement.instance)
        if of_instance is None:
            what, hint = (
                f"the instance {statement.instance!r}",
                suggest_nearest(statement.instance, sorted(places)),
            )
        elif statement.database not in of_instance:
            what = f"the database {statement.database!r} of {statement.instance}"
            hint = suggest_nearest(statement.database, sorted(of_instance))
        else:
            continue
        known = "neither catalog, snapshots nor rule files of the settings have"
        problems.setdefault(what, f"{statement.location}: {known} {what}; {hint}")
    return list(problems.values())


def _instance_and_path(places: Places, option: str, argument: str) -> tuple[str, str]:
    name, sign, rest = argument.partition("=")
    path = rest if sign and not os.path.exists(argument) else argument
    if os.path.isdir(path):
        raise ConfigError(f"{option} {argument}: {path} is a folder; name its files")
    if not os.path.exists(path):
        raise ConfigError(f"{option} {argument}: there is no file {path}; correct the path")
    if path != argument:
        if name not in places:
            raise ConfigError(
                f"{option} {argument}: the catalog has no instance {name!r}; it has "
                f"{', '.join(sorted(places)) or 'none'}"
            )
        return name, path
    return (next(iter(places)) if len(places) == 1 else UNSAID), path
