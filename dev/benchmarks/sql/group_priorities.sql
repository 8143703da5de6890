-- Groups with ready messages: one row per (instance, database, queue, conversation_group_id).

-- Ready messages. `arrival` is the arrival order; `type_rank` comes first in the order of a conversation.
CREATE TABLE ready_messages AS
SELECT
    receiver.instance, receiver.database, receiver.queue, receiver.conversation_group_id, message_id,
    m.conversation_id, receiver.is_initiator, receiver.conversation_handle, receiver.contract,
    receiver.local_service, receiver.remote_service, receiver.priority,
    message_sequence_number, message_type, arrived_at, queuing_order,
    {
        'arrived_at': arrived_at, 'unnumbered': queuing_order IS NULL,
        'queuing_order': coalesce(queuing_order, 0), 'message_id': message_id
    } AS arrival,
    CASE
        WHEN suffix(message_type, '/ServiceBroker/DialogTimer') THEN 1
        WHEN suffix(message_type, '/ServiceBroker/Error') THEN 2
        ELSE 3
    END AS type_rank
FROM open_messages AS m
JOIN endpoints_then AS receiver
    ON receiver.conversation_id = m.conversation_id AND receiver.is_initiator = (NOT m.sent_by_initiator)
WHERE in_queue AND receiver.queue IS NOT NULL;

-- Conversations in the order of their group.
CREATE TABLE ready_conversations AS
SELECT
    instance, database, queue, conversation_group_id, conversation_id, is_initiator, priority,
    count(*) AS messages, min(arrival) AS oldest,
    row_number() OVER (
        PARTITION BY instance, database, queue, conversation_group_id
        ORDER BY priority DESC, min(arrival), conversation_id, is_initiator DESC
    ) AS place
FROM ready_messages
GROUP BY instance, database, queue, conversation_group_id, conversation_id, is_initiator, priority;

CREATE TABLE group_priorities AS
WITH groups AS (
    SELECT
        instance, database, queue, conversation_group_id,
        max(priority) AS priority,
        min(conversation_id) FILTER (place = 1) AS deciding_conversation_id,
        count(*) AS conversations,
        sum(messages)::BIGINT AS messages,
        min(oldest).arrived_at AS oldest_arrival,
        -- The first conversation has the highest priority and of these the oldest arrival.
        min(oldest) FILTER (place = 1) AS oldest_at_priority
    FROM ready_conversations
    GROUP BY ALL
),
states AS (
    SELECT
        groups.*,
        CASE
            WHEN o.queue IS NOT NULL THEN 'queue_off'
            WHEN l.queue IS NOT NULL AND getvariable('has_queue_events') THEN 'group_locked'
            ELSE 'ready'
        END AS state,
        CASE WHEN state = 'queue_off' THEN off_since WHEN state = 'group_locked' THEN locked_since END AS held_since,
        CASE WHEN state = 'queue_off' THEN off_source WHEN state = 'group_locked' THEN 'log' END AS held_source
    FROM groups
    LEFT JOIN queues_off AS o USING (instance, database, queue)
    LEFT JOIN locked_groups AS l USING (instance, database, queue, conversation_group_id)
)
SELECT
    * EXCLUDE oldest_at_priority,
    CASE
        WHEN state = 'ready' THEN row_number() OVER (
            PARTITION BY instance, database, queue, state ORDER BY priority DESC, oldest_at_priority
        )
    END AS position
FROM states
ORDER BY instance, database, queue, position;
