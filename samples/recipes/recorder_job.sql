-- A recorder as a job of SQL Server Agent: it starts with the Agent, and tries again each minute.
USE msdb;
EXEC dbo.sp_add_job @job_name = N'priorities recorder';
EXEC dbo.sp_add_jobstep @job_name = N'priorities recorder', @step_name = N'record',
    @subsystem = N'CmdExec', @retry_attempts = 999, @retry_interval = 1,
    @command = N'C:\priorities\venv\Scripts\priorities.exe capture --server SQL1 --every 5min --keep 14d --config C:\priorities\priorities.yaml --out C:\priorities\captures';
EXEC dbo.sp_add_jobschedule @job_name = N'priorities recorder', @name = N'with the Agent', @freq_type = 64;
EXEC dbo.sp_add_jobserver @job_name = N'priorities recorder';
