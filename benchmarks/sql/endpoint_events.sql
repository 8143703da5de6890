-- Accepted endpoint events: one row per event. The input is the view endpoint_input.

-- A row is an event if it has all that its type needs (design: "Outputs", rejected events).
CREATE VIEW endpoint_rows AS
SELECT
    event_id, event_time, instance, database, event_type, conversation_id, is_initiator, conversation_handle,
    conversation_group_id, contract, local_service, remote_service, logged_priority,
    epoch_us(event_time) // 86_400_000_000 AS event_day,
    coalesce(
        event_id IS NOT NULL AND event_time IS NOT NULL AND instance IS NOT NULL AND database IS NOT NULL
        AND conversation_id IS NOT NULL AND is_initiator IS NOT NULL
        AND CASE
            WHEN event_type IN ('BEGIN_DIALOG', 'DIALOG_CREATED')
                THEN is_initiator = (event_type = 'BEGIN_DIALOG') AND conversation_group_id IS NOT NULL
                    AND contract IS NOT NULL AND local_service IS NOT NULL AND remote_service IS NOT NULL
            WHEN event_type = 'MOVE_CONVERSATION' THEN conversation_group_id IS NOT NULL
            ELSE event_type IN (
                'END_CONVERSATION', 'END_CONVERSATION_WITH_ERROR', 'END_CONVERSATION_WITH_CLEANUP'
            )
        END,
        false
    ) AS is_event
FROM endpoint_input;

-- Events that came more than once, with each content that they came with. Hashes are smaller to group by than
-- ids; what only shares a hash goes again.
CREATE TABLE endpoint_repeats AS
WITH alike AS (
    SELECT event_day, hash(event_id) AS id_hash FROM endpoint_rows WHERE is_event GROUP BY ALL HAVING count(*) > 1
),
several AS (
    SELECT r.* EXCLUDE is_event
    FROM endpoint_rows AS r SEMI JOIN alike ON alike.event_day = r.event_day AND alike.id_hash = hash(r.event_id)
    WHERE is_event
    QUALIFY count(*) OVER (PARTITION BY r.event_day, r.event_id) > 1
)
SELECT DISTINCT * FROM several;

CREATE VIEW endpoint_events AS
SELECT * EXCLUDE is_event FROM endpoint_rows ANTI JOIN endpoint_repeats USING (event_day, event_id)
WHERE is_event
UNION ALL
SELECT * FROM endpoint_repeats QUALIFY count(*) OVER (PARTITION BY event_day, event_id) = 1;
