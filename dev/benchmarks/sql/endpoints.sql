-- Endpoints with their priorities, as all events know them: one row per (conversation_id, is_initiator).

-- Of several creations the first by (event_time, event_id) decides. Few endpoints have several.
CREATE TEMP VIEW creation_events AS
SELECT
    conversation_id, is_initiator, event_time, event_id, instance, database, contract, local_service,
    remote_service, conversation_handle, conversation_group_id
FROM endpoint_events
WHERE event_type IN ('BEGIN_DIALOG', 'DIALOG_CREATED');

CREATE TABLE creations AS
WITH several AS (
    SELECT conversation_id, is_initiator FROM creation_events GROUP BY ALL HAVING count(*) > 1
)
SELECT * FROM creation_events ANTI JOIN several USING (conversation_id, is_initiator)
UNION ALL
SELECT * FROM creation_events SEMI JOIN several USING (conversation_id, is_initiator)
QUALIFY row_number() OVER (PARTITION BY conversation_id, is_initiator ORDER BY event_time, event_id) = 1;

-- The first arrival of a message of the initiator; it creates the target endpoint if nothing did so earlier.
CREATE TABLE first_arrivals AS
SELECT conversation_id, min(event_time) AS arrived_at
FROM message_events
WHERE sent_by_initiator AND event_type IN ('DELIVERED', 'RECEIVED')
GROUP BY ALL;

CREATE TABLE inferred_targets AS
WITH missing AS (
    SELECT conversation_id, contract, local_service, remote_service
    FROM creations
    ANTI JOIN (SELECT conversation_id FROM creations WHERE NOT is_initiator) USING (conversation_id)
    WHERE is_initiator
),
arrivals AS (
    SELECT
        conversation_id,
        min({
            'event_time': event_time, 'kind': event_type = 'RECEIVED', 'event_id': event_id,
            'instance': instance, 'database': database
        }) AS arrival
    FROM message_events SEMI JOIN missing USING (conversation_id)
    WHERE sent_by_initiator AND event_type IN ('DELIVERED', 'RECEIVED')
    GROUP BY ALL
)
SELECT
    conversation_id, arrival.event_time, arrival.instance, arrival.database, contract,
    remote_service AS local_service, local_service AS remote_service
FROM arrivals JOIN missing USING (conversation_id);

-- END_* events count whether or not the endpoint is known.
CREATE TABLE ends AS
SELECT
    conversation_id, is_initiator, min(event_time) AS ended_at,
    min(event_time) FILTER (event_type = 'END_CONVERSATION_WITH_ERROR') AS ended_with_error_at,
    min(event_time) FILTER (event_type = 'END_CONVERSATION_WITH_CLEANUP') AS ended_with_cleanup_at
FROM endpoint_events
WHERE event_type IN ('END_CONVERSATION', 'END_CONVERSATION_WITH_ERROR', 'END_CONVERSATION_WITH_CLEANUP')
GROUP BY ALL;

CREATE TEMP VIEW known_endpoints AS
SELECT
    c.conversation_id, c.is_initiator, c.instance, c.database, c.contract, c.local_service, c.remote_service,
    c.conversation_handle, c.conversation_group_id AS first_group_id, c.event_time AS created_at
FROM creations AS c WHERE c.is_initiator
UNION ALL
SELECT
    c.conversation_id, c.is_initiator, c.instance, c.database, c.contract, c.local_service, c.remote_service,
    c.conversation_handle, c.conversation_group_id,
    -- An arrival proves that the endpoint was there, be its initiator known or not.
    least(c.event_time, a.arrived_at)
FROM creations AS c
LEFT JOIN first_arrivals AS a USING (conversation_id)
WHERE NOT c.is_initiator
UNION ALL
SELECT
    conversation_id, false, instance, database, contract, local_service, remote_service, NULL,
    conversation_id, event_time
FROM inferred_targets;

-- The ladder on distinct kinds of endpoints: each kind asks eight times, with ever less of its names (null is
-- ANY). What is found holds for a period, and in it the first step counts.
CREATE TABLE found_rules AS
WITH kinds AS (
    SELECT DISTINCT instance, database, contract, local_service, remote_service FROM known_endpoints
),
asked AS (
    SELECT
        kinds.*, step,
        CASE WHEN step IN (1, 2, 3, 4) THEN contract END AS asked_contract,
        CASE WHEN step IN (1, 2, 5, 6) THEN local_service END AS asked_local,
        CASE WHEN step IN (1, 3, 5, 7) THEN remote_service END AS asked_remote
    FROM kinds CROSS JOIN range(1, 9) AS steps (step)
)
SELECT
    a.instance, a.database, a.contract, a.local_service, a.remote_service, a.step, r.name, r.level,
    r.valid_from, coalesce(r.valid_to, 'infinity'::TIMESTAMPTZ) AS valid_to
FROM asked AS a
JOIN rules AS r
    ON r.instance = a.instance AND r.database = a.database
    AND r.contract IS NOT DISTINCT FROM a.asked_contract
    AND r.local_service IS NOT DISTINCT FROM a.asked_local
    AND r.remote_service IS NOT DISTINCT FROM a.asked_remote;

CREATE TABLE kind_priorities AS
WITH moments AS (
    SELECT instance, database, contract, local_service, remote_service, valid_from AS moment FROM found_rules
    UNION
    SELECT instance, database, contract, local_service, remote_service, valid_to FROM found_rules
),
periods AS (
    SELECT
        *,
        lead(moment) OVER (
            PARTITION BY instance, database, contract, local_service, remote_service ORDER BY moment
        ) AS until
    FROM moments
)
SELECT
    instance, database, contract, local_service, remote_service, moment AS since, until,
    min({'step': f.step, 'name': f.name, 'level': f.level}) AS rule
FROM periods AS p
JOIN found_rules AS f USING (instance, database, contract, local_service, remote_service)
WHERE f.valid_from <= p.moment AND p.moment < f.valid_to
GROUP BY ALL;

CREATE TABLE moves AS
SELECT conversation_id, is_initiator, event_time, event_id, conversation_group_id
FROM endpoint_events WHERE event_type = 'MOVE_CONVERSATION';

CREATE TABLE endpoints AS
WITH last_moves AS (
    SELECT
        conversation_id, is_initiator,
        max({'event_time': event_time, 'event_id': event_id, 'id': conversation_group_id}).id AS last_group_id
    FROM moves JOIN known_endpoints USING (conversation_id, is_initiator)
    WHERE event_time >= created_at
    GROUP BY ALL
)
SELECT
    e.conversation_id, e.is_initiator, e.instance, e.database, s.queue, e.contract, e.local_service,
    e.remote_service, e.conversation_handle, e.first_group_id,
    coalesce(m.last_group_id, e.first_group_id) AS conversation_group_id, e.created_at, d.ended_at,
    coalesce(k.rule.level, 5)::INTEGER AS priority, k.rule.name AS rule_name,
    k.rule.step::INTEGER AS ladder_step
FROM known_endpoints AS e
LEFT JOIN ends AS d USING (conversation_id, is_initiator)
LEFT JOIN last_moves AS m USING (conversation_id, is_initiator)
LEFT JOIN services AS s
    ON s.instance = e.instance AND s.database = e.database AND s.service = e.local_service
LEFT JOIN kind_priorities AS k
    ON k.instance = e.instance AND k.database = e.database AND k.contract = e.contract
    AND k.local_service = e.local_service AND k.remote_service = e.remote_service
    AND k.since <= e.created_at AND e.created_at < k.until;
