-- The order in which one reader would receive, without TOP: one row per ready message. A RECEIVE takes all
-- ready messages of the group it chooses, so the order is that of the groups and inside them their own.

CREATE VIEW receive_schedule AS
WITH placed AS (
    SELECT
        m.*, g.state, g.held_since, g.held_source, g.position AS receive_number, g.priority AS group_priority, c.place
    FROM ready_messages AS m
    JOIN group_priorities AS g USING (instance, database, queue, conversation_group_id)
    JOIN ready_conversations AS c
        USING (instance, database, queue, conversation_group_id, conversation_id, is_initiator)
)
SELECT
    instance, database, queue, message_id,
    CASE
        WHEN state = 'ready' THEN row_number() OVER (
            PARTITION BY instance, database, queue, state
            ORDER BY
                receive_number, place, type_rank, message_sequence_number NULLS LAST, arrived_at,
                queuing_order NULLS LAST, message_id
        )
    END AS position,
    receive_number, conversation_group_id, group_priority, conversation_id, is_initiator, conversation_handle,
    contract, local_service, remote_service, priority, message_sequence_number, message_type, arrived_at, queuing_order,
    state, held_since, held_source
FROM placed
ORDER BY instance, database, queue, position;
