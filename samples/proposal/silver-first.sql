-- A proposal for ERP1 of the sample log: orders of silver customers before those of gold ones.
-- docs/before-you-change-a-rule.md goes through it.
USE [ErpDB];
GO

-- effective_from: 2026-11-21T00:00:00Z
ALTER BROKER PRIORITY [SilverOrders] FOR CONVERSATION
    SET (PRIORITY_LEVEL = 10);
GO
