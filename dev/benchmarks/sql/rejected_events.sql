-- Rows that are no event, and events that contradict another one of the same day and id.
-- Grain: (source, event_id, reason) and the content of the row.

CREATE VIEW rejected_events AS
WITH reasons AS (
    SELECT
        'endpoint_events' AS source, event_id,
        unnest([
            CASE WHEN event_id IS NULL THEN 'missing_event_id' END,
            CASE WHEN event_time IS NULL THEN 'missing_event_time' END,
            CASE WHEN instance IS NULL THEN 'missing_instance' END,
            CASE WHEN database IS NULL THEN 'missing_database' END,
            CASE WHEN event_type IS NULL THEN 'missing_event_type' END,
            CASE WHEN conversation_id IS NULL THEN 'missing_conversation_id' END,
            CASE WHEN is_initiator IS NULL THEN 'missing_is_initiator' END,
            CASE
                WHEN conversation_group_id IS NULL
                    AND event_type IN ('BEGIN_DIALOG', 'DIALOG_CREATED', 'MOVE_CONVERSATION')
                THEN 'missing_conversation_group_id'
            END,
            CASE
                WHEN contract IS NULL AND event_type IN ('BEGIN_DIALOG', 'DIALOG_CREATED')
                THEN 'missing_contract'
            END,
            CASE
                WHEN local_service IS NULL AND event_type IN ('BEGIN_DIALOG', 'DIALOG_CREATED')
                THEN 'missing_local_service'
            END,
            CASE
                WHEN remote_service IS NULL AND event_type IN ('BEGIN_DIALOG', 'DIALOG_CREATED')
                THEN 'missing_remote_service'
            END,
            CASE
                WHEN event_type NOT IN (
                    'BEGIN_DIALOG', 'DIALOG_CREATED', 'MOVE_CONVERSATION', 'END_CONVERSATION',
                    'END_CONVERSATION_WITH_ERROR', 'END_CONVERSATION_WITH_CLEANUP'
                )
                THEN 'unknown_event_type'
            END,
            CASE
                WHEN (event_type = 'BEGIN_DIALOG' AND NOT is_initiator)
                    OR (event_type = 'DIALOG_CREATED' AND is_initiator)
                THEN 'is_initiator_contradicts_event_type'
            END
        ]) AS reason
    FROM (SELECT DISTINCT * EXCLUDE (file_index, file_row_number) FROM endpoint_rejects)
    UNION ALL
    SELECT
        'message_events', event_id,
        unnest([
            CASE WHEN event_id IS NULL THEN 'missing_event_id' END,
            CASE WHEN event_time IS NULL THEN 'missing_event_time' END,
            CASE WHEN instance IS NULL THEN 'missing_instance' END,
            CASE WHEN database IS NULL THEN 'missing_database' END,
            CASE WHEN event_type IS NULL THEN 'missing_event_type' END,
            CASE WHEN message_id IS NULL THEN 'missing_message_id' END,
            CASE WHEN conversation_id IS NULL THEN 'missing_conversation_id' END,
            CASE WHEN sent_by_initiator IS NULL THEN 'missing_sent_by_initiator' END,
            CASE WHEN message_type IS NULL THEN 'missing_message_type' END,
            CASE
                WHEN event_type NOT IN ('SENT', 'DELIVERED', 'RECEIVED', 'FORWARD_ACCEPTED', 'FORWARDED')
                THEN 'unknown_event_type'
            END
        ])
    FROM (SELECT DISTINCT * EXCLUDE (file_index, file_row_number) FROM message_rejects)
    UNION ALL
    SELECT
        'queue_events', event_id,
        unnest([
            CASE WHEN event_id IS NULL THEN 'missing_event_id' END,
            CASE WHEN event_time IS NULL THEN 'missing_event_time' END,
            CASE WHEN instance IS NULL THEN 'missing_instance' END,
            CASE WHEN database IS NULL THEN 'missing_database' END,
            CASE WHEN queue IS NULL THEN 'missing_queue' END,
            CASE WHEN event_type IS NULL THEN 'missing_event_type' END,
            CASE
                WHEN event_type NOT IN (
                    'RECEIVE', 'GET_CONVERSATION_GROUP', 'COMMIT', 'ROLLBACK', 'WAIT_STARTED', 'WAIT_ENDED',
                    'TASK_STARTED', 'TASK_EXITED', 'QUEUE_ALTERED'
                )
                THEN 'unknown_event_type'
            END
        ])
    FROM (SELECT DISTINCT * EXCLUDE (file_index, file_row_number) FROM queue_rejects)
)
SELECT source, event_id, reason FROM reasons WHERE reason IS NOT NULL
UNION ALL
SELECT 'endpoint_events', event_id, 'conflicting_duplicate'
FROM endpoint_repeats WHERE is_conflict AND copy = 1
UNION ALL
SELECT 'message_events', event_id, 'conflicting_duplicate'
FROM message_repeats WHERE is_conflict AND copy = 1
UNION ALL
SELECT 'queue_events', event_id, 'conflicting_duplicate'
FROM queue_repeats WHERE is_conflict AND copy = 1;
