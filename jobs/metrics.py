"""`priorities metrics`, for spark-submit.sh and `python -m jobs.metrics`."""

import sys

if not __package__:  # run as a file
    sys.path.append(f"{sys.path[0]}/..")

from pipelines.cli import main

if __name__ == "__main__":
    main(["metrics", *sys.argv[1:]])
