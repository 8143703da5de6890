"""The sources of the inputs, checked by their contracts: names, mappings, and which of them are the same."""

import json
from collections.abc import Iterator

from pipelines.config.errors import ConfigError
from pipelines.config.mapping import mapping_problems
from pipelines.config.model import LOGS, EventSource, FewInputs, LogSource
from pipelines.config.yaml_file import Loc, YamlFile


def source_places(file: YamlFile, inputs: FewInputs) -> Iterator[tuple[Loc, EventSource | LogSource]]:
    """Each source with its place in the settings."""
    given = file.data.get("inputs") if isinstance(file.data, dict) else None
    for table, sources in inputs.by_table().items():
        is_list = isinstance(given, dict) and isinstance(given.get(table), list)
        for number, source in enumerate(sources):
            yield ("inputs", table, number) if is_list else ("inputs", table), source
    for number, log in enumerate(inputs.logs or ()):
        yield ("inputs", LOGS, number), log


def require_mappings(file: YamlFile, inputs: FewInputs) -> None:
    """Require that mappings fit their contracts, and that no source is there twice.

    Raises:
        ConfigError: one line for each problem.
    """
    problems = []
    known: dict[tuple[str, str], Loc] = {}
    seen: dict[tuple[str, str], Loc] = {}
    for place, source in source_places(file, inputs):
        table = str(place[1])
        mapped = mapping_problems(table, source) if isinstance(source, EventSource) else ()
        for keys, said, is_key in mapped:
            problems.append(file.problem((*place, "columns", *keys), said, key=is_key))
        told = json.dumps({**source.describe(), "name": None}, sort_keys=True)
        alike = seen.setdefault((table, told), place)
        if alike != place:
            said = f"line {file.position(alike).line} reads the same in the same way; remove one of both"
            problems.append(file.problem(place, said))
        same = known.setdefault((table, source.name or ""), place)
        if same != place:
            problems.append(
                file.problem(
                    (*place, "name"), f"line {file.position(same).line} has that name, too; write another"
                )
            )
    ConfigError.raise_any(problems)
