"""`priorities changes`, for spark-submit.sh and `python -m jobs.changes`."""

import sys

if not __package__:  # run as a file
    sys.path.append(f"{sys.path[0]}/..")

from pipelines.cli import main

if __name__ == "__main__":
    main(["changes", *sys.argv[1:]])
