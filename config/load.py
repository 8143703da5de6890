"""Settings with everything they name: the file, the catalog and the rules, read before Spark starts."""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from config import model
from config.catalog import Catalog, load_catalog
from config.errors import ConfigError
from config.instants import format_instant
from config.rules.history import Folded, RuleVersion, fold_statements
from config.rules.read import read_rules, suffix_problem
from config.rules.rule_file import RuleFile
from config.shape import check
from config.snapshots.server import ServerSnapshot, read_snapshots, shown_statements, with_databases
from config.yaml_file import Loc, YamlFile, load_yaml


@dataclass(frozen=True)
class Settings:
    """What a run is told; table paths are absolute or URIs, `path` is the settings file as it was named.

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
    snapshots: tuple[ServerSnapshot, ...] = ()

    def describe(self) -> str:
        """Return the settings in effect as JSON with sorted keys; of catalog and rules, only the paths."""
        rules = [
            {
                "path": os.path.abspath(source.path),
                "instance": source.instance,
                "effective_from": source.effective_from and format_instant(source.effective_from),
            }
            for source in self.rules
        ]
        content = {
            "warehouse": str(self.warehouse),
            "inputs": self.inputs.model_dump(),
            "catalog": self.catalog_path and os.path.abspath(self.catalog_path),
            "rules": rules,
            "receive": self.receive.model_dump(),
            "transmission": self.transmission.model_dump(),
            "activation": self.activation and self.activation.model_dump(),
            "quality": self.quality.model_dump(),
        }
        if self.snapshots:
            content["snapshots"] = [each.declared.model_dump(mode="json") for each in self.snapshots]
        return json.dumps(content, ensure_ascii=False, sort_keys=True)


def load_settings(path: str | Path) -> Settings:
    """Read and check a settings file, its catalog and its rules.

    Raises:
        ConfigError: One line for each problem. Those of the catalog and of all rule files come together, once
            the settings file itself is right.
    """
    settings, folded = load_for_lint(path)
    folded.require_accepted()
    return settings


def load_for_lint(path: str | Path) -> tuple[Settings, Folded]:
    """Do what `load_settings` does, but take rules too that contradict each other.

    Returns:
        The settings, and what the rule statements come to: versions with the places where they were
        written, and the statements that were refused. `Settings.rule_history` leaves those out.

    Raises:
        ConfigError: As `load_settings`, except for statements that are refused because of other rules.
    """
    file = load_yaml(os.fspath(path))
    declared = check(_shape_of(file), file, {"directory": os.path.dirname(file.path)})
    _require_different(file, declared.snapshots)
    catalog, rule_files = _read_named_files(file, declared)
    snapshots = read_snapshots(declared.snapshots)
    folded = folded_rules(rule_files, snapshots)
    settings = Settings(
        path=file.path,
        warehouse=declared.warehouse,
        inputs=declared.inputs,
        catalog=with_databases(catalog, snapshots),
        catalog_path=declared.catalog,
        rules=declared.rules,
        rule_files=tuple(rule_files),
        rule_history=folded.versions,
        receive=declared.receive,
        transmission=declared.transmission,
        activation=declared.activation,
        quality=declared.quality,
        replay=declared.replay,
        snapshots=snapshots,
    )
    return settings, folded


def folded_rules(rule_files: Iterable[RuleFile], snapshots: Iterable[ServerSnapshot]) -> Folded:
    """What rule files say, and snapshots of the databases that the files have no statements of."""
    statements = [statement for rules in rule_files for statement in rules.statements]
    return fold_statements([*statements, *shown_statements(statements, snapshots)])


def _shape_of(file: YamlFile) -> type[model.SettingsFile]:
    has_snapshots = isinstance(file.data, dict) and bool(file.data.get("snapshots"))
    return model.SettingsWithSnapshots if has_snapshots else model.SettingsFile


def _require_different(file: YamlFile, snapshots: Sequence[model.Snapshot]) -> None:
    """Refuse two snapshots of one database at one moment: which of them would count?"""
    known: dict[tuple[str, str, datetime], int] = {}
    problems = []
    for number, each in enumerate(snapshots):
        first = known.setdefault((each.instance, each.database, each.taken_at), number)
        if first != number:
            line = file.position(("snapshots", first, "path")).line
            message = (
                f"{each.instance}.{each.database} has another snapshot of that moment, on line {line}; "
                "correct taken_at, or remove one"
            )
            problems.append(file.problem(("snapshots", number, "taken_at"), message))
    if problems:
        raise ConfigError(*problems)


def _read_named_files(file: YamlFile, declared: model.SettingsFile) -> tuple[Catalog, list[RuleFile]]:
    problems: list[str] = []
    catalog, rule_files = Catalog(), []
    try:
        if declared.catalog is not None:
            _must_be_a_file(file, ("catalog",), declared.catalog)
            catalog = load_catalog(declared.catalog)
    except ConfigError as error:
        problems.extend(error.problems)
    for index, source in enumerate(declared.rules):
        try:
            place = ("rules", index, "path")
            _must_be_a_file(file, place, source.path)
            if message := suffix_problem(source.path):
                raise ConfigError(file.problem(place, message))
            rule_files.append(
                read_rules(source.path, instance=source.instance, effective_from=source.effective_from)
            )
        except ConfigError as error:
            problems.extend(error.problems)
    if problems:
        raise ConfigError(*problems)
    return catalog, rule_files


def _must_be_a_file(file: YamlFile, loc: Loc, path: str) -> None:
    if os.path.isdir(path):
        raise ConfigError(file.problem(loc, f"{path} is a folder; name a file"))
    if not os.path.exists(path):
        raise ConfigError(file.problem(loc, f"there is no file {path}; correct the path or create the file"))
