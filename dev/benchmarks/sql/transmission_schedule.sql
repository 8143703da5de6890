-- The order in which each instance would transmit: one row per (instance, message_id). Without starvation
-- prevention and without blocks.

CREATE VIEW transmission_schedule AS
WITH waiting AS (
    SELECT
        message_id, m.conversation_id, sent_by_initiator, message_sequence_number, message_type, size_bytes,
        sent_at AS became, sender.instance AS instance, sender.database AS database,
        sender.local_service AS from_service, sender.remote_service AS to_service,
        sender.contract AS contract, sender.priority AS priority, false AS forwarded,
        {'instance': sender.instance, 'database': sender.database} AS home,
        {'instance': receiver.instance, 'database': receiver.database, 'queue': receiver.queue} AS aim
    FROM open_messages AS m
    JOIN endpoints_then AS sender
        ON sender.conversation_id = m.conversation_id AND sender.is_initiator = m.sent_by_initiator
    LEFT JOIN endpoints_then AS receiver
        ON receiver.conversation_id = m.conversation_id AND receiver.is_initiator = (NOT m.sent_by_initiator)
    WHERE is_waiting
    UNION ALL
    SELECT
        message_id, m.conversation_id, sent_by_initiator, message_sequence_number, message_type,
        size_bytes, accepted_at, forwards.instance, forwards.database,
        coalesce(sender.local_service, receiver.remote_service),
        coalesce(sender.remote_service, receiver.local_service),
        coalesce(sender.contract, receiver.contract), sender.priority, true,
        {'instance': sender.instance, 'database': sender.database},
        {'instance': receiver.instance, 'database': receiver.database, 'queue': receiver.queue}
    FROM forwards
    JOIN open_messages AS m USING (message_id)
    LEFT JOIN endpoints_then AS sender
        ON sender.conversation_id = m.conversation_id AND sender.is_initiator = m.sent_by_initiator
    LEFT JOIN endpoints_then AS receiver
        ON receiver.conversation_id = m.conversation_id AND receiver.is_initiator = (NOT m.sent_by_initiator)
    LEFT JOIN endpoints AS known
        ON known.conversation_id = m.conversation_id AND known.is_initiator = sent_by_initiator
    -- The sender's instance is known before its endpoint is created.
    WHERE forwards.instance IS DISTINCT FROM known.instance
),
-- A conversation never overtakes itself.
sendable AS (
    SELECT
        *,
        max(became) OVER (
            PARTITION BY instance, conversation_id, sent_by_initiator, forwarded
            ORDER BY message_sequence_number NULLS LAST, message_id
            ROWS UNBOUNDED PRECEDING
        ) AS sendable_at
    FROM waiting
),
-- Where the receiver is, else the nearest service of that name in the catalog, if only one is as near.
destinations AS (
    SELECT
        s.*,
        CASE
            WHEN s.aim.instance IS NOT NULL THEN s.aim
            ELSE coalesce(
                CASE
                    WHEN here.queue IS NOT NULL
                    THEN {'instance': here.instance, 'database': here.database, 'queue': here.queue}
                END,
                CASE WHEN near.places = 1 OR near.places IS NULL AND anywhere.places = 1
                     THEN coalesce(near.place, anywhere.place) END
            )
        END AS destination
    FROM sendable AS s
    LEFT JOIN services AS here
        ON here.instance = s.home.instance AND here.database = s.home.database
        AND here.service = s.to_service
    LEFT JOIN (
        SELECT instance, service, min({'instance': instance, 'database': database, 'queue': queue}) AS place,
            count(*) AS places
        FROM services GROUP BY instance, service
    ) AS near ON near.instance = s.home.instance AND near.service = s.to_service
    LEFT JOIN (
        SELECT service, min({'instance': instance, 'database': database, 'queue': queue}) AS place,
            count(*) AS places
        FROM services GROUP BY service
    ) AS anywhere ON anywhere.service = s.to_service
),
-- A message to a queue that is off on the same instance is held by the queue's database.
held AS (
    SELECT
        d.* REPLACE (
            coalesce(o.database, d.database) AS database
        ),
        o.name AS waits_for, o.off_since AS waits_since, o.off_source AS waits_source
    FROM destinations AS d
    LEFT JOIN queues_off AS o
        ON o.instance = d.destination.instance AND o.database = d.destination.database
        AND o.queue = d.destination.queue AND o.instance = d.instance AND NOT d.forwarded
),
rated AS (
    SELECT
        h.*,
        CASE WHEN h.forwarded THEN false ELSE b.honors END AS honored,
        CASE
            WHEN coalesce(b.honors, true) AND NOT h.forwarded THEN h.priority ELSE 5
        END AS transmit_priority
    FROM held AS h LEFT JOIN databases AS b USING (instance, database)
)
SELECT
    instance, message_id,
    row_number() OVER (
        PARTITION BY instance
        ORDER BY
            transmit_priority DESC, sendable_at, conversation_id, sent_by_initiator DESC,
            message_sequence_number NULLS LAST, message_id
    ) AS position,
    database, destination.instance AS destination_instance, destination.database AS destination_database,
    conversation_id, sent_by_initiator, from_service, to_service, contract, message_sequence_number,
    message_type, size_bytes, priority, transmit_priority, false AS elevated, forwarded, NULL::BIGINT AS block, sendable_at,
    waits_for, waits_since, waits_source, honored
FROM rated
ORDER BY instance, position;
