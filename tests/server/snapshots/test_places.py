"""Names of databases in the settings: aliases, and databases that are left out."""

from pathlib import Path

import pytest

from pipelines.settings.load import Settings, load_settings
from tests.support.cases import lines_of_error
from tests.support.read_captures import small_lines

SETTINGS = "warehouse: warehouse\nsnapshots:\n- {path: captures}\n"


def load(folder: Path, content: str) -> Settings:
    (folder / "captures").mkdir(exist_ok=True)
    (folder / "captures" / "c.jsonl").write_text("".join(f"{line}\n" for line in small_lines()))
    (folder / "rules.yaml").write_text(
        "- {effective_from: 2026-01-01, instance: SQL1, database: B, create: {name: R, level: 3}}\n"
    )
    (folder / "catalog.yaml").write_text(
        "instances: [{name: SQL1, databases: [{name: B, honor_broker_priority: true}]}]\n"
    )
    (folder / "settings.yaml").write_text(content)
    return load_settings(folder / "settings.yaml")


def test_catalog_rules_and_captures_go_by_the_alias(tmp_path: Path) -> None:
    more = (
        "aliases: {AG: [[SQL1.B, SQL2.New], [SQL1.C]]}\nrules: [{path: rules.yaml}]\ncatalog: catalog.yaml\n"
    )
    settings = load(tmp_path, SETTINGS + more)
    assert [each.database_key for each in settings.snapshots] == [("AG", "New")]
    assert [row[:2] for row in settings.catalog.database_rows()] == [("AG", "New")]
    assert {(rule.instance, rule.database) for rule in settings.rule_history} == {("AG", "New")}
    assert settings.places.of(("SQL1", "C")) == ("AG", "C")
    assert settings.places.of(("SQL2", "New")) == ("AG", "New")
    assert settings.places.of(("SQL2", "B")) == ("SQL2", "B")


def test_a_database_that_is_left_out_has_no_rules_and_no_catalog(tmp_path: Path) -> None:
    settings = load(tmp_path, SETTINGS.replace("captures}", "captures, leave_out: [SQL1.B]}"))
    assert (settings.snapshots, settings.rule_history, [*settings.catalog.database_rows()]) == ((), (), [])
    assert [each.database_key for each in settings.left_out] == [("SQL1", "B")]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("aliases: {AG: [B]}\n", "'B' is no database; write INSTANCE.DATABASE"),
        ("aliases: {AG: []}\n", "aliases.AG"),
        ("aliases: {AG: [SQL1.B], AH: [SQL1.B]}\n", "aliases.AH: SQL1.B has the alias AG, too; remove one"),
        (
            "- {path: other, leave_out: [SQL1.B]}\naliases: {AG: [SQL1.B]}\n",
            "snapshots[1].leave_out: SQL1.B has the alias AG; remove one of the two",
        ),
        ("- {path: o, leave_out: [srv.dom.B]}\n", "with a part in brackets that has a dot: [srv.dom].Orders"),
    ],
)
def test_names_that_contradict_each_other(tmp_path: Path, more: str, says: str) -> None:
    [line] = lines_of_error(tmp_path, load, tmp_path, SETTINGS + more)
    assert says in line
