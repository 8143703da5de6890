"""What-if where rules are known from snapshots, and what a proposal is refused for."""

from pathlib import Path

import pytest

from pipelines.settings.load import KNOWN_ONLY, load_settings
from pipelines.settings.proposal import Proposal, keep_standing_rules, read_changes, read_replacement
from pipelines.settings.proposed_settings import read_proposed_settings
from tests.field.running import Case, OpenCase, Outcome, table_of

pytestmark = pytest.mark.slow

NOON = "2026-11-20T12:00:00Z"
CONVERSATIONS = {f"C0000000-0000-4000-8000-00000000000{number}": number for number in range(1, 5)}
ALTER = "ALTER BROKER PRIORITY GoldOrders FOR CONVERSATION SET (PRIORITY_LEVEL = 2);"
CREATE = """CREATE BROKER PRIORITY Silver FOR CONVERSATION
    SET (CONTRACT_NAME = OrderContract, LOCAL_SERVICE_NAME = MillService,
         REMOTE_SERVICE_NAME = N'SilverShop', PRIORITY_LEVEL = 10);"""
Levels = dict[int, tuple[int, int, int, str]]
"""Of each conversation that changes: recorded, today, proposed, cause."""
ALTERED: Levels = {1: (9, 9, 2, "proposal"), 4: (5, 3, 3, "drift")}
"""The server gave endpoint 4 level 5, and its rules of today would give it 3."""


SNAPSHOT = "field-23-whatif-on-snapshot"


@pytest.fixture(scope="module")
def mill(open_case: OpenCase) -> Case:
    """A server that is known by its views: two rules, four endpoints, three messages in a queue."""
    case = open_case(SNAPSHOT)
    case.publish()
    return case


@pytest.fixture(scope="module")
def forwarded(open_case: OpenCase) -> Case:
    """A message that an instance passes on before its endpoint is created; no rules."""
    case = open_case("whatif-forwarded")
    case.publish(NOON)
    return case


def answered(case: Case, out: Path, *options: str | Path) -> tuple[Levels, Outcome]:
    """The endpoints whose recorded level changes, and how `whatif` ended."""
    found = case.job("whatif", "--baseline", "recorded", "--out", out, "--format", "json", *options)
    assert found.code == 0, found.err
    columns = ("recorded", "today", "proposed", "cause")
    changed = {
        CONVERSATIONS[row["conversation_id"]]: tuple(row[name] for name in columns)
        for row in table_of(out, "whatif_endpoints")
    }
    return changed, found  # type: ignore[return-value]


def changed_by(case: Case, *files: Path | str) -> Proposal:
    """What `--change` makes of files, without an engine."""
    return read_changes(load_settings(case.config, KNOWN_ONLY), [str(file) for file in files])


def rules_of(proposal: Proposal) -> dict[str, int]:
    """The levels of the rules of MillDB that stand then."""
    standing = keep_standing_rules(proposal.settings.rule_history)
    return {rule.name: rule.level for rule in standing if rule.database == "MillDB"}


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def refused(case: Case, *options: str | Path) -> str:
    """What `whatif` says against a proposal."""
    found = case.job("whatif", *options)
    assert found.code == 2
    return found.err


def test_a_change_alters_a_rule_that_only_a_snapshot_shows(mill: Case, tmp_path: Path) -> None:
    alter, out = mill.folder / "proposal-alter.sql", tmp_path / "answer"
    assert answered(mill, out, "--change", alter)[0] == ALTERED
    moved = table_of(out, "whatif_messages", ["kind", "position_before", "position_after"])
    assert sorted(tuple(row.values()) for row in moved) == [
        ("receive", 1, 3),
        ("receive", 2, 1),
        ("receive", 3, 2),
        ("transmission", 1, 1),
    ]
    counted = ("answer", "as_if", "proposal", "drift", "messages", "gained", "lost")
    assert sorted(tuple(row[name] for name in counted) for row in table_of(out, "whatif_answers")) == [
        ("always", None, 1, 1, 4, 2, 1),
        ("deployment", None, 0, 0, 4, 0, 0),
    ]
    assert len(table_of(out, "whatif_pairs")) == 1
    # A second answer replaces the first whole.
    assert answered(mill, out, "--change", alter, "--as-if", "2026-11-21T00:00:00Z")[0] == {}
    assert table_of(out, "whatif_pairs") == []
    assert len(table_of(out, "whatif_messages")) == 4
    assert [row["answer"] for row in table_of(out, "whatif_answers")] == ["deployment", "always", "instant"]


HAS = "IF EXISTS (SELECT 1 FROM sys.conversation_priorities WHERE name = N'GoldOrders')\n"
SHOWN = {"GoldOrders": 9, "Orders": 3}
DROPPED = {"Orders": 3}
CHANGES: dict[str, tuple[str, dict[str, int]]] = {
    "create.sql": (CREATE, SHOWN | {"Silver": 10}),
    "without use.sql": ("DROP BROKER PRIORITY GoldOrders;", DROPPED),
    "dated.yaml": ("[{effective_from: 2020-01-01, database: MillDB, drop: {name: GoldOrders}}]", DROPPED),
    # Checks are decided by the rules of the snapshot.
    "there.sql": (f"{HAS}{ALTER}", SHOWN | {"GoldOrders": 2}),
    "return.sql": (f"{HAS}RETURN\nDROP BROKER PRIORITY Orders", SHOWN),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_goes_on_from_the_rules_that_only_a_snapshot_shows(
    mill: Case, tmp_path: Path, name: str
) -> None:
    text, expected = CHANGES[name]
    file = written(tmp_path, name, text)
    assert rules_of(changed_by(mill, file)) == expected
    assert rules_of(changed_by(mill, f"MILL1={file}")) == expected


def test_rules_replace_those_of_a_snapshot_and_say_how_many(mill: Case, tmp_path: Path) -> None:
    changed, found = answered(mill, tmp_path / "a", "--rules", mill.folder / "proposal-create.sql")
    assert found.json["replaced_rules"] == 2
    assert "--rules replaces 2 rules that stand now; 1 rule stands afterwards" in found.err
    others = {1: (9, 9, 5, "proposal"), **dict.fromkeys((2, 3), (3, 3, 5, "proposal"))}
    assert changed == {**others, 4: (5, 3, 8, "proposal")}
    [line] = refused(mill, "--rules", mill.folder / "proposal-alter.sql").splitlines()
    assert "proposal-alter.sql:3:1: ALTER 'GoldOrders' in MILL1.MillDB" in line
    assert line.endswith("to change it, name the file with --change")


def test_other_settings_replace_the_rules_of_a_snapshot(mill: Case, tmp_path: Path) -> None:
    text = f"{(mill.folder / 'settings.yaml').read_text()}rules: [{{path: other.yaml}}]\n"
    place = "effective_from: 2026-01-01, instance: MILL1, database: MillDB"
    written(mill.folder, "other.yaml", f"[{{{place}, create: {{name: All, level: 4}}}}]")
    proposed = written(mill.folder, "proposed.yaml", text)
    changed, found = answered(mill, tmp_path / "answer", "--proposed", proposed)
    assert "--proposed replaces 2 rules that stand now; 1 rule stands afterwards" in found.err
    assert {row[2] for row in changed.values()} == {4}


def test_what_is_forwarded_has_no_contract_before_its_endpoint_is_created(forwarded: Case) -> None:
    found = forwarded.ask("whatif", "--as-of", NOON, "--rules", forwarded.folder / "rules.yaml")
    names = [(row["dimension"], row["name"], row["messages"]) for row in found["summary"]]
    assert sorted(names) == [
        ("contract", None, 1),
        ("instance", "[F]", 1),
        ("level", "5", 1),
        ("local_service", None, 1),
    ]


def differences(case: Case, content: str) -> list[str]:
    """What a settings file is refused for, without its path and what a proposal may change."""
    path = written(case.folder, "refused.yaml", content)
    lines = refused(case, "--as-of", NOON, "--proposed", path).removeprefix("error: ").splitlines()
    assert all(line.startswith(f"{path}: ") and "; a proposal may change" in line for line in lines)
    return [line.removeprefix(f"{path}: ").split("; a proposal")[0] for line in lines]


def test_refusals_name_what_differs(forwarded: Case) -> None:
    folder = forwarded.folder
    current, catalog = folder / "settings.yaml", folder / "catalog.yaml"
    same = current.read_text()
    inputs = f"{folder}/elsewhere (json), in {current} it reads {folder}/message_events (json)"
    for content, expected in (
        (
            (folder / "bound.yaml").read_text(),
            [
                f"the service S.D.B is bound to queue Q2, in {catalog} it is bound to queue Q",
                f"the queue S.D.Q2 is not in {catalog}",
            ],
        ),
        ((folder / "inputs.yaml").read_text(), [f"the input message_events reads {inputs}"]),
        (
            f"{same}  queue_events: {{path: queue_events, format: json}}\n",
            [f"the input queue_events is not in {current}"],
        ),
    ):
        assert differences(forwarded, content) == expected
    other = same.replace("catalog.yaml", "other-catalog.yaml")
    for old, new, expected in (
        ("{name: Q}", "{name: Q, status: off}", [f"the queue S.D.Q is off, in {catalog} it is on"]),
        (
            "name: D,",
            "name: E,",
            [f"the database S.D is missing, {catalog} has it", f"the database S.E is not in {catalog}"],
        ),
        (
            "name: S,",
            "name: S9,",
            [f"the instance S is missing, {catalog} has it", f"the instance S9 is not in {catalog}"],
        ),
    ):
        count = 1 if old == "{name: Q}" else -1
        written(folder, "other-catalog.yaml", catalog.read_text().replace(old, new, count))
        assert differences(forwarded, other) == expected


def test_what_is_the_same_by_another_path_is_the_same(forwarded: Case, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(forwarded.folder)
    text = (forwarded.folder / "settings.yaml").read_text()
    for path in ("wh", "endpoint_events", "message_events", "catalog.yaml", "rules.yaml"):
        text = text.replace(f": {path}", f": {link}/../link/{path}")
    text += "quality: {max_rejected_share: 0.5}\nactivation: null\nreceive: {top: 3}\n"
    same = written(tmp_path, "same.yaml", text)
    proposal = read_proposed_settings(load_settings(forwarded.config, KNOWN_ONLY), str(same))
    assert (proposal.replaced, proposal.rules(), proposal.settings.receive.top) == (0, 0, 3)


NO_RULE = "has no rule statement; name a file with one"
NO_CHANGE: list[tuple[str, str | None, str]] = [
    ("missing.sql", None, "there is no file"),
    ("folder.sql", "", "is a folder; name its files"),
    ("empty.sql", "", NO_RULE),
    ("none.yaml", "[]", NO_RULE),
    (
        "place.sql",
        f"USE milldb;\n{ALTER}",
        "place.sql:2:1: neither catalog, snapshots nor rule files of the settings have the database 'milldb' "
        "of MILL1; did you mean 'MillDB'?",
    ),
    (
        "place.yaml",
        "[{instance: MILL2, database: MillDB, drop: {name: Orders}}]",
        "have the instance 'MILL2'; did you mean 'MILL1'?",
    ),
    ("absent.sql", "DROP BROKER PRIORITY GoldOrder;", "error 15151); did you mean 'GoldOrders'?"),
    ("taken.sql", CREATE.replace("Silver ", "Orders "), "conversation_priorities.csv:3:1 (error 33303)"),
    (
        "case.sql",
        HAS.replace("sys.", "milldb.sys.") + ALTER,
        "the check of line 1 asks for rules of 'milldb', and 'MillDB' stands",
    ),
    (
        "string.sql",
        "EXEC ('DROP BROKER PRIORITY Orders')",
        "string.sql:1:7: BROKER PRIORITY in a string: not read",
    ),
]


@pytest.mark.parametrize(("name", "text", "line"), NO_CHANGE)
def test_what_no_change_can_be(mill: Case, tmp_path: Path, name: str, text: str | None, line: str) -> None:
    path = tmp_path / name
    if name.startswith("folder"):
        path.mkdir()
    elif text is not None:
        path.write_text(text)
    said = refused(mill, "--change", path)
    assert line in said
    assert len(said.splitlines()) <= (3 if name == "string.sql" else 2)


def test_what_of_a_change_does_not_count_is_told(mill: Case, tmp_path: Path) -> None:
    queue = written(tmp_path, "queue.sql", "CREATE QUEUE Q;")
    off = written(tmp_path, "OFF.sql", f"ALTER DATABASE MillDB SET HONOR_BROKER_PRIORITY OFF;\n{ALTER}")
    ended = mill.job("whatif", "--change", off, queue)
    assert ended.code == 0
    assert f"--change {queue}: the file has no rule statement" in ended.err
    told = "1:1: HONOR_BROKER_PRIORITY is turned off, and the answer takes it as it is now, on"
    assert f"OFF.sql:{told}" in ended.err
    on = written(tmp_path, "ON.sql", off.read_text().replace(" OFF;", " ON;"))
    assert [*changed_by(mill, on).ignored_settings()] == []
    script = written(tmp_path, "notes.sql", f"{ALTER}\nEXEC ('DROP BROKER PRIORITY Orders')")
    period = "--from", "2026-11-20T09:00:00Z", "--to", "2026-11-20T10:00:00Z"
    ended = mill.job("replay", *period, "--change", script)
    assert ended.code == 0
    assert ended.err.splitlines() == [
        f"{script}:2:7: BROKER PRIORITY in a string: not read; write what it does as a statement of the "
        "script"
    ]


def test_options_that_are_refused(mill: Case, tmp_path: Path) -> None:
    alter, warehouse = mill.folder / "proposal-alter.sql", mill.folder / "warehouse"
    for other in ("--rules", "--proposed"):
        assert "not allowed with argument" in refused(mill, "--change", alter, other, alter)
    twice = refused(mill, "--proposed", alter, "--proposed", warehouse)
    assert "--proposed is given twice, with two values; keep one of the two" in twice
    found = mill.job("whatif", "--as-of", NOON, "--change", alter)
    assert found.code == 1
    assert f"--as-of {NOON} was not published; the latest are: 2026-11-20T10:00:00Z" in found.err
    link = tmp_path / "link"
    link.symlink_to(warehouse)
    for inside in (
        warehouse,
        warehouse / "answer",
        link / "answer",
        tmp_path / ".." / tmp_path.name / "link" / "a" / ".." / "b",
        f"file://{warehouse}/answer",
    ):
        assert "lies in the warehouse" in refused(mill, "--change", alter, "--out", inside)


def test_variables_of_the_settings_count_in_files_of_the_command_line(mill: Case, tmp_path: Path) -> None:
    text = (mill.folder / "settings.yaml").read_text()
    written(mill.folder, "with-variables.yaml", f"{text}variables: {{db: MillDB, level: 2}}\n")
    case = Case(mill.folder, "with-variables.yaml")
    alter = ALTER.replace("= 2", "= $(Level)").replace("Level ", "LEVEL ")
    script = written(tmp_path, "v.sql", f"USE [$(Db)]\nGO\n{alter}")
    assert rules_of(changed_by(case, script)) == SHOWN | {"GoldOrders": 2}
    create = written(tmp_path, "c.sql", f"USE [$(Db)]\nGO\n{CREATE}")
    replaced = read_replacement(load_settings(case.config, KNOWN_ONLY), [str(create)])
    assert rules_of(replaced) == {"Silver": 10}
    assert "v.sql:1:5: the variable $(Db) has no value" in refused(mill, "--change", script)


def test_rules_that_only_a_snapshot_shows_are_first_seen(mill: Case) -> None:
    printed = "\n".join(mill.lines("coverage"))
    assert ("First seen" in printed, "Valid" in printed) == (True, False)
    dated = {row["rule_name"]: row["first_seen"] for row in mill.ask("coverage")["coverage"]}
    assert {name: dated[name] for name in ("GoldOrders", "Orders")} == {"GoldOrders": True, "Orders": True}
