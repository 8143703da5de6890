-- Queues that are off at as_of, and groups that are locked then.

CREATE TABLE queues_off AS
WITH said AS (
    SELECT instance, database, queue, arg_max(upper(queue_status) != 'OFF', (event_time, event_id)) AS is_on
    FROM queue_events
    WHERE event_type = 'QUEUE_ALTERED' AND queue_status IS NOT NULL AND event_time < getvariable('as_of')
    GROUP BY ALL
)
SELECT instance, database, queue
FROM said FULL JOIN queues USING (instance, database, queue)
WHERE NOT coalesce(said.is_on, queues.is_on);

CREATE TABLE locked_groups AS
SELECT instance, database, queue, conversation_group_id
FROM queue_events ANTI JOIN ended_transactions USING (instance, transaction_id)
WHERE event_type IN ('RECEIVE', 'GET_CONVERSATION_GROUP') AND event_time < getvariable('as_of')
    AND transaction_id IS NOT NULL AND conversation_group_id IS NOT NULL
UNION
SELECT receiver.instance, receiver.database, receiver.queue, receiver.conversation_group_id
FROM open_messages AS m
JOIN endpoints_then AS receiver
    ON receiver.conversation_id = m.conversation_id AND receiver.is_initiator = (NOT m.sent_by_initiator)
WHERE is_in_flight AND receiver.queue IS NOT NULL;
