"""Exports of a server's views as tools write them: read as clean ones are, or refused in one line a file."""

import pytest

from tests.field.conftest import OpenCase
from tests.field.exports import READABLE, read_clean
from tests.field.running import Case, Row, table_of

pytestmark = [pytest.mark.spark, pytest.mark.slow]

CLEAN = "field-12-idle-server-crash"
TABLES = (
    "message_events",
    "endpoint_events",
    "queue_events",
    "endpoints",
    "receive_schedule",
    "transmission_schedule",
    "unresolved",
    "rejected_events",
)


def tables(case: Case, warehouse: str = "warehouse") -> dict[str, list[str]]:
    """All that a night made of a snapshot, without the moments of the run itself."""

    def comparable(row: Row) -> str:
        return repr(
            sorted((name, value) for name, value in row.items() if name not in ("run_id", "first_seen"))
        )

    root = case.folder / warehouse
    return {name: sorted(map(comparable, table_of(root, name))) for name in TABLES if (root / name).exists()}


@pytest.fixture(scope="module")
def clean(session: object, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    case = Case.copied(CLEAN, tmp_path_factory.mktemp("clean") / "case")
    assert case.nightly().code == 0
    return tables(case)


@pytest.mark.parametrize("tool", READABLE)
def test_what_tools_write_is_read_as_a_clean_export(
    open_case: OpenCase, clean: dict[str, list[str]], tool: str
) -> None:
    case = open_case(CLEAN)
    for path in sorted((case.folder / "snap").glob("*.csv")):
        READABLE[tool](path, read_clean(path))
    night = case.nightly()
    assert night.code == 0, night.err
    assert "not read" not in night.err
    assert tables(case) == clean
