-- Transactions that had ended at as_of: one row per (instance, transaction_id). With a COMMIT and a ROLLBACK
-- the COMMIT counts. What is not here is open.

CREATE TABLE ended_transactions AS
SELECT instance, transaction_id, bool_or(event_type = 'COMMIT') AS committed
FROM queue_events
WHERE event_type IN ('COMMIT', 'ROLLBACK') AND transaction_id IS NOT NULL
    AND event_time < getvariable('as_of')
GROUP BY ALL;
