"""Tables of an answer, in a folder of their own beside the warehouse."""

import os
from collections.abc import Mapping, Sequence
from functools import partial

from pyspark.sql import DataFrame

from pipelines.config.errors import ConfigError
from pipelines.config.paths import INSIDE, overlap, with_slashes
from pipelines.engine.concurrency import run_concurrently
from pipelines.storage.inputs.paths import local_path
from pipelines.storage.warehouse import Warehouse
from schemas.table import Table


def answers_in(warehouse: Warehouse, folder: str, *, option: str = "--out") -> Warehouse:
    """The folder for answers, as this option names it; one that is not there is made with the first table.

    Raises:
        ConfigError: it lies in the warehouse, where only tables of the nights are, or is a file.
    """
    local = local_path(folder)
    place = folder.rstrip("/") if local is None else with_slashes(os.path.realpath(local))
    root = local_path(warehouse.root)
    inside = warehouse.root.rstrip("/") if root is None else with_slashes(os.path.realpath(root))
    if overlap(folder, warehouse.root) in INSIDE:
        raise ConfigError(f"{option} {folder}: lies in the warehouse {inside}; name another folder")
    if local is not None and os.path.isfile(local):
        raise ConfigError(f"{option} {folder}: is a file; name a folder")
    return Warehouse(warehouse.spark, place)


def write_answers(answers: Warehouse, tables: Sequence[Table], frames: Mapping[str, DataFrame]) -> None:
    """Replace each table whole, empty ones too."""
    run_concurrently(
        answers.spark,
        *[partial(answers.replace, table, frames[table.name].select(*table.names)) for table in tables],
    )


def read_answers(warehouse: Warehouse, folder: str, tables: Sequence[Table], *, option: str) -> Warehouse:
    """The folder that this option names, with the tables of an answer.

    Raises:
        ConfigError: one of them is not there.
    """
    answers = answers_in(warehouse, folder, option=option)
    missing = [table.name for table in tables if not answers.exists(table)]
    if missing:
        raise ConfigError(
            f"{option} {folder}: has no table {', '.join(missing)}; write them with --out {folder} first"
        )
    return answers
