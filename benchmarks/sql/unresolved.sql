-- Open messages that no schedule can place: one row per (kind, id).

CREATE TABLE unresolved AS
SELECT
    'receive' AS kind, message_id AS id,
    CASE WHEN receiver.instance IS NULL THEN 'endpoint_unknown' ELSE 'service_not_in_catalog' END AS reason
FROM open_messages
WHERE in_queue AND receiver.queue IS NULL
UNION ALL
SELECT 'transmission', message_id, 'endpoint_unknown'
FROM open_messages
WHERE is_waiting AND sender.instance IS NULL;
