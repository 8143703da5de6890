-- Messages that are in a queue, in flight, waiting for transmission or being forwarded at as_of: one row per
-- message_id. And the endpoints of their conversations as they are then.

-- Times, takings and attributes of every message; what was received for good and is nowhere forwarded is left
-- out. Where all events of a message say the same, any of them has its attributes.
CREATE TABLE candidates AS
SELECT
    message_id,
    min(CASE WHEN e.event_type = 'SENT' THEN e.event_time END) AS sent_at,
    min(CASE WHEN e.event_type IN ('DELIVERED', 'RECEIVED') THEN e.event_time END) AS arrived_at,
    bool_or(
        e.event_type = 'RECEIVED' AND e.event_time < getvariable('as_of')
        AND (e.transaction_id IS NULL OR coalesce(t.committed, false) OR NOT getvariable('has_queue_events'))
    ) AS is_received,
    min(
        CASE
            WHEN e.event_type = 'RECEIVED' AND e.event_time < getvariable('as_of') AND e.transaction_id IS NOT NULL
                AND t.committed IS NULL AND getvariable('has_queue_events')
            THEN e.event_time
        END
    ) AS taken_at,
    any_value(conversation_id) AS conversation_id,
    any_value(sent_by_initiator) AS sent_by_initiator,
    any_value(message_type) AS message_type,
    any_value(message_sequence_number) AS message_sequence_number,
    any_value(queuing_order) AS queuing_order,
    any_value(size_bytes) AS size_bytes,
    min(said) != max(said) AS differs
FROM (
    SELECT
        *,
        hash(
            conversation_id, sent_by_initiator, message_type, message_sequence_number, queuing_order, size_bytes
        ) AS said
    FROM message_events
) AS e
LEFT JOIN ended_transactions AS t USING (instance, transaction_id)
GROUP BY message_id
HAVING NOT is_received OR bool_or(e.event_type = 'FORWARD_ACCEPTED');

-- Elsewhere they come from the earliest event that has them.
CREATE TABLE decided AS
WITH places AS (
    SELECT
        *,
        {
            'event_time': event_time,
            'kind': CASE event_type WHEN 'SENT' THEN 1 WHEN 'DELIVERED' THEN 2 WHEN 'RECEIVED' THEN 3 ELSE 4 END,
            'event_id': event_id
        } AS place
    FROM message_events SEMI JOIN (FROM candidates WHERE differs) USING (message_id)
)
SELECT
    message_id,
    arg_min(conversation_id, place) AS conversation_id,
    arg_min(sent_by_initiator, place) AS sent_by_initiator,
    arg_min(message_type, place) AS message_type,
    arg_min(message_sequence_number, place)
        FILTER (message_sequence_number IS NOT NULL) AS message_sequence_number,
    arg_min(queuing_order, place) FILTER (queuing_order IS NOT NULL) AS queuing_order,
    arg_min(size_bytes, place) FILTER (size_bytes IS NOT NULL) AS size_bytes
FROM places GROUP BY message_id;

CREATE VIEW candidate_messages AS
SELECT * EXCLUDE differs FROM candidates WHERE NOT differs
UNION ALL BY NAME
SELECT message_id, sent_at, arrived_at, is_received, taken_at, decided.* EXCLUDE message_id
FROM candidates JOIN decided USING (message_id);

CREATE TABLE forwards AS
SELECT
    message_id, instance, min(event_time) AS accepted_at,
    arg_min(database, (event_time, event_id)) AS database
FROM message_events AS a
WHERE event_type = 'FORWARD_ACCEPTED' AND event_time < getvariable('as_of')
    AND NOT EXISTS (
        FROM message_events AS f
        WHERE f.event_type = 'FORWARDED' AND f.event_time < getvariable('as_of')
            AND f.message_id = a.message_id AND f.instance = a.instance
    )
GROUP BY ALL;

-- The endpoints of these messages' conversations that exist at as_of, with their group at as_of.
CREATE TABLE endpoints_then AS
WITH existing AS (
    SELECT * EXCLUDE conversation_group_id
    FROM endpoints SEMI JOIN candidate_messages USING (conversation_id)
    WHERE created_at < getvariable('as_of')
),
last_moves AS (
    SELECT
        conversation_id, is_initiator,
        max({'event_time': event_time, 'event_id': event_id, 'id': conversation_group_id}).id AS group_id
    FROM moves JOIN existing USING (conversation_id, is_initiator)
    WHERE event_time >= created_at AND event_time < getvariable('as_of')
    GROUP BY ALL
)
SELECT existing.*, coalesce(group_id, first_group_id) AS conversation_group_id
FROM existing LEFT JOIN last_moves USING (conversation_id, is_initiator);

CREATE TABLE open_messages AS
SELECT
    m.*, m.taken_at IS NOT NULL AND NOT m.is_received AS is_in_flight,
    f.message_id IS NOT NULL AS is_forwarded,
    NOT m.is_received AND m.taken_at IS NULL AND coalesce(m.arrived_at < getvariable('as_of'), false)
        AND NOT coalesce(to_end.ended_at < getvariable('as_of'), false) AS in_queue,
    coalesce(m.sent_at < getvariable('as_of'), false)
        AND NOT coalesce(m.arrived_at < getvariable('as_of'), false)
        AND NOT coalesce(to_end.ended_at < getvariable('as_of'), false)
        AND NOT coalesce(from_end.ended_with_cleanup_at < getvariable('as_of'), false)
        AND NOT (
            coalesce(from_end.ended_with_error_at < getvariable('as_of'), false)
            AND NOT suffix(m.message_type, '/ServiceBroker/Error')
        ) AS is_waiting
FROM candidate_messages AS m
LEFT JOIN ends AS from_end
    ON from_end.conversation_id = m.conversation_id AND from_end.is_initiator = m.sent_by_initiator
LEFT JOIN ends AS to_end
    ON to_end.conversation_id = m.conversation_id AND to_end.is_initiator = (NOT m.sent_by_initiator)
LEFT JOIN (SELECT DISTINCT message_id FROM forwards) AS f ON f.message_id = m.message_id
WHERE in_queue OR is_waiting OR is_forwarded OR is_in_flight;
