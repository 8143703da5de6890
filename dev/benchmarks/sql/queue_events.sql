-- Accepted queue events: one row per event. The input is the view queue_input.
-- Few rows are left out, so these are named by file and row: later statements then read only the columns that
-- they need.

CREATE VIEW queue_rows AS
SELECT
    event_id, event_time, instance, database, queue, event_type, session_id, transaction_id,
    conversation_group_id, has_where, row_count, queue_status,
    epoch_us(event_time) // 86_400_000_000 AS event_day, file_index, file_row_number
FROM queue_input;

-- The rows that may have to be left out: those that lack what their type needs (design: "Outputs", rejected
-- events) and those whose id came more than once. Hashes are smaller to group by than ids.
CREATE TABLE queue_suspects AS
WITH alike AS (
    SELECT event_day, hash(event_id) AS id_hash FROM queue_rows GROUP BY ALL HAVING count(*) > 1
),
judged AS (
    SELECT
        r.*, alike.id_hash IS NOT NULL AS is_alike,
        (
            event_id IS NULL OR event_time IS NULL OR instance IS NULL OR database IS NULL OR queue IS NULL
            OR event_type IS NULL
            OR event_type NOT IN (
                'RECEIVE', 'GET_CONVERSATION_GROUP', 'COMMIT', 'ROLLBACK', 'WAIT_STARTED', 'WAIT_ENDED',
                'TASK_STARTED', 'TASK_EXITED', 'QUEUE_ALTERED'
            )
        ) AS is_reject
    FROM queue_rows AS r
    LEFT JOIN alike ON alike.event_day = r.event_day AND alike.id_hash = hash(r.event_id)
)
SELECT * FROM judged WHERE is_alike OR is_reject;

CREATE VIEW queue_rejects AS FROM queue_suspects WHERE is_reject;

-- Events that came more than once; what only shares a hash is not among them. Contents are numbered by event:
-- where there is a second one, the event contradicts itself.
CREATE TABLE queue_repeats AS
WITH several AS (
    SELECT
        *,
        count(*) OVER (PARTITION BY event_day, event_id) AS copies,
        dense_rank() OVER (
            PARTITION BY event_day, event_id
            ORDER BY
                event_id, event_time, instance, database, queue, event_type, session_id,
                transaction_id, conversation_group_id, has_where, row_count, queue_status
        ) AS content
    FROM queue_suspects WHERE NOT is_reject
)
SELECT
    *,
    max(content) OVER (PARTITION BY event_day, event_id) > 1 AS is_conflict,
    row_number() OVER (
        PARTITION BY event_day, event_id, content ORDER BY file_index, file_row_number
    ) AS copy
FROM several WHERE copies > 1;

CREATE TABLE queue_left_out AS
SELECT file_index, file_row_number FROM queue_rejects
UNION ALL
SELECT file_index, file_row_number FROM queue_repeats WHERE is_conflict OR copy > 1;

CREATE VIEW queue_events AS
SELECT * FROM queue_rows ANTI JOIN queue_left_out USING (file_index, file_row_number);
