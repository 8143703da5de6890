-- A proposal for ERP1 of the sample log: bulk packing before parcels, behind express alone.
-- docs/replay.md asks what it does to the waits.
USE [StockDB];
GO

-- effective_from: 2026-11-21T00:00:00Z
ALTER BROKER PRIORITY [BulkPacking] FOR CONVERSATION
    SET (PRIORITY_LEVEL = 6);
GO
