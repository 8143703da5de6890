rem C:\priorities\night.cmd: capture a server, then describe the newest moment.
cd /d C:\priorities
venv\Scripts\priorities capture --server SQL1
venv\Scripts\priorities nightly --as-of latest --quiet >>log\night.log 2>&1
exit /b %ERRORLEVEL%
