"""Settings with everything they name: the file, the catalog and the rules, read before Spark starts."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from pipelines.config import model
from pipelines.config.catalog import Catalog, load_catalog
from pipelines.config.clocks import ShownClock
from pipelines.config.errors import ConfigError
from pipelines.config.expectations import Expectation, read_expectations, unknown_queues
from pipelines.config.instants import format_instant
from pipelines.config.mapped_sources import require_mappings, source_places
from pipelines.config.paths import overlap
from pipelines.config.queue_filter import queue_text
from pipelines.config.shape import check
from pipelines.config.yaml_file import Loc, YamlFile, field_path, load_yaml
from pipelines.rules.history import RuleHistory, RuleVersion, apply_statements
from pipelines.rules.statements import CatalogChange, Note, RuleDefaults, RuleFile, RuleStatement
from pipelines.server.captures.faults import CaptureError, raise_faults, short_path
from pipelines.server.captures.folder import CapturesRead, read_captures
from pipelines.server.captures.known import read_known
from pipelines.server.snapshots.checks import require_different_brokers
from pipelines.server.snapshots.history import CatalogFact, catalog_at, catalog_history
from pipelines.server.snapshots.places import (
    Places,
    place_catalog,
    place_rules,
    place_snapshots,
    places_of,
)
from pipelines.server.snapshots.queue_names import QueueSwitch, name_queues, switches_of
from pipelines.server.snapshots.read import read_snapshots
from pipelines.server.snapshots.server import ServerSnapshot, in_order
from pipelines.server.snapshots.statements import make_statements, without_refused
from pipelines.settings.log_names import LogNames, log_names, require_names
from pipelines.settings.rule_sources import (
    KnownRules,
    NoRuleFileError,
    RuleSources,
    known_rules,
    note_other_case,
)


@dataclass(frozen=True)
class Settings:
    """What a run is told; table paths are absolute or URIs, `path` is the settings file as it was named.

    `variables` are those at the top of the file, for scripts that the command line names.

    `catalog` is `written_catalog`, the file, with what snapshots show in `catalog_history`. `left_out` are
    snapshots whose rows are taken in, and do not count. `switches` are the statements of DDL logs that turn
    queues on or off.

    `warehouse` is a folder or a schema of Spark, and as text what people call it by.
    """

    path: str
    warehouse: str | model.SparkSchema
    inputs: model.FewInputs
    catalog: Catalog
    catalog_path: str | None
    rules: tuple[model.RuleSource, ...]
    rule_files: tuple[RuleFile, ...]
    rule_history: tuple[RuleVersion, ...]
    receive: model.Receive
    transmission: model.Transmission
    activation: model.Activation | None
    quality: model.Quality
    replay: model.Replay
    why: model.Why = field(default_factory=model.Why)
    expect: tuple[Expectation, ...] = ()
    snapshot_entries: tuple[model.Snapshot | model.Captures, ...] = ()
    snapshots: tuple[ServerSnapshot, ...] = ()
    left_out: tuple[ServerSnapshot, ...] = ()
    replaced: tuple[ServerSnapshot, ...] = ()
    places: Places = field(default_factory=Places)
    captures: CapturesRead = field(default_factory=CapturesRead)
    unread_files: tuple[Note, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    written_catalog: Catalog = field(default_factory=Catalog)
    catalog_history: tuple[CatalogFact, ...] = ()
    switches: tuple[QueueSwitch, ...] = ()

    def at(self, moment: datetime) -> "Settings":
        """The settings with the catalog of a moment; without, it is the newest."""
        catalog = catalog_at(self.written_catalog, self.catalog_history, moment)
        return replace(self, catalog=catalog)

    @property
    def databases_of_rule_files(self) -> set[tuple[str, str]]:
        """The databases, by instance and name, for which a rule file has a statement."""
        return {(each.instance, each.database) for file in self.rule_files for each in file.statements}

    @property
    def log_names(self) -> LogNames:
        """What captures call the things that logs name by ids."""
        instances = [each.name for each in self.catalog.instances]
        return log_names(instances, in_order([*self.snapshots, *self.left_out]), self.captures.clocks)

    @property
    def rule_notes(self) -> tuple[Note, ...]:
        """What of the rule sources does not count, and where."""
        return (*self.unread_files, *(note for file in self.rule_files for note in file.notes))

    def known_rules(self, as_of: datetime | None = None) -> KnownRules:
        """Whose rules are known, by what snapshots show up to as_of; None is all that they show."""
        sources = [source.instance for source in self.rules]
        return known_rules(sources, self.rule_files, self.snapshots, as_of)

    def require_apart(self, root: str) -> None:
        """Refuse a warehouse whose files would be read as input.

        For the folder of a schema, which is known once a session is open; others are compared before.

        Raises:
            ConfigError: an input or a snapshot is that folder, lies in it or holds it.
        """
        inputs = {f"inputs.{name}.path": source.path for name, source in self.inputs.by_name().items()}
        snapshots = {
            f"snapshots[{number}].path": each.path for number, each in enumerate(self.snapshot_entries)
        }
        for name, path in (inputs | snapshots).items():
            if how := overlap(root, path):
                raise ConfigError(
                    f"{self.path}: warehouse: {self.warehouse}: {root} {how} {path}, which is {name}; name "
                    "another schema"
                )

    def describe(self) -> str:
        """Return the settings in effect as JSON with sorted keys; of catalog and rules, only the paths."""
        rules = [
            {
                "path": os.path.abspath(source.path),
                "instance": source.instance,
                "effective_from": source.effective_from and format_instant(source.effective_from),
                **({"database": source.database} if source.database else {}),
                **{
                    name: value
                    for name in ("format", "zone", "offset")
                    if (value := getattr(source, name)) is not None
                },
                **({"variables": source.variables} if source.variables else {}),
            }
            for source in self.rules
        ]
        content = {
            "warehouse": str(self.warehouse),
            "inputs": self.inputs.describe(),
            "catalog": self.catalog_path and os.path.abspath(self.catalog_path),
            "rules": rules,
            "receive": self.receive.model_dump(),
            "transmission": self.transmission.model_dump(),
            "activation": self.activation and self.activation.model_dump(),
            "quality": self.quality.model_dump(),
        }
        if self.why != model.Why():
            content["why"] = self.why.model_dump()
        if self.expect:
            content["expect"] = [each.describe() for each in self.expect]
        if self.snapshot_entries:
            content["snapshots"] = [each.model_dump(mode="json") for each in self.snapshot_entries]
        if self.places.aliases:
            content["aliases"] = json.dumps(self.places.describe()[0])
        return json.dumps(content, ensure_ascii=False, sort_keys=True)


@dataclass(frozen=True)
class CaptureReading:
    """How captures that the warehouse does not know are read.

    Attributes:
        are_new_read: whether they count; a question about a published as_of passes over them.
        folder: where their rows are written for an engine; None if none will read them.
    """

    are_new_read: bool = True
    folder: Path | None = None


CHECKED = CaptureReading()
"""New captures are checked, and count for catalog and rules."""
KNOWN_ONLY = CaptureReading(are_new_read=False)
"""New captures are passed over."""


def load_settings(path: str | Path, reading: CaptureReading = CHECKED) -> Settings:
    """Read and check a settings file, its catalog and its rules.

    Raises:
        CaptureError: captures are not whole, or one that was taken has changed.
        ConfigError: One line for each problem. Those of the catalog and of all rule files come together, once
            the settings file itself is right.
    """
    settings, folded = load_for_lint(path, reading)
    folded.require_accepted()
    return settings


def load_for_lint(path: str | Path, reading: CaptureReading = CHECKED) -> tuple[Settings, RuleHistory]:
    """Do what `load_settings` does, but take rules too that contradict each other.

    Returns:
        The settings, and what the rule statements come to: versions with the places where they were
        written, and the statements that were refused. `Settings.rule_history` leaves those out.

    Raises:
        ConfigError: As `load_settings`, except for statements that are refused because of other rules.
    """
    file = load_yaml(os.fspath(path))
    declared = check(_shape_of(file), file, {"directory": os.path.dirname(file.path)})
    expect = read_expectations(file, declared.expect)
    views = [each for each in declared.snapshots if isinstance(each, model.Snapshot)]
    _require_different(file, declared.snapshots)
    _require_apart(file, declared)
    require_mappings(file, declared.inputs)
    places = places_of(file, declared)
    captures = _read_captures(declared, reading, places)
    captured = captures.snapshots if isinstance(captures, CapturesRead) else ()
    shown = [(each.instance, each.database) for each in views]
    shown += [each.database_key for each in captured]
    clocks = captures.clocks if isinstance(captures, CapturesRead) else ()
    catalog, sources = _read_named_files(file, declared, [*shown, *map(places.of, shown)], clocks)
    if isinstance(captures, CaptureError):
        raise captures
    _require_one_form(views, captures.snapshots)
    placed = place_snapshots([*read_snapshots(views), *captures.snapshots], places)
    snapshots = placed.counted
    require_different_brokers(snapshots)
    rule_files = place_rules(sources.files, places)
    statements, unfit = _stated(rule_files, snapshots)
    folded = apply_statements(statements)
    changes = name_queues(_changes_of(rule_files, places), snapshots)
    facts = catalog_history(snapshots, changes)
    written = place_catalog(catalog, places)
    whole_catalog = catalog_at(written, facts, None)
    known = [(row[0], row[1]) for row in whole_catalog.database_rows()]
    settings = Settings(
        path=file.path,
        warehouse=declared.warehouse,
        inputs=declared.inputs,
        catalog=whole_catalog,
        written_catalog=written,
        catalog_history=facts,
        switches=switches_of(changes),
        catalog_path=declared.catalog,
        rules=declared.rules,
        rule_files=tuple(rule_files),
        rule_history=folded.versions,
        receive=declared.receive,
        transmission=declared.transmission,
        activation=declared.activation,
        quality=declared.quality,
        why=declared.why,
        replay=declared.replay,
        expect=expect,
        snapshot_entries=declared.snapshots,
        snapshots=snapshots,
        left_out=placed.left_out,
        replaced=placed.replaced,
        places=places,
        captures=captures,
        unread_files=(*sources.unread, *unfit, *note_other_case(rule_files, known)),
        variables=declared.variables,
    )
    require_names(file, declared.inputs.logs or (), settings.log_names)
    return settings, folded


def rule_history_of(rule_files: Iterable[RuleFile], snapshots: Iterable[ServerSnapshot]) -> RuleHistory:
    """What `rule_statements` come to."""
    return apply_statements(rule_statements(rule_files, snapshots))


def rule_statements(
    rule_files: Iterable[RuleFile], snapshots: Iterable[ServerSnapshot]
) -> list[RuleStatement]:
    """What rule files say, snapshots of the databases that the files have no statements of, and DDL logs."""
    return _stated(rule_files, snapshots)[0]


def _stated(
    rule_files: Iterable[RuleFile], snapshots: Iterable[ServerSnapshot]
) -> tuple[list[RuleStatement], list[Note]]:
    """`rule_statements`, and what to say of logged ones that do not fit."""
    files = list(rule_files)
    written = [each for rules in files if not rules.is_log for each in rules.statements]
    logged = [each for rules in files if rules.is_log for each in rules.statements]
    stated = [*written, *make_statements(written, snapshots, logged)]
    if not logged:
        return stated, []
    kept, notes = without_refused(stated, logged)
    return [*stated, *kept], notes


def _changes_of(rule_files: Iterable[RuleFile], places: Places) -> list[CatalogChange]:
    """The changes of the catalog that DDL logs have, by time."""
    changes = [
        each
        for rules in rule_files
        for each in rules.catalog_changes
        if (each.instance, each.database) not in places.left_out
    ]
    return sorted(changes, key=lambda each: each.moment)


def _shape_of(file: YamlFile) -> type[model.SettingsFile]:
    data = file.data if isinstance(file.data, dict) else {}
    if data.get("snapshots"):
        return model.SettingsWithSnapshots
    inputs = data.get("inputs")
    return model.SettingsWithLogs if isinstance(inputs, dict) and inputs.get("logs") else model.SettingsFile


def _read_captures(
    declared: model.SettingsFile, reading: CaptureReading, places: Places
) -> CapturesRead | CaptureError:
    """The captures, or what is wrong with them: that is told once the settings are right."""
    entries = [each for each in declared.snapshots if isinstance(each, model.Captures)]
    if not entries:
        return CapturesRead()
    known = read_known(declared.warehouse) if isinstance(declared.warehouse, str) else []
    try:
        return read_captures(
            entries, known, reading.folder, are_new_read=reading.are_new_read, aliases=places.aliases
        )
    except CaptureError as error:
        return error


def _require_one_form(views: Sequence[model.Snapshot], captured: Iterable[ServerSnapshot]) -> None:
    """Refuse a capture of a database and moment of which the settings name views, too."""
    named = {(each.instance, each.database, each.taken_at): each.path for each in views}
    problems = [
        f"{short_path(each.declared.path)}: {named[key]} has views of {queue_text(each.database_key)} at "
        f"{format_instant(each.taken_at)}, too; name one of the two in snapshots"
        for each in captured
        if (key := (*each.database_key, each.taken_at)) in named
    ]
    raise_faults(problems)


def _require_different(file: YamlFile, snapshots: Sequence[model.Snapshot | model.Captures]) -> None:
    """Refuse two snapshots of one database at one moment: which of them would count?"""
    known: dict[tuple[str, str, datetime], int] = {}
    problems = []
    for number, each in enumerate(snapshots):
        if isinstance(each, model.Captures):
            continue
        first = known.setdefault((each.instance, each.database, each.taken_at), number)
        if first != number:
            line = file.position(("snapshots", first, "path")).line
            message = (
                f"{queue_text((each.instance, each.database))} has another snapshot of that moment, on line "
                f"{line}; correct taken_at, or remove one"
            )
            problems.append(file.problem(("snapshots", number, "taken_at"), message))
    ConfigError.raise_any(problems)


def _require_apart(file: YamlFile, declared: model.SettingsFile) -> None:
    """Refuse a warehouse whose files would be read as input."""
    problems = []
    given: list[tuple[Loc, model.Source | model.Snapshot | model.Captures]] = [
        *source_places(file, declared.inputs),
        *((("snapshots", number), each) for number, each in enumerate(declared.snapshots)),
    ]
    for place, path in (((*place, "path"), each.path) for place, each in given):
        if isinstance(declared.warehouse, str) and (how := overlap(declared.warehouse, path)):
            message = f"{declared.warehouse} {how} {path}, which is {field_path(place)}; name another folder"
            problems.append(file.problem(("warehouse",), message))
    ConfigError.raise_any(problems)


def _read_named_files(
    file: YamlFile,
    declared: model.SettingsFile,
    shown: Sequence[tuple[str, str]],
    clocks: Sequence[ShownClock],
) -> tuple[Catalog, RuleSources]:
    problems: list[str] = []
    catalog, is_known = Catalog(), True
    try:
        if declared.catalog is not None:
            _must_be_a_file(file, ("catalog",), declared.catalog)
            catalog = load_catalog(declared.catalog)
    except ConfigError as error:
        problems.extend(error.problems)
        is_known = False
    if is_known and not declared.snapshots:
        problems.extend(unknown_queues(file, declared.expect, catalog))
    sources = RuleSources()
    for index, source in enumerate(declared.rules):
        only = _only_database(catalog, shown, source.instance) if is_known else "unknown"
        try:
            if source.format is not None:
                sources.read_log(
                    source.path,
                    source,
                    instance=source.instance,
                    database=source.database or only,
                    clocks=clocks,
                )
                continue
            variables = {**declared.variables, **source.variables}
            where = source.database or only
            sources.read(source.path, RuleDefaults(source.instance, source.effective_from, where, variables))
        except NoRuleFileError as error:
            problems.append(file.problem(("rules", index, "path"), str(error)))
        except ConfigError as error:
            problems.extend(error.problems)
    ConfigError.raise_any(problems)
    return catalog, sources


def _only_database(catalog: Catalog, shown: Iterable[tuple[str, str]], instance: str | None) -> str | None:
    """The one database that an instance has; None if it has several, or none is known."""
    places = [(row[0], row[1]) for row in catalog.database_rows()]
    places += shown
    known = {database for owner, database in places if owner == instance}
    return known.pop() if len(known) == 1 else None


def _must_be_a_file(file: YamlFile, loc: Loc, path: str) -> None:
    if os.path.isdir(path):
        raise ConfigError(file.problem(loc, f"{path} is a folder; name a file"))
    if not os.path.exists(path):
        raise ConfigError(file.problem(loc, f"there is no file {path}; correct the path or create the file"))
