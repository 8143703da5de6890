-- Accepted message events: one row per event. The input is the view message_input.

CREATE VIEW message_rows AS
SELECT
    event_id, event_time, instance, database, event_type, message_id, conversation_id, sent_by_initiator,
    message_sequence_number, message_type, size_bytes, queuing_order, transaction_id,
    epoch_us(event_time) // 86_400_000_000 AS event_day,
    coalesce(
        event_id IS NOT NULL AND event_time IS NOT NULL AND instance IS NOT NULL AND database IS NOT NULL
        AND message_id IS NOT NULL AND conversation_id IS NOT NULL AND sent_by_initiator IS NOT NULL
        AND message_type IS NOT NULL
        AND event_type IN ('SENT', 'DELIVERED', 'RECEIVED', 'FORWARD_ACCEPTED', 'FORWARDED'),
        false
    ) AS is_event
FROM message_input;

-- Events that came more than once, with each content that they came with. Hashes are smaller to group by than
-- ids; what only shares a hash goes again.
CREATE TABLE message_repeats AS
WITH alike AS (
    SELECT event_day, hash(event_id) AS id_hash FROM message_rows WHERE is_event GROUP BY ALL HAVING count(*) > 1
),
several AS (
    SELECT r.* EXCLUDE is_event
    FROM message_rows AS r SEMI JOIN alike ON alike.event_day = r.event_day AND alike.id_hash = hash(r.event_id)
    WHERE is_event
    QUALIFY count(*) OVER (PARTITION BY r.event_day, r.event_id) > 1
)
SELECT DISTINCT * FROM several;

CREATE VIEW message_events AS
SELECT * EXCLUDE is_event FROM message_rows ANTI JOIN message_repeats USING (event_day, event_id)
WHERE is_event
UNION ALL
SELECT * FROM message_repeats QUALIFY count(*) OVER (PARTITION BY event_day, event_id) = 1;
