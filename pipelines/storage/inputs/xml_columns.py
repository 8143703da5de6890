"""Columns of the XML of Extended Events, one event a text: by expressions that both engines have."""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, functions as F

WHOLE = r"(?s)^\s*(?:<\?xml[^>]*>\s*)?<event\s.*(?:</event>|<event [^<>]*/>)\s*$"
ATTRIBUTES = ("name", "timestamp")
"""What the element `event` itself says; all else are names of its elements `data` and `action`."""
ENTITIES = {
    "&lt;": "<",
    "&gt;": ">",
    "&quot;": '"',
    "&apos;": "'",
    "&#x0A;": "\n",
    "&#x0D;": "\r",
    "&amp;": "&",
}
"""How XML writes characters; the ampersand comes last."""


def with_xml_columns(rows: DataFrame, xml: str, columns: Mapping[str, str]) -> DataFrame:
    """Take the columns of events out of their XML.

    Args:
        rows: rows in the shape of `pipelines.storage.inputs.read`.
        xml: the column with the XML.
        columns: what the columns are called in the XML, by their own names.

    Returns:
        The rows with these columns in place of `xml`, null where an event lacks them. A value with a text has
        its text: numbers of values may differ. A text that is no whole event is broken.
    """
    text = F.col(xml)
    is_odd = text.isNotNull() & ~text.rlike(WHOLE)
    return rows.select(
        *[_column(text, name).alias(alias) for alias, name in columns.items()],
        (F.col("broken") | F.coalesce(is_odd, F.lit(False))).alias("broken"),
        "unreadable",
        "mistyped",
        F.coalesce("raw", F.when(is_odd, text)).alias("raw"),
    )


def _column(text: Column, name: str) -> Column:
    if name in ATTRIBUTES:
        return _plain(F.regexp_extract(text, rf'(?s)<event\s(?:[^>]*\s)?{name}="([^"]*)"', 1))
    element = rf'(?s)<(?:data|action) name="{name}"(?: [^>/]*)?>(.*?)</(?:data|action)>'
    inner = F.regexp_extract(text, element, 1)
    value, said = (F.regexp_extract(inner, rf"<{each}>([^<]*)</{each}>", 1) for each in ("value", "text"))
    return _plain(F.when(said != "", said).otherwise(value))


def _plain(text: Column) -> Column:
    """A text without entities; null if it is empty."""
    for entity, character in ENTITIES.items():
        text = F.replace(text, F.lit(entity), F.lit(character))
    return F.nullif(text, F.lit(""))
