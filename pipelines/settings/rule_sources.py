"""Rule sources: the files that a path of the settings stands for, their text, and whose rules are known."""

import glob
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from pipelines.config.clocks import ShownClock
from pipelines.config.errors import ConfigError, read_each
from pipelines.config.mapping import LocalTimes
from pipelines.config.queue_filter import queue_text
from pipelines.rules.statements import Note, NoteReason, RuleDefaults, RuleFile, SourceLocation
from pipelines.rules.tsql_rules import read_tsql_rules
from pipelines.rules.yaml_rules import read_yaml_rules
from pipelines.server.ddl_log import log_paths, read_ddl_log
from pipelines.server.snapshots.server import ServerSnapshot

_NUMBER = re.compile(r"(\d+)")
_REPEATABLE = re.compile(r"R__", re.IGNORECASE)
_UNDO = re.compile(r"U\d[\d._]*__", re.IGNORECASE)


class NoRuleFileError(Exception):
    """A path leads to no rule file; the message says what is there and what to do."""


@dataclass
class RuleSources:
    """What was read from sources, in their order.

    Attributes:
        files: one a file.
        unread: files of folders and patterns that hold no rules.
    """

    files: list[RuleFile] = field(default_factory=list)
    unread: list[Note] = field(default_factory=list)

    def read(self, path: str, defaults: RuleDefaults) -> None:
        """Read a file, all files of a folder or those that a pattern fits, in the order of `natural_order`.

        Raises:
            NoRuleFileError: there is none.
            ConfigError: files have errors; one line for each.
        """
        paths, others = rule_paths(path)
        files = read_each(lambda each: read_rules(each, defaults), paths)
        if paths != [path]:
            files = _of_several(path, files, self.unread, defaults.instance or "", defaults.database or "")
        self.files += files
        for each in others:
            reason = (
                "an undo script" if _UNDO.match(os.path.basename(each)) else "rules stand in .sql and .yaml"
            )
            self.unread.append(
                Note(
                    NoteReason.NOT_READ,
                    SourceLocation(each, 1, 1),
                    f"the file is not read: {reason}",
                    "move it out of the folder, or name the rule files by a pattern",
                    defaults.instance or "",
                    defaults.database or "",
                )
            )

    def read_log(
        self,
        path: str,
        local: LocalTimes,
        *,
        instance: str | None = None,
        database: str | None = None,
        clocks: Iterable[ShownClock] = (),
    ) -> None:
        """Read the files of a DDL log; see `pipelines.server.ddl_log`.

        Raises:
            NoRuleFileError: there is none.
            ConfigError: one is no such log.
        """
        paths = log_paths(path)
        if not paths or not os.path.exists(path):
            raise NoRuleFileError(f"there is no DDL log {path}; correct the path")
        self.files += [
            read_ddl_log(each, local, instance=instance, database=database, clocks=clocks) for each in paths
        ]


def rule_paths(path: str) -> tuple[list[str], list[str]]:
    """Return the rule files that a path stands for, and the files beside them that are not read.

    A folder stands for the files in it and below it, links followed. In a path that leads to nothing, *, ?
    and [...] are a pattern. Names that begin with a dot are left out.

    Raises:
        NoRuleFileError: there is no rule file.
    """
    if os.path.isfile(path):
        if message := suffix_problem(path):
            raise NoRuleFileError(message)
        return [path], []
    if os.path.isdir(path):
        found, what = list(_files_below(path)), "folder"
    elif glob.has_magic(path):
        found, what = _files_of_pattern(path), "pattern"
    else:
        raise NoRuleFileError(f"there is no file {path}; correct the path or create the file")
    found.sort(key=natural_order)
    is_read = {
        each: suffix_problem(each) is None and not _UNDO.match(os.path.basename(each)) for each in found
    }
    paths = [each for each in found if is_read[each]]
    if not paths:
        has = f"; it has {', '.join(os.path.basename(each) for each in found[:3])}" if found else ""
        raise NoRuleFileError(f"the {what} {path} has no file .sql or .yaml{has}; correct the path")
    return paths, [each for each in found if not is_read[each]]


def natural_order(path: str) -> list[tuple[int, int, str]]:
    """Key of the order of files: by folder and name, numbers by their value (V2 before V10), without case.

    Two underscores end a version, so V1__a goes before V1_1__b and V1.1__b. Repeatable migrations (R__...)
    follow all others of their folder.
    """
    key: list[tuple[int, int, str]] = []
    for part in os.path.normpath(path).split(os.sep):
        key.append((2 if _REPEATABLE.match(part) else 1, 0, ""))
        for piece in _NUMBER.split(part.replace("__", "\0").casefold()):
            key.append((4, int(piece[:300]), piece) if piece.isdecimal() else (3, 0, piece))
    return [*key, (0, 0, path)]


def _files_of_pattern(pattern: str) -> list[str]:
    """The files that a pattern fits; through links it may come to a file again by a longer path."""
    paths = sorted(filter(os.path.isfile, glob.glob(pattern, recursive=True)), key=len)
    places = {(os.path.realpath(os.path.dirname(each)), os.path.basename(each)): each for each in paths[::-1]}
    return list(places.values())


def _files_below(folder: str) -> Iterator[str]:
    """The files below a folder; links are followed, each folder is entered once."""
    entered: set[str] = set()
    for place, folders, names in os.walk(folder, followlinks=True):
        if os.path.realpath(place) in entered:
            folders.clear()
            continue
        entered.add(os.path.realpath(place))
        # Folders go before links to them.
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        folders.sort(key=lambda name: os.path.islink(os.path.join(place, name)))
        yield from (os.path.join(place, name) for name in names if not name.startswith("."))


def _of_several(
    path: str, files: list[RuleFile], unread: list[Note], instance: str, database: str
) -> list[RuleFile]:
    """Say of a folder as a whole, not of each file, that it has no rules."""
    without = NoteReason.NO_RULES
    if not any(file.statements for file in files):
        message = f"{path}: none of its {len(files)} files has a rule statement that counts"
        location = SourceLocation(files[0].path, 1, 1)
        unread.append(Note(without, location, message, "take it out of rules:", instance, database))
    return [
        replace(file, notes=tuple(note for note in file.notes if note.kind is not without)) for file in files
    ]


def note_other_case(files: Iterable[RuleFile], known: Iterable[tuple[str, str]]) -> Iterator[Note]:
    """Yield a note for the first statement of each place that is known in another case.

    Args:
        files: what was read.
        known: instance and database, of all that catalog and snapshots have.
    """
    places = set(known)
    alike = {
        (instance.casefold(), database.casefold()): (instance, database) for instance, database in places
    }
    said = set(places)
    for file in files:
        for statement in file.statements:
            place = statement.instance, statement.database
            meant = alike.get((place[0].casefold(), place[1].casefold()))
            if meant is None or place in said:
                continue
            said.add(place)
            message = (
                f"the rules of {queue_text(place)} count for no endpoint of {queue_text(meant)}, which "
                "catalog or snapshots have"
            )
            fix = "write instance and database in the same case"
            yield Note(NoteReason.OTHER_CASE, statement.location, message, fix, *place)


@dataclass(frozen=True)
class KnownRules:
    """The databases whose rules are known, also where they have none.

    Attributes:
        instances: instances that a rule source is for: the rules of all their databases are known.
        databases: (instance, database) of which the newest snapshot with rules has all of them.
    """

    instances: frozenset[str]
    databases: frozenset[tuple[str, str]]

    def has(self, instance: str, database: str) -> bool:
        """Whether the rules of a database are known, all of them."""
        return instance in self.instances or (instance, database) in self.databases


def known_rules(
    instances: Iterable[str | None],
    files: Iterable[RuleFile],
    snapshots: Iterable[ServerSnapshot],
    as_of: datetime | None,
) -> KnownRules:
    """Find whose rules are known.

    Args:
        instances: those that the settings name for rule sources.
        files: the rule sources; their statements name instances, too.
        snapshots: those with `conversation_priorities` show the rules of their database.
        as_of: only snapshots up to then count; None counts all.
    """
    stated = {statement.instance for file in files for statement in file.statements}
    shown = [
        each
        for each in snapshots
        if each.priorities() is not None and (as_of is None or each.taken_at <= as_of)
    ]
    newest = {each.database_key: each for each in sorted(shown, key=lambda each: each.taken_at)}
    return KnownRules(
        frozenset(stated | {name for name in instances if name is not None}),
        frozenset(key for key, each in newest.items() if not each.leaves_out_any),
    )


def read_rules(path: str, defaults: RuleDefaults) -> RuleFile:
    """Read the statements of a rule file, in its order.

    Raises:
        ConfigError: The suffix is not known, or the file has errors; one line for each.
    """
    if message := suffix_problem(path):
        raise ConfigError(f"{path}: {message}")
    return _READERS[_suffix(path)](path, defaults)


def suffix_problem(path: str) -> str | None:
    """Say that no form of rules has the suffix of this path; None if one has."""
    suffix = _suffix(path)
    if suffix in _READERS:
        return None
    return (
        f"rules can't be read from {suffix or 'a file without a suffix'}; write T-SQL (.sql) or YAML (.yaml)"
    )


def _suffix(path: str) -> str:
    return os.path.splitext(path)[1].lower()


_READERS: Mapping[str, Callable[[str, RuleDefaults], RuleFile]] = {
    ".sql": read_tsql_rules,
    ".yaml": read_yaml_rules,
    ".yml": read_yaml_rules,
}
