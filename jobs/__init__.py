"""One thin file for each command that spark-submit.sh runs; the commands are in `pipelines.commands`."""

import signal
import sys

if sys.argv[0] == "-m":
    # A command is being started (python -m jobs.X): Ctrl-C ends it without a traceback while it is imported.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
