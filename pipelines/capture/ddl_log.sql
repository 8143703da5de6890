-- Writes down each CREATE, ALTER and DROP of Service Broker objects in this database, priorities among them.
-- Run it once in each database whose rules or queues change. It only adds: a table and a trigger.
-- A trigger that fails refuses the statement that fired it: try it on a test server first.
-- PostTime is local time of the server. Export the table, and name it in the settings:
--   rules: [{path: ddl-log.csv, format: ddl-log, zone: Europe/Berlin}]
-- To remove both: DROP TRIGGER BrokerDdlLog ON DATABASE; DROP TABLE dbo.BrokerDdlLog;
SET ANSI_NULLS, QUOTED_IDENTIFIER, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, ARITHABORT ON;
SET NUMERIC_ROUNDABORT OFF;
GO
CREATE TABLE dbo.BrokerDdlLog (
    LogId bigint IDENTITY(1, 1) NOT NULL PRIMARY KEY,
    PostTime datetime2(3) NOT NULL,
    ServerName nvarchar(128) NULL,
    DatabaseName nvarchar(128) NULL,
    LoginName nvarchar(128) NULL,
    EventType nvarchar(128) NULL,
    ObjectName nvarchar(256) NULL,
    CommandText nvarchar(max) NULL
);
GO
CREATE TRIGGER BrokerDdlLog ON DATABASE WITH EXECUTE AS 'dbo' FOR DDL_SSB_EVENTS
AS
BEGIN
    SET NOCOUNT, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL, ARITHABORT ON;
    SET NUMERIC_ROUNDABORT OFF;
    DECLARE @event xml = EVENTDATA();
    INSERT INTO dbo.BrokerDdlLog
        (PostTime, ServerName, DatabaseName, LoginName, EventType, ObjectName, CommandText)
    VALUES (
        @event.value('(/EVENT_INSTANCE/PostTime)[1]', 'datetime2(3)'),
        @event.value('(/EVENT_INSTANCE/ServerName)[1]', 'nvarchar(128)'),
        @event.value('(/EVENT_INSTANCE/DatabaseName)[1]', 'nvarchar(128)'),
        @event.value('(/EVENT_INSTANCE/LoginName)[1]', 'nvarchar(128)'),
        @event.value('(/EVENT_INSTANCE/EventType)[1]', 'nvarchar(128)'),
        @event.value('(/EVENT_INSTANCE/ObjectName)[1]', 'nvarchar(256)'),
        @event.value('(/EVENT_INSTANCE/TSQLCommand/CommandText)[1]', 'nvarchar(max)')
    );
END;
GO
