"""What-if where rules are known from snapshots, and what a proposal is refused for."""

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.field.running import Case, Outcome, Row, table_of

pytestmark = [pytest.mark.slow]

NOON = "2026-11-20T12:00:00Z"
CONVERSATIONS = {f"C0000000-0000-4000-8000-00000000000{number}": number for number in range(1, 5)}
ALTER = "ALTER BROKER PRIORITY GoldOrders FOR CONVERSATION SET (PRIORITY_LEVEL = 2);"
CREATE = """CREATE BROKER PRIORITY Silver FOR CONVERSATION
    SET (CONTRACT_NAME = OrderContract, LOCAL_SERVICE_NAME = MillService,
         REMOTE_SERVICE_NAME = N'SilverShop', PRIORITY_LEVEL = 10);"""


@pytest.fixture(scope="module")
def mill(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """A server that is known by its views: two rules, four endpoints, three messages in a queue."""
    case = Case.copied("field-23-whatif-on-snapshot", tmp_path_factory.mktemp("mill") / "mill")
    assert case.nightly().code == 0
    return case


@pytest.fixture(scope="module")
def forwarded(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """A message that an instance passes on before its endpoint is created; no rules."""
    case = Case.copied("whatif-forwarded", tmp_path_factory.mktemp("forwarded") / "forwarded")
    assert case.nightly(NOON).code == 0
    return case


def levels(case: Case, tmp_path: Path, *options: str | Path) -> dict[int, tuple[int, int, int, str]]:
    """Of each conversation that changes: recorded, today, proposed, cause."""
    out = tmp_path / "answer"
    assert case.job("whatif", "--out", out, *options).code == 0
    rows = table_of(out, "whatif_endpoints")
    return {
        CONVERSATIONS[row["conversation_id"]]: (
            row["recorded"],
            row["today"],
            row["proposed"],
            row["cause"],
        )
        for row in rows
    }


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


DRIFT = {4: (5, 3, 3, "drift")}
"""The server gave this endpoint 5, and its rules of today would give it 3."""


@pytest.mark.spark
def test_a_change_alters_a_rule_that_only_a_snapshot_shows(mill: Case, tmp_path: Path) -> None:
    alter = mill.folder / "proposal-alter.sql"
    assert levels(mill, tmp_path, "--change", alter) == {1: (9, 9, 2, "proposal"), **DRIFT}
    moved = table_of(tmp_path / "answer", "whatif_messages", ["kind", "position_before", "position_after"])
    assert sorted(tuple(row.values()) for row in moved) == [
        ("receive", 1, 3),
        ("receive", 2, 1),
        ("receive", 3, 2),
        ("transmission", 1, 1),
    ]
    answers = {row["answer"]: row for row in table_of(tmp_path / "answer", "whatif_answers")}
    assert answers == {
        "deployment": counted("deployment", 0, 0, 0, 0),
        "always": counted("always", 1, 1, 2, 1),
    }


def counted(answer: str, proposal: int, drift: int, gained: int, lost: int) -> Row:
    return {
        "answer": answer,
        "as_if": None,
        "proposal": proposal,
        "drift": drift,
        "messages": 4,
        "gained": gained,
        "lost": lost,
    }


def test_a_change_leaves_the_other_rules_of_the_snapshot(mill: Case, tmp_path: Path) -> None:
    """The rule that is added asks for both services, and the contract of the shown one goes before that."""
    create = mill.folder / "proposal-create.sql"
    assert levels(mill, tmp_path, "--change", create) == DRIFT
    silver = written(tmp_path, "silver.sql", CREATE)
    assert levels(mill, tmp_path, "--change", silver) == {
        2: (3, 3, 10, "proposal"),
        3: (3, 3, 10, "proposal"),
        **DRIFT,
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("drop.sql", "USE MillDB; DROP BROKER PRIORITY GoldOrders;"),
        ("without-use.sql", "DROP BROKER PRIORITY GoldOrders;"),
        ("drop.yaml", "[{instance: MILL1, database: MillDB, drop: {name: GoldOrders}}]"),
        ("dated.yaml", "[{effective_from: 2020-01-01, database: MillDB, drop: {name: GoldOrders}}]"),
    ],
)
def test_a_change_drops_a_rule_that_only_a_snapshot_shows(
    mill: Case, tmp_path: Path, name: str, text: str
) -> None:
    file = written(tmp_path, name, text)
    expected = {1: (9, 9, 3, "proposal"), **DRIFT}
    for argument in (str(file), f"MILL1={file}"):
        assert levels(mill, tmp_path, "--change", argument) == expected


def test_several_files_come_in_their_order_whatever_their_dates(mill: Case, tmp_path: Path) -> None:
    create = written(tmp_path, "1.sql", f"-- effective_from: 2030-01-01T00:00:00Z\n{CREATE}")
    alter = written(
        tmp_path,
        "2.yaml",
        "[{effective_from: 2020-01-01T00:00:00Z, database: MillDB, alter: {name: Silver, level: 8}}]",
    )
    expected = {2: (3, 3, 8, "proposal"), 3: (3, 3, 8, "proposal"), **DRIFT}
    assert levels(mill, tmp_path, "--change", create, alter) == expected
    assert levels(mill, tmp_path, "--change", create, "--change", alter) == expected
    wrong_order = mill.job("whatif", "--change", alter, create)
    assert wrong_order.code == 2
    assert "ALTER 'Silver' in MILL1.MillDB: there is no such rule at that moment" in wrong_order.err


def test_rules_replace_those_of_a_snapshot_and_say_how_many(mill: Case, tmp_path: Path) -> None:
    create = mill.folder / "proposal-create.sql"
    found = mill.job("whatif", "--rules", create, "--format", "json")
    assert found.code == 0
    assert found.json["replaced_rules"] == 2
    assert "--rules replaces 2 rules that stand now; 1 rule stands afterwards" in found.err
    assert levels(mill, tmp_path, "--rules", create) == {
        1: (9, 9, 5, "proposal"),
        2: (3, 3, 5, "proposal"),
        3: (3, 3, 5, "proposal"),
        4: (5, 3, 8, "proposal"),
    }


def test_rules_that_alter_what_they_replace_are_refused_with_what_to_do(mill: Case) -> None:
    found = mill.job("whatif", "--rules", mill.folder / "proposal-alter.sql")
    assert found.code == 2
    [line] = found.err.splitlines()
    assert "proposal-alter.sql:3:1: ALTER 'GoldOrders' in MILL1.MillDB" in line
    assert line.endswith("to change it, name the file with --change")


def test_other_settings_replace_the_rules_of_a_snapshot(mill: Case, tmp_path: Path) -> None:
    text = (mill.folder / "settings.yaml").read_text()
    proposed = written(mill.folder, "proposed.yaml", f"{text}rules: [{{path: other.yaml}}]\n")
    written(
        mill.folder,
        "other.yaml",
        "[{effective_from: 2026-01-01, instance: MILL1, database: MillDB, create: {name: All, level: 4}}]",
    )
    found = mill.job("whatif", "--proposed", proposed)
    assert found.code == 0
    assert "--proposed replaces 2 rules that stand now; 1 rule stands afterwards" in found.err
    assert {row[2] for row in levels(mill, tmp_path, "--proposed", proposed).values()} == {4}
    same = mill.job("whatif", "--proposed", mill.folder / "settings.yaml")
    assert "--proposed replaces 0 rules that stand now; 2 rules stand afterwards" in same.err


def test_a_change_where_files_and_snapshots_have_rules(mill: Case, tmp_path: Path) -> None:
    """Rules of one database are known from a file, of the other from a snapshot; a change alters both."""
    folder = tmp_path / "both"
    shutil.copytree(mill.folder, folder)
    both = Case(folder, "both.yaml")
    written(
        folder,
        "catalog.yaml",
        "instances: [{name: SHOP1, databases: [{name: ShopDB, queues: [{name: Q}], "
        "services: [{name: GoldShop, queue: Q}]}]}]",
    )
    written(
        folder,
        "shop.yaml",
        "[{effective_from: 2026-12-01, instance: SHOP1, database: ShopDB, create: {name: Shop, level: 6}}]",
    )
    text = (folder / "settings.yaml").read_text()
    written(folder, "both.yaml", f"{text}catalog: catalog.yaml\nrules: [{{path: shop.yaml}}]\n")
    mill_sql = written(tmp_path, "mill.sql", ALTER)
    shop_sql = written(
        tmp_path, "shop.sql", "ALTER BROKER PRIORITY Shop FOR CONVERSATION SET (PRIORITY_LEVEL = 1);"
    )
    found = both.job("whatif", "--change", f"MILL1={mill_sql}", f"SHOP1={shop_sql}", "--format", "json")
    assert found.code == 0
    assert found.json["endpoints"] == {"proposal": 1, "drift": 1}
    nowhere = both.job("whatif", "--change", mill_sql)
    assert nowhere.code == 2
    assert f"write --change INSTANCE={mill_sql}" in nowhere.err
    unknown = both.job("whatif", "--change", f"SHOP1={mill_sql}")
    assert unknown.code == 2
    assert "ALTER 'GoldOrders' in SHOP1.ShopDB: there is no such rule at that moment" in unknown.err


def test_of_several_databases_the_script_names_one(mill: Case, tmp_path: Path) -> None:
    folder = tmp_path / "two"
    shutil.copytree(mill.folder, folder)
    two = Case(folder, "two.yaml")
    snapshots = (folder / "settings.yaml").read_text()
    again = (
        snapshots.split("snapshots:\n")[1].replace("MillDB", "OtherDB").replace("path: snap", "path: snap2")
    )
    shutil.copytree(folder / "snap", folder / "snap2")
    names = (folder / "snap2" / "databases.csv").read_text()
    written(folder / "snap2", "databases.csv", names.replace("MillDB", "OtherDB"))
    written(folder, "two.yaml", snapshots + again)
    script = written(tmp_path, "alter.sql", ALTER)
    found = two.job("whatif", "--change", script)
    assert found.code == 2
    assert "alter.sql:1:1: no USE before it names the database" in found.err
    script.write_text(f"USE MillDB;\n{ALTER}")
    assert two.job("whatif", "--change", script).code == 0


@pytest.mark.spark
def test_what_is_forwarded_has_no_contract_before_its_endpoint_is_created(forwarded: Case) -> None:
    found = forwarded.job(
        "whatif", "--as-of", NOON, "--rules", forwarded.folder / "rules.yaml", "--format", "json"
    )
    assert found.code == 0
    names = [(row["dimension"], row["name"], row["messages"]) for row in found.json["summary"]]
    assert sorted(names) == [
        ("contract", None, 1),
        ("instance", "[F]", 1),
        ("level", "5", 1),
        ("local_service", None, 1),
    ]


def refused(case: Case, content: str, name: str = "refused.yaml") -> list[str]:
    """What a settings file is refused for, without its path and what a proposal may change."""
    path = written(case.folder, name, content)
    found = case.job("whatif", "--as-of", NOON, "--proposed", path)
    assert found.code == 2
    lines = found.err.removeprefix("error: ").splitlines()
    assert all(line.startswith(f"{path}: ") and "; a proposal may change" in line for line in lines)
    return [line.removeprefix(f"{path}: ").split("; a proposal")[0] for line in lines]


def test_refusals_name_what_differs(forwarded: Case) -> None:
    folder = forwarded.folder
    current, catalog = folder / "settings.yaml", folder / "catalog.yaml"
    bound = (folder / "bound.yaml").read_text()
    assert refused(forwarded, bound) == [
        f"the service S.D.B is bound to queue Q2, in {catalog} it is bound to queue Q",
        f"the queue S.D.Q2 is not in {catalog}",
    ]
    assert refused(forwarded, (folder / "inputs.yaml").read_text()) == [
        f"the input message_events reads {folder}/elsewhere (json), "
        f"in {current} it reads {folder}/message_events (json)"
    ]
    same = current.read_text()
    assert refused(forwarded, same.replace("warehouse: wh", "warehouse: other")) == [
        f"the warehouse is {folder}/other, in {current} it is {folder}/wh"
    ]
    queue = "  queue_events: {path: queue_events, format: json}\n"
    assert refused(forwarded, same + queue) == [f"the input queue_events is not in {current}"]
    for wrong, differences in (
        ("{name: Q, status: off}", [f"the queue S.D.Q is off, in {catalog} it is on"]),
        ("{name: Q}, {name: P}", [f"the queue S.D.P is not in {catalog}"]),
    ):
        text = catalog.read_text().replace("{name: Q}", wrong, 1)
        written(folder, "other-catalog.yaml", text)
        assert refused(forwarded, same.replace("catalog.yaml", "other-catalog.yaml")) == differences
    written(folder, "other-catalog.yaml", catalog.read_text().replace("name: D,", "name: E,"))
    assert refused(forwarded, same.replace("catalog.yaml", "other-catalog.yaml")) == [
        f"the database S.D is missing, {catalog} has it",
        f"the database S.E is not in {catalog}",
    ]
    written(folder, "other-catalog.yaml", catalog.read_text().replace("name: S,", "name: S9,"))
    assert refused(forwarded, same.replace("catalog.yaml", "other-catalog.yaml")) == [
        f"the instance S is missing, {catalog} has it",
        f"the instance S9 is not in {catalog}",
    ]


def test_what_is_the_same_by_another_path_is_the_same(forwarded: Case, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(forwarded.folder)
    text = (forwarded.folder / "settings.yaml").read_text()
    for path in ("wh", "endpoint_events", "message_events", "catalog.yaml", "rules.yaml"):
        text = text.replace(f": {path}", f": {link}/../link/{path}")
    text += "quality: {max_rejected_share: 0.5}\nactivation: null\nreceive: {top: 3}\n"
    found = forwarded.job("whatif", "--as-of", NOON, "--proposed", written(tmp_path, "same.yaml", text))
    assert (found.code, *found.out.splitlines()[:2]) == (
        0,
        "If deployed now: 0 endpoints change. Once the existing conversations have ended: 0.",
        "At the moment of deployment existing endpoints keep their levels: no message moves.",
    )


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("missing.sql", None, "there is no file"),
        ("folder.sql", "", "is a folder; name its files"),
        ("empty.sql", "", "has no rule statement; name a file with one"),
        ("empty.yaml", "", "has no rule statement; name a file with one"),
        ("none.yaml", "[]", "has no rule statement; name a file with one"),
        ("other.sql", "CREATE QUEUE Q;", "has no rule statement; name a file with one"),
        ("rules.txt", ALTER, "rules can't be read from .txt"),
        ("rules", ALTER, "rules can't be read from a file without a suffix"),
        ("place.sql", f"USE milldb;\n{ALTER}", "place.sql:2:1: neither catalog, snapshots nor rule files"),
        ("place.sql", f"USE milldb;\n{ALTER}", "have the database 'milldb' of MILL1; did you mean 'MillDB'?"),
        (
            "place.yaml",
            "[{instance: MILL2, database: MillDB, drop: {name: Orders}}]",
            "have the instance 'MILL2'; did you mean 'MILL1'?",
        ),
        ("absent.sql", "DROP BROKER PRIORITY GoldOrder;", "error 15151); did you mean 'GoldOrders'?"),
        ("taken.sql", CREATE.replace("Silver ", "Orders "), "conversation_priorities.csv:3:1 (error 33303)"),
    ],
)
def test_what_no_change_can_be(mill: Case, tmp_path: Path, name: str, text: str | None, line: str) -> None:
    path = tmp_path / name
    if name.startswith("folder"):
        path.mkdir()
    elif text is not None:
        path.write_text(text)
    found = mill.job("whatif", "--change", path)
    assert found.code == 2
    assert line in found.err
    assert len(found.err.splitlines()) <= 2


def test_a_file_without_rules_among_others_is_named(mill: Case, tmp_path: Path) -> None:
    queue, alter = written(tmp_path, "queue.sql", "CREATE QUEUE Q;"), mill.folder / "proposal-alter.sql"
    found = mill.job("whatif", "--change", queue, alter)
    assert found.code == 0
    assert f"--change {queue}: the file has no rule statement" in found.err


def test_one_proposal_is_named(mill: Case) -> None:
    alter = mill.folder / "proposal-alter.sql"

    def wrong(*options: str | Path) -> Outcome:
        found = mill.job("whatif", *options)
        assert found.code == 2
        return found

    assert "one of the arguments --change --rules --proposed is required" in wrong().err
    assert "not allowed with argument" in wrong("--change", alter, "--rules", alter).err
    assert "not allowed with argument" in wrong("--change", alter, "--proposed", alter).err
    assert "has no instance 'MILL2'; it has MILL1" in wrong("--change", f"MILL2={alter}").err


def test_an_as_of_that_was_not_published_is_named(mill: Case) -> None:
    alter = mill.folder / "proposal-alter.sql"
    found = mill.job("whatif", "--as-of", NOON, "--change", alter)
    assert found.code == 1
    assert f"--as-of {NOON} was not published; the latest are: 2026-11-20T10:00:00Z" in found.err


def test_answers_stay_out_of_the_warehouse(mill: Case, tmp_path: Path) -> None:
    alter, warehouse = mill.folder / "proposal-alter.sql", mill.folder / "warehouse"
    link = tmp_path / "link"
    link.symlink_to(warehouse)
    for inside in (
        warehouse,
        warehouse / "answer",
        link / "answer",
        tmp_path / ".." / tmp_path.name / "link" / "a" / ".." / "b",
        f"file://{warehouse}/answer",
    ):
        found = mill.job("whatif", "--change", alter, "--out", inside)
        assert found.code == 2
        assert "lies in the warehouse" in found.err


def test_a_second_answer_replaces_the_first_whole(mill: Case, tmp_path: Path) -> None:
    alter, out = mill.folder / "proposal-alter.sql", tmp_path / "answer"
    assert mill.job("whatif", "--change", alter, "--out", out).code == 0
    assert len(table_of(out, "whatif_pairs")) == 1
    late = ("--as-if", "2026-11-21T00:00:00Z")
    assert mill.job("whatif", "--change", alter, "--out", out, *late).code == 0
    assert table_of(out, "whatif_endpoints") == table_of(out, "whatif_pairs") == []
    assert len(table_of(out, "whatif_messages")) == 4
    assert [row["answer"] for row in table_of(out, "whatif_answers")] == ["deployment", "always", "instant"]


# --- Deployment scripts as proposals ----------------------------------------------------------------------

HAS = "IF {}EXISTS (SELECT 1 FROM sys.conversation_priorities WHERE name = N'GoldOrders')\n"


def test_variables_of_the_settings_count_in_files_of_the_command_line(mill: Case, tmp_path: Path) -> None:
    text = (mill.folder / "settings.yaml").read_text()
    written(mill.folder, "with-variables.yaml", f"{text}variables: {{db: MillDB, level: 2}}\n")
    case = Case(mill.folder, "with-variables.yaml")
    script = written(
        tmp_path,
        "v.sql",
        "USE [$(Db)]\nGO\n" + ALTER.replace("= 2", "= $(Level)").replace("Level ", "LEVEL "),
    )
    assert levels(case, tmp_path, "--change", script) == {1: (9, 9, 2, "proposal"), **DRIFT}
    create = written(tmp_path, "c.sql", f"USE [$(Db)]\nGO\n{CREATE}")
    assert case.job("whatif", "--rules", create).code == 0
    without = mill.job("whatif", "--change", script)
    assert without.code == 2
    assert "v.sql:1:5: the variable $(Db) has no value" in without.err


@pytest.mark.parametrize(
    ("script", "changed"),
    [
        (f"{HAS.format('')}{ALTER}", {1: (9, 9, 2, "proposal")}),
        (f"{HAS.format('NOT ')}CREATE BROKER PRIORITY GoldOrders FOR CONVERSATION", {}),
        (
            f"{HAS.format('')}BEGIN\n{ALTER}\nEND\nELSE DROP BROKER PRIORITY Orders",
            {1: (9, 9, 2, "proposal")},
        ),
        (f"{HAS.format('')}RETURN\nDROP BROKER PRIORITY Orders", {}),
        (f"{HAS.format('')}SET NOEXEC ON\nGO\nDROP BROKER PRIORITY Orders\nGO\nSET NOEXEC OFF", {}),
    ],
)
def test_checks_of_a_change_are_decided_by_the_rules_of_the_snapshot(
    mill: Case, tmp_path: Path, script: str, changed: dict[int, tuple[int, int, int, str]]
) -> None:
    file = written(tmp_path, "guarded.sql", script)
    assert levels(mill, tmp_path, "--change", file) == changed | DRIFT


def test_a_check_of_a_change_in_another_case_is_refused(mill: Case, tmp_path: Path) -> None:
    check = HAS.format("").replace("sys.", "milldb.sys.")
    ended = mill.job("whatif", "--change", written(tmp_path, "case.sql", f"{check}{ALTER}"))
    assert ended.code == 2
    assert "the check of line 1 asks for rules of 'milldb', and 'MillDB' stands" in ended.err


def test_replay_tells_what_of_a_proposal_does_not_count(mill: Case, tmp_path: Path) -> None:
    script = written(tmp_path, "notes.sql", f"{ALTER}\nEXEC ('DROP BROKER PRIORITY Orders')")
    period = "--from", "2026-11-20T09:00:00Z", "--to", "2026-11-20T10:00:00Z"
    ended = mill.job("replay", *period, "--change", script)
    assert ended.code == 0
    assert ended.err.splitlines() == [
        f"{script}:2:7: BROKER PRIORITY in a string: not read; write what it does as a statement of the "
        "script"
    ]


def test_a_proposal_without_rules_names_what_it_has_instead(mill: Case, tmp_path: Path) -> None:
    script = written(tmp_path, "string.sql", "EXEC ('DROP BROKER PRIORITY Orders')")
    ended = mill.job("whatif", "--change", script)
    assert ended.code == 2
    assert f"\n{script}:1:7: BROKER PRIORITY in a string: not read" in ended.err


def test_an_honor_setting_of_a_change_is_told(mill: Case, tmp_path: Path) -> None:
    for value in ("ON", "OFF"):
        text = f"ALTER DATABASE MillDB SET HONOR_BROKER_PRIORITY {value};\n{ALTER}"
        ended = mill.job("whatif", "--change", written(tmp_path, f"{value}.sql", text))
        assert ended.code == 0
        told = (
            f"{value}.sql:1:1: HONOR_BROKER_PRIORITY is turned off, and the answer takes it as it is now, on"
        )
        assert (told in ended.err) is (value == "OFF")


def test_a_proposal_of_no_rules_replaces_those_of_a_snapshot(mill: Case, tmp_path: Path) -> None:
    none = written(tmp_path, "none.yaml", "[]\n")
    ended = mill.job("whatif", "--rules", none)
    assert ended.code == 0
    assert "--rules replaces 2 rules that stand now; 0 rules stand afterwards" in ended.err
    assert levels(mill, tmp_path, "--rules", none) == {
        number: (recorded, 9 if number == 1 else 3, 5, "proposal")
        for number, recorded in ((1, 9), (2, 3), (3, 3))
    }


def test_a_proposal_is_one_settings_file(mill: Case, tmp_path: Path) -> None:
    other = written(tmp_path, "other.yaml", "warehouse: x\n")
    ended = mill.job("whatif", "--proposed", other, "--proposed", mill.config)
    assert ended.code == 2
    assert "--proposed is given twice, with two values; keep one of the two" in ended.err
