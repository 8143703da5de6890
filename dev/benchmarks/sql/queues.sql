-- Queues that are off at as_of, and groups that are locked then.

-- A name as answers print it: in brackets if it is empty or has a blank, a dot or a bracket.
CREATE MACRO name_part(name) AS CASE
    WHEN name = '' OR regexp_matches(
        name,
        '[.\[\]\x09-\x0d\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]'
    ) THEN '[' || replace(name, ']', ']]') || ']'
    ELSE name
END;

CREATE TABLE queues_off AS
WITH altered AS (
    SELECT
        instance, database, queue, event_time, upper(queue_status) != 'OFF' AS is_on,
        {'event_time': event_time, 'event_id': event_id} AS place
    FROM queue_events
    WHERE event_type = 'QUEUE_ALTERED' AND queue_status IS NOT NULL AND event_time < getvariable('as_of')
),
last_on AS (
    SELECT instance, database, queue, max(place) FILTER (is_on) AS place FROM altered GROUP BY ALL
),
-- Off since the first OFF after the last ON; null where ON came last.
said AS (
    SELECT
        instance, database, queue, true AS is_said,
        min(event_time) FILTER (NOT is_on AND (o.place IS NULL OR a.place > o.place)) AS off_since
    FROM altered AS a JOIN last_on AS o USING (instance, database, queue)
    GROUP BY ALL
)
SELECT
    instance, database, queue, off_since,
    CASE WHEN off_since IS NULL THEN 'catalog' ELSE 'log' END AS off_source,
    name_part(instance) || '.' || name_part(database) || '.' || name_part(queue) AS name
FROM said FULL JOIN queues USING (instance, database, queue)
WHERE CASE WHEN is_said THEN off_since IS NOT NULL ELSE NOT queues.is_on END;

-- A group is locked since the first fact that locks it.
CREATE TABLE locked_groups AS
WITH locks AS (
    SELECT instance, database, queue, conversation_group_id, event_time AS since
    FROM queue_events ANTI JOIN ended_transactions USING (instance, transaction_id)
    WHERE event_type IN ('RECEIVE', 'GET_CONVERSATION_GROUP') AND event_time < getvariable('as_of')
        AND transaction_id IS NOT NULL AND conversation_group_id IS NOT NULL
    UNION ALL
    SELECT receiver.instance, receiver.database, receiver.queue, receiver.conversation_group_id, m.taken_at
    FROM open_messages AS m
    JOIN endpoints_then AS receiver
        ON receiver.conversation_id = m.conversation_id AND receiver.is_initiator = (NOT m.sent_by_initiator)
    WHERE is_in_flight AND receiver.queue IS NOT NULL
)
SELECT instance, database, queue, conversation_group_id, min(since) AS locked_since FROM locks GROUP BY ALL;
