-- Reads what Service Broker holds on this server, and returns one column, one JSON object per row.
-- For SQL Server 2016 and later and Azure SQL Managed Instance. Save the result as a file, with any tool.
--
-- It only reads: catalog views, dynamic management views, and queues WITH (NOLOCK). It never reads a message body,
-- only its length. It writes nothing but its own temporary tables; a million rows need about 0.5 GB of tempdb.
-- While it reads, only DDL (such as ALTER QUEUE) can wait for it, never a SEND or a RECEIVE.
-- It needs no permission in particular: it reads what the login may see, and says what that is.
-- The SET options stay with the session: use a window of its own.
-- One batch, for every tool: no batch separator, no command or variable of sqlcmd, nothing but ASCII.

SET NOCOUNT ON;
SET ROWCOUNT 0;
SET QUOTED_IDENTIFIER ON;           -- sqlcmd starts with OFF
SET ANSI_NULLS ON;
SET ANSI_PADDING ON;
SET ANSI_WARNINGS ON;               -- a line that is too long is an error, never cut
SET CONCAT_NULL_YIELDS_NULL ON;
SET IMPLICIT_TRANSACTIONS OFF;
SET LOCK_TIMEOUT 5000;              -- milliseconds
SET DEADLOCK_PRIORITY LOW;
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;

IF @@TRANCOUNT > 0
BEGIN
    RAISERROR(N'Run the capture outside a transaction.', 16, 1);
    RETURN;
END;

SET XACT_ABORT ON;                  -- a parameter that is wrong ends the script

-- ---------------------------------------------------------------------------------------------------------------
-- Parameters. As they are: all user databases with user services, whether Service Broker is on there or not, but
-- those that nobody can write to; and all their queues but the system's.
-- A database that is named is read in any case.
-- ---------------------------------------------------------------------------------------------------------------
DECLARE @only_databases TABLE (name nvarchar(128) COLLATE Latin1_General_BIN2 NOT NULL);
-- INSERT INTO @only_databases (name) VALUES (N'Claims'), (N'Billing');

-- Queues as the server spells them. Queues that are not named are left out, in every database.
DECLARE @only_queues TABLE (
    queue_schema nvarchar(128) COLLATE Latin1_General_BIN2 NOT NULL,
    queue nvarchar(128) COLLATE Latin1_General_BIN2 NOT NULL
);
-- INSERT INTO @only_queues (queue_schema, queue) VALUES (N'dbo', N'ClaimIntakeQueue');

-- 1: of the conversation endpoints only those whose handle stands in a queue or transmission queue. Such a capture is
-- quick to take between two whole ones; nothing counts as ended because it is not in it.
DECLARE @light bit = 0;

-- The most rows of one queue. A queue with so many rows counts as cut: it is not complete, and its line says so.
DECLARE @most_rows bigint = 9223372036854775807;

-- ---------------------------------------------------------------------------------------------------------------
-- Temporary tables. All names are compared as they are spelt, whatever the collations of the databases.
-- ---------------------------------------------------------------------------------------------------------------
DECLARE @taken_at varchar(28) = CONVERT(varchar(27), SYSUTCDATETIME(), 126) + 'Z';
DECLARE @id char(36) = CONVERT(char(36), NEWID());

IF OBJECT_ID(N'tempdb..#capture_lines') IS NOT NULL DROP TABLE #capture_lines;
IF OBJECT_ID(N'tempdb..#capture_positions') IS NOT NULL DROP TABLE #capture_positions;
IF OBJECT_ID(N'tempdb..#capture_databases') IS NOT NULL DROP TABLE #capture_databases;
IF OBJECT_ID(N'tempdb..#capture_queues') IS NOT NULL DROP TABLE #capture_queues;
IF OBJECT_ID(N'tempdb..#capture_views') IS NOT NULL DROP TABLE #capture_views;
IF OBJECT_ID(N'tempdb..#capture_handles') IS NOT NULL DROP TABLE #capture_handles;
IF OBJECT_ID(N'tempdb..#capture_work') IS NOT NULL DROP TABLE #capture_work;

CREATE TABLE #capture_lines (                       -- the result
    n bigint IDENTITY(1, 1) NOT NULL PRIMARY KEY,
    line varchar(8000) COLLATE Latin1_General_BIN2 NOT NULL
);
CREATE TABLE #capture_positions (                   -- 1 to 8000: the characters of a line
    i int NOT NULL PRIMARY KEY
);
CREATE TABLE #capture_databases (
    n int IDENTITY(1, 1) NOT NULL PRIMARY KEY,
    name nvarchar(128) COLLATE Latin1_General_BIN2 NOT NULL,
    reason nvarchar(400) COLLATE Latin1_General_BIN2 NULL,      -- why it is not read
    view_definition bit NULL,                       -- whether the login sees the whole catalog
    is_named bit NOT NULL,                          -- whether it is a parameter
    services int NULL                               -- user services that the login sees
);
CREATE TABLE #capture_queues (
    database_name nvarchar(128) COLLATE Latin1_General_BIN2 NOT NULL,
    queue_schema nvarchar(128) COLLATE Latin1_General_BIN2 NOT NULL,
    queue nvarchar(128) COLLATE Latin1_General_BIN2 NOT NULL
);
CREATE TABLE #capture_handles (                     -- of a light capture: the endpoints that it reads
    database_name nvarchar(128) COLLATE Latin1_General_BIN2 NOT NULL,
    conversation_handle uniqueidentifier NOT NULL
);
CREATE TABLE #capture_views (                       -- what is read of each database
    phase int NOT NULL,
    view_name varchar(60) COLLATE Latin1_General_BIN2 NOT NULL,
    select_list nvarchar(max) COLLATE Latin1_General_BIN2 NOT NULL,
    from_clause nvarchar(max) COLLATE Latin1_General_BIN2 NOT NULL
);
CREATE TABLE #capture_work (                        -- one row per database and view or queue, in the order of reading
    n int IDENTITY(1, 1) NOT NULL PRIMARY KEY,
    database_name nvarchar(128) COLLATE Latin1_General_BIN2 NOT NULL,
    view_name varchar(60) COLLATE Latin1_General_BIN2 NOT NULL,
    queue_schema nvarchar(128) COLLATE Latin1_General_BIN2 NULL,
    queue nvarchar(128) COLLATE Latin1_General_BIN2 NULL,
    select_list nvarchar(max) COLLATE Latin1_General_BIN2 NOT NULL,
    from_clause nvarchar(max) COLLATE Latin1_General_BIN2 NOT NULL,
    is_whole bit NOT NULL                           -- whether the login may see all rows
);

INSERT INTO #capture_positions (i)
SELECT TOP (8000) ROW_NUMBER() OVER (ORDER BY (SELECT NULL))
FROM sys.all_columns AS a CROSS JOIN sys.all_columns AS b;

-- An expression for x.line, the JSON of a row, as the same JSON in ASCII: \uXXXX stands for every other character,
-- so that the code page of a tool can't change a name. In such a line the blank and the three characters that
-- FOR XML would write in another way become \uXXXX too.
DECLARE @ascii nvarchar(max) = N'CASE WHEN x.line COLLATE Latin1_General_BIN2 LIKE N''%[^ -~]%'' THEN
    (SELECT CASE WHEN c.code BETWEEN 33 AND 126 AND c.code NOT IN (38, 60, 62) THEN NCHAR(c.code)
                 ELSE N''\u'' + CONVERT(varchar(4), CONVERT(binary(2), c.code), 2) END
     FROM #capture_positions AS p
     CROSS APPLY (SELECT UNICODE(SUBSTRING(x.line COLLATE Latin1_General_BIN2, p.i, 1)) AS code) AS c
     WHERE p.i <= DATALENGTH(x.line) / 2
     ORDER BY p.i
     FOR XML PATH(N''''))
    ELSE x.line COLLATE Latin1_General_BIN2 END';
-- The statement that adds one line, @text.
DECLARE @add nvarchar(max) = N'INSERT INTO #capture_lines (line) SELECT ' + @ascii
    + N' FROM (SELECT @text AS line) AS x;';

DECLARE @text nvarchar(max), @statement nvarchar(max), @run nvarchar(300);
DECLARE @name nvarchar(128), @view varchar(60), @schema nvarchar(128), @queue nvarchar(128);
DECLARE @top nvarchar(20), @keys nvarchar(100), @select_list nvarchar(max), @from_clause nvarchar(max);
DECLARE @place nvarchar(600), @more nvarchar(max), @other_statuses nvarchar(max), @system_rows bigint;
DECLARE @n int, @allowed int, @services int, @count bigint, @total bigint = 0;
DECLARE @complete bit, @error nvarchar(400), @read_at varchar(28);

-- ---------------------------------------------------------------------------------------------------------------
-- The header line.
-- ---------------------------------------------------------------------------------------------------------------
SET @text = (
    SELECT 2 AS [capture], @id AS [id],
           CONVERT(nvarchar(128), SERVERPROPERTY(N'ServerName')) AS [server],
           CONVERT(nvarchar(128), SERVERPROPERTY(N'ProductVersion')) AS [product_version],
           @taken_at AS [taken_at], DATEPART(TZOFFSET, SYSDATETIMEOFFSET()) AS [utc_offset_minutes],
           CONVERT(bit, CASE WHEN HAS_PERMS_BY_NAME(NULL, NULL, N'VIEW SERVER STATE') = 1
                               OR HAS_PERMS_BY_NAME(NULL, NULL, N'VIEW SERVER PERFORMANCE STATE') = 1
                             THEN 1 ELSE 0 END) AS [server_state]
    FOR JSON PATH, WITHOUT_ARRAY_WRAPPER, INCLUDE_NULL_VALUES
);
IF @light = 1 SET @text = STUFF(@text, LEN(@text), 1, N',"light":true' + NCHAR(125));
EXEC sys.sp_executesql @add, N'@text nvarchar(max)', @text = @text;

-- ---------------------------------------------------------------------------------------------------------------
-- One line per database: whether it is read, or why not. A database that certainly has no user service is left out.
-- ---------------------------------------------------------------------------------------------------------------
INSERT INTO #capture_databases (name, is_named, reason)
SELECT d.name, CASE WHEN EXISTS (SELECT 1 FROM @only_databases) THEN 1 ELSE 0 END,
       CASE WHEN d.source_database_id IS NOT NULL THEN N'a database snapshot'
            WHEN d.state <> 0 THEN d.state_desc
            WHEN COALESCE(HAS_DBACCESS(d.name), 0) = 0 THEN N'no access' END
FROM sys.databases AS d
WHERE EXISTS (SELECT 1 FROM @only_databases AS o WHERE DB_ID(o.name) = d.database_id)
   OR (NOT EXISTS (SELECT 1 FROM @only_databases)
       AND d.database_id > 4 AND d.source_database_id IS NULL)
ORDER BY d.name;
INSERT INTO #capture_databases (name, is_named, reason)
SELECT DISTINCT o.name, 1, N'not found'
FROM @only_databases AS o
WHERE NOT EXISTS (SELECT 1 FROM #capture_databases AS d WHERE DB_ID(d.name) = DB_ID(o.name));

SET XACT_ABORT OFF;                 -- from here on, an error is noted, and reading goes on

SET @n = 0;
WHILE 1 = 1
BEGIN
    SELECT TOP (1) @n = d.n, @name = d.name
    FROM #capture_databases AS d WHERE d.n > @n AND d.reason IS NULL ORDER BY d.n;
    IF @@ROWCOUNT = 0 BREAK;
    SET @run = QUOTENAME(@name) + N'.sys.sp_executesql';
    SELECT @allowed = NULL, @services = NULL;
    BEGIN TRY
        EXEC @run N'SET @allowed = HAS_PERMS_BY_NAME(NULL, N''DATABASE'', N''VIEW DEFINITION'');
SET @services = (SELECT COUNT(*) FROM sys.services AS s
                 JOIN sys.service_queues AS q ON q.object_id = s.service_queue_id
                 WHERE q.is_ms_shipped = 0);
INSERT INTO #capture_queues (database_name, queue_schema, queue)
SELECT @name, s.name, q.name
FROM sys.service_queues AS q JOIN sys.schemas AS s ON s.schema_id = q.schema_id
WHERE q.is_ms_shipped = 0;',
             N'@name nvarchar(128), @allowed int OUTPUT, @services int OUTPUT',
             @name = @name, @allowed = @allowed OUTPUT, @services = @services OUTPUT;
        UPDATE #capture_databases SET view_definition = COALESCE(@allowed, 0), services = @services WHERE n = @n;
    END TRY
    BEGIN CATCH
        UPDATE #capture_databases
        SET reason = LEFT(CONVERT(nvarchar(11), ERROR_NUMBER()) + N' ' + ERROR_MESSAGE(), 400)
        WHERE n = @n;
    END CATCH;
END;
DELETE FROM #capture_databases WHERE is_named = 0 AND reason IS NULL AND services = 0 AND view_definition = 1;
UPDATE #capture_databases
SET reason = CASE WHEN services = 0 THEN N'the login sees no service there; it lacks VIEW DEFINITION'
                  ELSE N'READ_ONLY' END,
    view_definition = NULL
WHERE is_named = 0 AND reason IS NULL
  AND (services = 0 OR CONVERT(nvarchar(60), DATABASEPROPERTYEX(name, N'Updateability')) = N'READ_ONLY');

SET @n = 0;
WHILE 1 = 1
BEGIN
    SELECT TOP (1) @n = d.n,
           @text = (SELECT d.name AS [database], CONVERT(bit, CASE WHEN d.reason IS NULL THEN 1 ELSE 0 END) AS [read],
                           d.reason AS [reason], d.view_definition AS [view_definition]
                    FOR JSON PATH, WITHOUT_ARRAY_WRAPPER, INCLUDE_NULL_VALUES)
    FROM #capture_databases AS d WHERE d.n > @n ORDER BY d.n;
    IF @@ROWCOUNT = 0 BREAK;
    EXEC sys.sp_executesql @add, N'@text nvarchar(max)', @text = @text;
END;

-- ---------------------------------------------------------------------------------------------------------------
-- What is read, phase by phase over all databases. A message moves from a transmission queue to a queue: in this
-- order it is seen twice at most, never missed. Endpoints come after the messages and names after the endpoints, so
-- that what a row refers to is there.
-- ---------------------------------------------------------------------------------------------------------------
INSERT INTO #capture_views (phase, view_name, select_list, from_clause) VALUES
(1, 'transmission_queue',
 N'[columns of transmission_queue]',
 N'sys.transmission_queue AS v'),
(2, 'queue',
 N'[columns of queue]',
 N' AS v WITH (NOLOCK) WHERE v.status = 1'),        -- behind the name of the queue; 1 is ready to be received
(3, 'conversation_endpoints',
 N'[columns of conversation_endpoints]',
 N'sys.conversation_endpoints AS v WHERE v.is_system = 0
    AND (@light = 0 OR EXISTS (SELECT 1 FROM #capture_handles AS h
                               WHERE h.database_name = @name AND h.conversation_handle = v.conversation_handle))'),
(4, 'services',
 N'[columns of services]',
 N'sys.services AS v'),
(4, 'service_contracts',
 N'[columns of service_contracts]',
 N'sys.service_contracts AS v'),
(4, 'service_queues',
 N'[columns of service_queues]',
 N'sys.service_queues AS v'),
(4, 'conversation_priorities',
 N'[columns of conversation_priorities]',
 N'sys.conversation_priorities AS v'),
(4, 'databases',
 N'[columns of databases]',
 N'sys.databases AS v WHERE v.database_id = DB_ID()'),
(4, 'dm_broker_queue_monitors',                     -- times without Z: their zone is not documented
 N'[columns of dm_broker_queue_monitors]',
 N'sys.dm_broker_queue_monitors AS v WHERE v.database_id = DB_ID()'),
(4, 'dm_broker_activated_tasks',
 N'[columns of dm_broker_activated_tasks]',
 N'sys.dm_broker_activated_tasks AS v WHERE v.database_id = DB_ID()'),
(4, 'locked_groups',                                -- numbers only: the server shows a hash in place of the group
 N'[columns of locked_groups]',
 N'(SELECT COUNT(DISTINCT l.granted_hash) - MAX(l.is_waiting) AS granted, SUM(l.is_waiting) AS waiting
    FROM (SELECT CASE WHEN t.request_status LIKE N''GRANT%'' THEN t.resource_description ELSE N'''' END
                     AS granted_hash,
                 CASE WHEN t.request_status LIKE N''GRANT%'' THEN 0 ELSE 1 END AS is_waiting
          FROM sys.dm_tran_locks AS t
          WHERE t.resource_type = N''METADATA'' AND t.resource_subtype = N''CONVERSATION_GROUP''
            AND t.resource_database_id = DB_ID()) AS l
    HAVING COUNT(*) > 0) AS v');

INSERT INTO #capture_work (database_name, view_name, queue_schema, queue, select_list, from_clause, is_whole)
SELECT d.name, v.view_name, q.queue_schema, q.queue, v.select_list,
       CASE WHEN v.view_name = 'queue' THEN QUOTENAME(q.queue_schema) + N'.' + QUOTENAME(q.queue) ELSE N'' END
           + v.from_clause,
       CASE WHEN v.view_name = 'queue' THEN 1 ELSE d.view_definition END
FROM #capture_views AS v
CROSS JOIN #capture_databases AS d
LEFT JOIN #capture_queues AS q
       ON v.view_name = 'queue' AND q.database_name = d.name
      AND (NOT EXISTS (SELECT 1 FROM @only_queues)
           OR EXISTS (SELECT 1 FROM @only_queues AS o WHERE o.queue_schema = q.queue_schema AND o.queue = q.queue))
WHERE d.reason IS NULL AND (v.view_name <> 'queue' OR q.queue IS NOT NULL)
ORDER BY v.phase, d.n, v.view_name, q.queue_schema, q.queue;

-- ---------------------------------------------------------------------------------------------------------------
-- The rows of each view, and one line behind them: how many, and whether these are all. Of a queue it counts the
-- rows that are not ready, too, which reads the queue whole; of the endpoints, those of the system.
-- Names are parameters of the statement, or quoted in it. It runs in the database of the view.
-- ---------------------------------------------------------------------------------------------------------------
SET @n = 0;
WHILE 1 = 1
BEGIN
    SELECT TOP (1) @n = w.n, @name = w.database_name, @view = w.view_name,
           @schema = w.queue_schema, @queue = w.queue,
           @select_list = w.select_list, @from_clause = w.from_clause, @complete = w.is_whole
    FROM #capture_work AS w WHERE w.n > @n ORDER BY w.n;
    IF @@ROWCOUNT = 0 BREAK;
    SELECT @top = N'', @keys = N'', @more = N'', @count = 0, @error = NULL, @other_statuses = NULL,
           @system_rows = NULL;
    IF @view = 'queue'
    BEGIN
        SELECT @top = N'TOP (@most) ', @keys = N'@schema AS [schema], @queue AS [queue], ',
               @place = QUOTENAME(@schema) + N'.' + QUOTENAME(@queue);
        SET @more = N'SET @other_statuses = (SELECT CONVERT(int, v.status) AS [status], COUNT_BIG(*) AS [rows]
                      FROM ' + @place + N' AS v WITH (NOLOCK)
                      WHERE v.status <> 1 GROUP BY v.status ORDER BY v.status FOR JSON PATH); ';
    END;
    IF @view = 'conversation_endpoints'
        SET @more = N'SET @system_rows = (SELECT COUNT_BIG(*) FROM sys.conversation_endpoints AS v
                                          WHERE v.is_system = 1); ';
    IF @light = 1 AND @view = 'conversation_endpoints' SET @complete = 0;
    IF @light = 1 AND @view IN ('transmission_queue', 'queue')
        SET @more = @more + N'INSERT INTO #capture_handles (database_name, conversation_handle)
SELECT DISTINCT @name, v.conversation_handle FROM ' + @from_clause + N'; ';
    -- What it counts comes first, so that no row is there if that fails.
    SET @statement = @more + N'INSERT INTO #capture_lines (line) SELECT ' + @top + @ascii
        + N' FROM (SELECT (SELECT @name AS [database], @view AS [view], ' + @keys + @select_list
        + N' FOR JSON PATH, WITHOUT_ARRAY_WRAPPER, INCLUDE_NULL_VALUES) AS line FROM ' + @from_clause
        + N') AS x; SET @count = ROWCOUNT_BIG();';
    SET @run = QUOTENAME(@name) + N'.sys.sp_executesql';
    SET @read_at = CONVERT(varchar(27), SYSUTCDATETIME(), 126) + 'Z';
    BEGIN TRY
        EXEC @run @statement,
             N'@name nvarchar(128), @view varchar(60), @schema nvarchar(128), @queue nvarchar(128),
               @most bigint, @light bit, @count bigint OUTPUT, @other_statuses nvarchar(max) OUTPUT,
               @system_rows bigint OUTPUT',
             @name = @name, @view = @view, @schema = @schema, @queue = @queue,
             @most = @most_rows, @light = @light, @count = @count OUTPUT,
             @other_statuses = @other_statuses OUTPUT, @system_rows = @system_rows OUTPUT;
        IF @view = 'queue' SET @other_statuses = COALESCE(@other_statuses, N'[]');
        IF @view = 'queue' AND @count >= @most_rows
            SELECT @complete = 0, @error = N'cut at ' + CONVERT(nvarchar(20), @most_rows) + N' rows';
    END TRY
    BEGIN CATCH
        -- Its rows are gone with its INSERT.
        SELECT @count = 0, @complete = 0, @other_statuses = NULL, @system_rows = NULL,
               @error = LEFT(CONVERT(nvarchar(11), ERROR_NUMBER()) + N' ' + ERROR_MESSAGE(), 400);
    END CATCH;
    SET @total = @total + @count;
    IF @view = 'queue'
        SET @text = (SELECT @name AS [database], @view AS [view], @schema AS [schema], @queue AS [queue],
                            @count AS [count], @complete AS [complete], @error AS [error], @read_at AS [read_at],
                            JSON_QUERY(@other_statuses) AS [other_statuses]
                     FOR JSON PATH, WITHOUT_ARRAY_WRAPPER, INCLUDE_NULL_VALUES);
    ELSE IF @view = 'conversation_endpoints'
        SET @text = (SELECT @name AS [database], @view AS [view], @count AS [count],
                            @complete AS [complete], @error AS [error], @read_at AS [read_at],
                            @system_rows AS [system_rows]
                     FOR JSON PATH, WITHOUT_ARRAY_WRAPPER, INCLUDE_NULL_VALUES);
    ELSE
        SET @text = (SELECT @name AS [database], @view AS [view], @count AS [count],
                            @complete AS [complete], @error AS [error], @read_at AS [read_at]
                     FOR JSON PATH, WITHOUT_ARRAY_WRAPPER, INCLUDE_NULL_VALUES);
    EXEC sys.sp_executesql @add, N'@text nvarchar(max)', @text = @text;
END;

-- ---------------------------------------------------------------------------------------------------------------
-- The end line, and the result.
-- ---------------------------------------------------------------------------------------------------------------
SET @text = (
    SELECT CONVERT(bit, 1) AS [end], @id AS [id], @total AS [rows],
           CONVERT(varchar(27), SYSUTCDATETIME(), 126) + 'Z' AS [finished_at]
    FOR JSON PATH, WITHOUT_ARRAY_WRAPPER, INCLUDE_NULL_VALUES
);
EXEC sys.sp_executesql @add, N'@text nvarchar(max)', @text = @text;

SELECT l.line AS capture_line FROM #capture_lines AS l ORDER BY l.n;

DROP TABLE #capture_lines;
DROP TABLE #capture_positions;
DROP TABLE #capture_databases;
DROP TABLE #capture_queues;
DROP TABLE #capture_handles;
DROP TABLE #capture_views;
DROP TABLE #capture_work;
