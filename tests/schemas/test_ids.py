"""One spelling for each GUID, in the engine and in Python."""

from pyspark.sql import SparkSession, functions as F

from schemas.ids import canonical_id, canonical_text

GUID = "CC000000-0A0B-4C0D-8E0F-00000000ABCD"
LOWER = GUID.lower()
MIXED = "cC000000-0a0B-4c0D-8e0F-00000000aBCd"

ONE_ID = {
    GUID: GUID,
    MIXED: GUID,
    f"{{{LOWER}}}": GUID,
    "12345678-1234-1234-1234-123456789012": "12345678-1234-1234-1234-123456789012",
    f"{LOWER}/target/3": f"{GUID}/target/3",
    f"{{{MIXED}}}/initiator/0": f"{GUID}/initiator/0",
    f"{LOWER}/unknown": f"{GUID}/unknown",
    f"{LOWER}/unknown/12": f"{GUID}/unknown/12",
    f"{LOWER}/target/http://x/Y/dialogTimer/4": f"{GUID}/target/http://x/Y/dialogTimer/4",
    f"{LOWER}/target/a\nb": f"{GUID}/target/a\nb",
}
"""Spellings, and the id that each is."""

OTHER_IDS = [
    *("", "c1", "{c1}", "m-Container", "conversation-of-thirty-six-letters-a"),
    f"{{{LOWER}",
    f"{LOWER}}}",
    f"({LOWER})",
    f"{{{{{LOWER}}}}}",
    f"{LOWER}\n",
    f" {LOWER}",
    f"{LOWER[:-1]}g",
    LOWER.replace("-", ""),
    LOWER.replace("-", "\u2010"),
    f"{LOWER[:-1]}\uff11",
    f"\u0131{LOWER[1:]}",
    f"{LOWER[:-2]}\u0131",
    f"{LOWER[:-2]}\u00df",
    f"{LOWER[:8]}{LOWER[9:18]}-{LOWER[18:]}",
    *(f"{LOWER}/{rest}" for rest in ("0", "targets/0", "Target/0", "/target/0")),
    f"x/{LOWER}/target/0",
    f"{{{LOWER}/target/3}}",
    f"{LOWER}-target-3",
]
"""Ids that are no GUIDs: they stay byte by byte."""


def test_a_guid_is_one_id_whatever_its_spelling(session: SparkSession) -> None:
    """Null stays null, and the one form stays as it is."""
    expected = {**ONE_ID, **{id: id for id in OTHER_IDS}}
    once = canonical_id(F.col("id"))
    rows = session.createDataFrame([(id,) for id in (*expected, None)], "id string")
    found = rows.select("id", once.alias("once"), canonical_id(once).alias("twice")).collect()
    nulls: dict[str | None, str | None] = {None: None}
    assert {row.id: row.once for row in found} == nulls | expected
    assert all(row.once == row.twice for row in found)
    assert {id: canonical_text(id) for id in expected} == expected
