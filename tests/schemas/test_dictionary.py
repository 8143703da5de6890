from collections.abc import Iterator

import pytest

from schemas import ACCEPTED, CONTRACTS, TABLES, Column, Table
from schemas.dictionary import ANSWERS, dictionary


def all_columns() -> Iterator[tuple[str, Column]]:
    for table in (*TABLES.values(), *ANSWERS):
        yield from ((table.name, column) for column in table.columns)
    for contract in CONTRACTS.values():
        yield from ((contract.source, column) for column in contract.columns)


def test_page_has_every_table_input_and_column() -> None:
    lines = dictionary().splitlines()
    for name in [*TABLES, *(table.name for table in ANSWERS)]:
        assert lines.count(f"### {name}") == 1
    for source in CONTRACTS:
        assert f"### Input {source}" in lines
    rows = {(section, line.split("`")[1]) for section, line in rows_by_section(lines)}
    missing = [(where, column.name) for where, column in all_columns() if (where, column.name) not in rows]
    # A ledger table refers to its input for the columns that are the same.
    assert [(where, name) for where, name in missing if (f"Input {where}", name) not in rows] == []
    assert {where for where, _ in missing} == set(CONTRACTS)


def rows_by_section(lines: list[str]) -> Iterator[tuple[str, str]]:
    """The rows of columns, each with the heading that it stands below."""
    section = ""
    for line in lines:
        if line.startswith("### "):
            section = line.removeprefix("### ")
        elif line.startswith("| `"):
            yield section, line


def test_every_column_says_what_it_means_in_one_line() -> None:
    comments = {f"{where}.{column.name}": column.comment for where, column in all_columns()}
    assert [name for name, comment in comments.items() if not comment.strip() or "\n" in comment] == []
    assert [table.name for table in (*TABLES.values(), *ANSWERS) if "\n" in table.comment] == []


@pytest.mark.parametrize("table", [*TABLES.values(), *ANSWERS], ids=lambda table: table.name)
def test_key_partitions_and_file_order_are_columns(table: Table) -> None:
    assert table.key
    assert len(set(table.names)) == len(table.names)
    assert {*table.key, *table.partition_by, *table.file_order} <= set(table.names)
    if table.name in TABLES and table.key[0] == "as_of":
        assert table.partition_by == ("as_of_key",)


def test_tables_are_filed_under_their_names() -> None:
    assert {name: table.name for name, table in TABLES.items()} == {name: name for name in TABLES}
    assert {table.name for table in ACCEPTED.values()} <= set(TABLES)


@pytest.mark.parametrize("contract", CONTRACTS.values(), ids=lambda contract: contract.source)
def test_columns_required_for_an_event_type_are_declared(contract) -> None:  # type: ignore[no-untyped-def]
    assert set(contract.required_for) <= set(contract.event_types)
    for names in contract.required_for.values():
        assert set(names) <= set(contract.names)
