"""A log of the night that users wait for: half of its messages are open, and no conversation has ended.

A conversation has one to four messages. Of these 45 % are received, 40 % stand in a queue and 15 % wait to be
sent. The log goes on for four minutes after its last midnight, and its rules don't change within the day.
"""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal, TypeAlias

import duckdb
import pyarrow as pa
import yaml

from dev.generator import synthetic
from dev.generator.draws import Draws
from dev.generator.world import World

Skew: TypeAlias = Literal["queue", "group", "level"]
"""90 % of the conversations go to one queue; half go to one group of it; 99 % of the rules have one level."""

CONVERSATIONS_OF_FIVE_MESSAGES = 2
SECONDS = 86_400 + 180
"""In which conversations begin."""
SERVICES, KINDS, RULES = 200, 200, 125
"""Rules are counted per database, of which there are eight."""

MACROS = """
    CREATE MACRO uniform(number, topic) AS (hash(number, topic) >> 11) / 9007199254740992.0;
    CREATE MACRO id_of(topic, number) AS upper(md5(topic || number)::UUID::VARCHAR);
    CREATE MACRO seconds(number) AS to_microseconds((number * 1000000)::BIGINT)
"""

# A few kinds are frequent. To the hot service go those below `hot`, from whatever initiator they come.
CONVERSATIONS = """
    CREATE TABLE conversations AS
    WITH drawn AS (
        SELECT
            n, floor(15 * $kinds * uniform(n, 'kind') ** 3)::BIGINT % $kinds AS kind,
            $start::TIMESTAMPTZ + seconds($seconds * uniform(n, 'begin')) AS begun_at,
            uniform(n, 'skew') < $hot AS is_hot
        FROM range($conversations) AS numbers (n)
    )
    SELECT
        n, id_of('conversation', n) AS conversation_id, begun_at, is_hot, source.contract,
        {
            'instance': source.initiator_instance, 'database': source.initiator_database,
            'service': source.initiator_service
        } AS initiator,
        {
            'instance': aim.target_instance, 'database': aim.target_database, 'service': aim.target_service
        } AS target
    FROM drawn
    JOIN kinds AS source ON source.kind = drawn.kind
    JOIN kinds AS aim ON aim.kind = CASE WHEN is_hot THEN 0 ELSE drawn.kind END
"""

# Three conversations of an initiator share a group, and two of a target unless all hot ones do.
ENDPOINT_EVENTS = """
    SELECT
        id_of('begin', n) AS event_id, begun_at AS event_time, initiator.instance AS instance,
        initiator.database AS database, 'BEGIN_DIALOG' AS event_type, conversation_id, true AS is_initiator,
        id_of('initiator', n) AS conversation_handle, id_of('initiators', n // 3) AS conversation_group_id,
        contract, initiator.service AS local_service, target.service AS remote_service,
        NULL::INTEGER AS logged_priority
    FROM conversations
    UNION ALL
    SELECT
        id_of('create', n), begun_at + seconds(1), target.instance, target.database, 'DIALOG_CREATED',
        conversation_id, false, id_of('target', n),
        CASE WHEN is_hot AND $one_group THEN id_of('group', 0) ELSE id_of('targets', n // 2) END,
        contract, target.service, initiator.service, NULL
    FROM conversations
"""

MESSAGES = """
    CREATE TABLE messages AS
    WITH numbered AS (
        SELECT conversations.*, turn, 4 * n + turn AS m
        FROM conversations CROSS JOIN range(4) AS turns (turn)
        WHERE turn <= 4 * uniform(n, 'length')
    )
    SELECT
        m, turn, conversation_id, initiator, target,
        turn = 0 OR uniform(m, 'side') < 0.6 AS sent_by_initiator,
        begun_at + seconds(10 * turn + 5 * uniform(m, 'pause')) AS sent_at,
        (20000 * uniform(m, 'size'))::BIGINT AS size_bytes, uniform(m, 'fate') AS fate
    FROM numbered
"""

MESSAGE_EVENTS = """
    WITH steps AS (
        SELECT * FROM (
            VALUES ('SENT', 0, 1.0, true), ('DELIVERED', 2, 0.85, false), ('RECEIVED', 20, 0.45, false)
        ) AS steps (event_type, later, share, is_of_sender)
    )
    SELECT
        id_of(event_type, m) AS event_id, sent_at + seconds(later) AS event_time,
        CASE sent_by_initiator WHEN is_of_sender THEN initiator.instance ELSE target.instance END AS instance,
        CASE sent_by_initiator WHEN is_of_sender THEN initiator.database ELSE target.database END AS database,
        event_type, id_of('message', m) AS message_id, conversation_id, sent_by_initiator,
        turn AS message_sequence_number, 'Request' AS message_type, size_bytes, NULL::BIGINT AS queuing_order,
        NULL::VARCHAR AS transaction_id
    FROM steps JOIN messages ON fate < share
"""


def write_backlog(messages: int, folder: Path, midnight: datetime, skew: Skew | None = None) -> None:
    """Write the events in Parquet, the catalog and the rules.

    Args:
        messages: how many are sent, about.
        folder: where; it is there.
        midnight: the end of the day in which nearly all conversations begin.
        skew: what is spread unevenly; see `Skew`.
    """
    start = midnight - timedelta(days=1)
    size = synthetic.Size(
        services=SERVICES, kinds=KINDS, rules=RULES, same_level=0.99 if skew == "level" else 0.0
    )
    world = synthetic.world(size, draws=Draws(1), start=start, days=1)
    (folder / "catalog.yaml").write_text(world.catalog, encoding="utf-8")
    rules = [rule for rule in yaml.load(world.rules, Loader=yaml.CSafeLoader) if "create" in rule]
    text = yaml.dump(rules, Dumper=yaml.CSafeDumper, sort_keys=False)
    (folder / "rules.yaml").write_text(text, encoding="utf-8")
    with duckdb.connect(config={"temp_directory": str(folder / ".spill")}) as database:
        database.execute("SET TimeZone = 'UTC'")
        database.execute(MACROS)
        database.register("kinds", _kinds_of(world))
        drawn = {
            "kinds": KINDS,
            "start": start.isoformat(),
            "seconds": SECONDS,
            "conversations": max(1, messages * CONVERSATIONS_OF_FIVE_MESSAGES // 5),
            "hot": {"queue": 0.9, "group": 0.5}.get(skew or "", 0.0),
        }
        database.execute(CONVERSATIONS, drawn)
        database.execute(MESSAGES)
        events = ENDPOINT_EVENTS.replace("$one_group", str(skew == "group"))
        for source, query in (("endpoint_events", events), ("message_events", MESSAGE_EVENTS)):
            (folder / source).mkdir()
            database.execute(f"COPY ({query}) TO '{folder / source / 'part-0.parquet'}' (FORMAT parquet)")


def _kinds_of(world: World) -> pa.Table:
    """The kinds of conversations: what they are about, and where both sides are."""
    places = [
        f"{side}_{name}" for side in ("initiator", "target") for name in ("instance", "database", "service")
    ]
    names = ["kind", "contract", *places]
    return pa.table({name: [getattr(kind, name) for kind in world.kinds] for name in names})
