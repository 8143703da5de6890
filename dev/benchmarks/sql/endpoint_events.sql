-- Accepted endpoint events: one row per event. The input is the view endpoint_input.
-- Few rows are left out, so these are named by file and row: later statements then read only the columns that
-- they need.

CREATE VIEW endpoint_rows AS
SELECT
    event_id, event_time, instance, database, event_type, conversation_id, is_initiator, conversation_handle,
    conversation_group_id, contract, local_service, remote_service, logged_priority,
    epoch_us(event_time) // 86_400_000_000 AS event_day, file_index, file_row_number
FROM endpoint_input;

-- The rows that may have to be left out: those that lack what their type needs (design: "Outputs", rejected
-- events) and those whose id came more than once. Hashes are smaller to group by than ids.
CREATE TABLE endpoint_suspects AS
WITH alike AS (
    SELECT event_day, hash(event_id) AS id_hash FROM endpoint_rows GROUP BY ALL HAVING count(*) > 1
),
judged AS (
    SELECT
        r.*, alike.id_hash IS NOT NULL AS is_alike,
        (
            event_id IS NULL OR event_time IS NULL OR instance IS NULL OR database IS NULL
            OR conversation_id IS NULL OR is_initiator IS NULL
            OR CASE
                WHEN event_type IN ('BEGIN_DIALOG', 'DIALOG_CREATED')
                    THEN is_initiator != (event_type = 'BEGIN_DIALOG') OR conversation_group_id IS NULL
                        OR contract IS NULL OR local_service IS NULL OR remote_service IS NULL
                WHEN event_type = 'MOVE_CONVERSATION' THEN conversation_group_id IS NULL
                ELSE coalesce(
                    event_type NOT IN (
                        'END_CONVERSATION', 'END_CONVERSATION_WITH_ERROR', 'END_CONVERSATION_WITH_CLEANUP'
                    ),
                    true
                )
            END
        ) AS is_reject
    FROM endpoint_rows AS r
    LEFT JOIN alike ON alike.event_day = r.event_day AND alike.id_hash = hash(r.event_id)
)
SELECT * FROM judged WHERE is_alike OR is_reject;

CREATE VIEW endpoint_rejects AS FROM endpoint_suspects WHERE is_reject;

-- Events that came more than once; what only shares a hash is not among them. Contents are numbered by event:
-- where there is a second one, the event contradicts itself.
CREATE TABLE endpoint_repeats AS
WITH several AS (
    SELECT
        *,
        count(*) OVER (PARTITION BY event_day, event_id) AS copies,
        dense_rank() OVER (
            PARTITION BY event_day, event_id
            ORDER BY
                event_id, event_time, instance, database, event_type, conversation_id,
                is_initiator, conversation_handle, conversation_group_id, contract,
                local_service, remote_service, logged_priority
        ) AS content
    FROM endpoint_suspects WHERE NOT is_reject
)
SELECT
    *,
    max(content) OVER (PARTITION BY event_day, event_id) > 1 AS is_conflict,
    row_number() OVER (
        PARTITION BY event_day, event_id, content ORDER BY file_index, file_row_number
    ) AS copy
FROM several WHERE copies > 1;

CREATE TABLE endpoint_left_out AS
SELECT file_index, file_row_number FROM endpoint_rejects
UNION ALL
SELECT file_index, file_row_number FROM endpoint_repeats WHERE is_conflict OR copy > 1;

CREATE VIEW endpoint_events AS
SELECT * FROM endpoint_rows ANTI JOIN endpoint_left_out USING (file_index, file_row_number);
