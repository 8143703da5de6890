"""The commands: each job parses its options, reads, calls `pipelines`, writes and publishes."""

import signal
import sys

if sys.argv[0] == "-m":
    # A job is being started (python -m jobs.X): Ctrl-C ends it without a traceback while it is imported.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
