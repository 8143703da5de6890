-- Accepted queue events: one row per event. The input is the view queue_input.

CREATE VIEW queue_rows AS
SELECT
    event_id, event_time, instance, database, queue, event_type, session_id, transaction_id,
    conversation_group_id, has_where, row_count, queue_status,
    epoch_us(event_time) // 86_400_000_000 AS event_day,
    coalesce(
        event_id IS NOT NULL AND event_time IS NOT NULL AND instance IS NOT NULL AND database IS NOT NULL
        AND queue IS NOT NULL
        AND event_type IN (
            'RECEIVE', 'GET_CONVERSATION_GROUP', 'COMMIT', 'ROLLBACK', 'WAIT_STARTED', 'WAIT_ENDED',
            'TASK_STARTED', 'TASK_EXITED', 'QUEUE_ALTERED'
        ),
        false
    ) AS is_event
FROM queue_input;

-- Events that came more than once, with each content that they came with. Hashes are smaller to group by than
-- ids; what only shares a hash goes again.
CREATE TABLE queue_repeats AS
WITH alike AS (
    SELECT event_day, hash(event_id) AS id_hash FROM queue_rows WHERE is_event GROUP BY ALL HAVING count(*) > 1
),
several AS (
    SELECT r.* EXCLUDE is_event
    FROM queue_rows AS r SEMI JOIN alike ON alike.event_day = r.event_day AND alike.id_hash = hash(r.event_id)
    WHERE is_event
    QUALIFY count(*) OVER (PARTITION BY r.event_day, r.event_id) > 1
)
SELECT DISTINCT * FROM several;

CREATE VIEW queue_events AS
SELECT * EXCLUDE is_event FROM queue_rows ANTI JOIN queue_repeats USING (event_day, event_id)
WHERE is_event
UNION ALL
SELECT * FROM queue_repeats QUALIFY count(*) OVER (PARTITION BY event_day, event_id) = 1;
