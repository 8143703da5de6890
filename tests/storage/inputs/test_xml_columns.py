"""Columns of the XML of Extended Events."""

from pyspark.sql import SparkSession

from pipelines.engine.frames import small_frame
from pipelines.storage.inputs.xml_columns import with_xml_columns

EVENT = (
    '<event name="broker_conversation" package="sqlserver" timestamp="2026-11-20T09:00:00.123Z">'
    '<data name="conversation_action"><type name="action" package="sqlserver"/><value>7</value>'
    "<text>END CONVERSATION</text></data>"
    '<data name="conversation_handle"><value>AB</value><text/></data><data name="is_initiator"/>'
    '<data name="service_contract_name"><value>//a&lt;b&gt;&amp;amp;</value></data>'
    '<data name="empty"><type name="x" package="y"></type></data>'
    '<action name="database_id" package="sqlserver"><value>5</value></action>\n</event>'
)
NAMES = (
    *("name", "timestamp", "conversation_action", "conversation_handle", "is_initiator", "empty"),
    *("service_contract_name", "database_id", "missing"),
)


NOTHING = (None,) * len(NAMES)


def test_values_of_events(session: SparkSession) -> None:
    values = {
        EVENT: (
            *("broker_conversation", "2026-11-20T09:00:00.123Z", "END CONVERSATION", "AB", None, None),
            *("//a<b>&amp;", "5", None),
        ),
        '<event timestamp="T" name="N"></event>': ("N", "T", *NOTHING[2:]),
        None: NOTHING,
    }
    broken = [EVENT[:200], "no XML"]
    shape = "from_0 string, broken boolean, unreadable string, mistyped string, raw string"
    rows = small_frame(session, [(xml, False, None, None, None) for xml in (*values, *broken)], shape)
    found = with_xml_columns(rows, "from_0", {f"x_{name}": name for name in NAMES}).collect()
    read = [tuple(row[f"x_{name}"] for name in NAMES) for row in found if not row["broken"]]
    assert read == list(values.values())
    assert [row["raw"] for row in found] == [None, None, None, *broken]
