-- Open messages that no schedule can place: one row per (kind, id).

CREATE VIEW unresolved AS
SELECT
    'receive' AS kind, message_id AS id,
    CASE WHEN receiver.instance IS NULL THEN 'endpoint_unknown' ELSE 'service_not_in_catalog' END AS reason,
    receiver.instance, receiver.database, CAST(NULL AS VARCHAR) AS queue
FROM open_messages AS m
LEFT JOIN endpoints_then AS receiver
    ON receiver.conversation_id = m.conversation_id AND receiver.is_initiator = (NOT m.sent_by_initiator)
WHERE in_queue AND receiver.queue IS NULL
UNION ALL
SELECT 'transmission', message_id, 'endpoint_unknown', NULL, NULL, NULL
FROM open_messages AS m
LEFT JOIN endpoints_then AS sender
    ON sender.conversation_id = m.conversation_id AND sender.is_initiator = m.sent_by_initiator
WHERE is_waiting AND sender.instance IS NULL;
