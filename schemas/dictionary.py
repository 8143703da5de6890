"""The data dictionary: all tables and inputs in Markdown, as they are declared; `dev.pages` writes it."""

from collections.abc import Iterable, Iterator

from schemas import CONTRACTS, TABLES, Column, EventContract, Table
from schemas.conformance import CONFORMANCE_TABLES
from schemas.replay import REPLAY_CURVE, REPLAY_TABLES
from schemas.whatif import WHATIF_ANSWERS, WHATIF_AS_OF, WHATIF_TABLES

INTRODUCTION = """\
# Data dictionary

To query the tables, look up their columns, units and nulls here; last come the reasons of
rejected rows and the columns of a server's views. `make docs` writes this page.

Each table is a Delta table in the folder of its name in the warehouse. Times are UTC, with microseconds.
Levels and priorities are 1 (lowest) to 10 (highest). `?` marks a type whose value may be null. Queries may
rely on the public tables; the internal ones may change with any version."""

ANSWERS = (*WHATIF_TABLES, WHATIF_ANSWERS, WHATIF_AS_OF, *REPLAY_TABLES, REPLAY_CURVE, *CONFORMANCE_TABLES)
ANSWERS_ARE = """\
`--out DIR` of [what-if](commands.md#streams-and-files), [replay](replay.md#the-tables) and
[conformance](conformance.md) writes these Delta tables into the folder DIR and replaces them whole. In a
what-if, before means recorded levels and current settings, after the proposal."""

INPUTS = """\
The columns of events; other columns are ignored. In JSON lines an absent field is null.
[Operations](operations.md) says what happens to rows that do not fit."""


def dictionary() -> str:
    """The whole page: public tables, internal ones, those of answers, and inputs, in their declared order."""
    public = [table for table in TABLES.values() if table.public]
    internal = [table for table in TABLES.values() if not table.public]
    blocks = [
        INTRODUCTION,
        "\n".join(
            [
                *_contents("Public tables", public),
                *_contents("Internal tables", internal),
                *_contents("Tables of answers", ANSWERS),
            ]
        ),
        "## Public tables",
        *(block for table in public for block in _table(table)),
        "## Internal tables",
        *(block for table in internal for block in _table(table)),
        "## Tables of answers",
        ANSWERS_ARE,
        *(block for table in ANSWERS for block in _table(table)),
        "## Inputs",
        INPUTS,
        *(block for contract in CONTRACTS.values() for block in _contract(contract)),
    ]
    return "\n\n".join(blocks) + "\n"


def _contents(title: str, tables: Iterable[Table]) -> Iterator[str]:
    yield f"- {title}: " + ", ".join(f"[{table.name}](#{table.name})" for table in tables)


def _table(table: Table) -> Iterator[str]:
    yield f"### {table.name}"
    yield table.comment
    facts = [f"- Key: {_names(table.key)}"]
    if table.partition_by:
        facts.append(f"- Partitioned by: {_names(table.partition_by)}")
    if table.file_order:
        facts.append(f"- Order of the files: {_names(table.file_order)}")
    if table.file_ranges:
        facts.append(f"- Never parted: rows of the same {_names(table.file_ranges)}")
    facts += [f"- Check `{name}`: `{check}`" for name, check in table.checks.items()]
    if table.name in CONTRACTS:
        source = CONTRACTS[table.name]
        columns = [column for column in table.columns if column not in source.columns]
        facts.append(f"- Columns: all of the [input](#input-{source.source}), and these")
    else:
        columns = list(table.columns)
    yield "\n".join(facts)
    yield _columns(columns)


def _contract(contract: EventContract) -> Iterator[str]:
    yield f"### Input {contract.source}"
    facts = [f"- Event types: {_names(contract.event_types)}"]
    for event_type, columns in contract.required_for.items():
        facts.append(f"- Never null on `{event_type}`: {_names(columns)}")
    yield "\n".join(facts)
    yield _columns(contract.columns)


def _columns(columns: Iterable[Column]) -> str:
    lines = ["| column | type | meaning |", "|---|---|---|"]
    for column in columns:
        cells = (f"`{column.name}`", f"`{column.type}{'?' if column.nullable else ''}`", column.comment)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
