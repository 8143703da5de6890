"""`priorities waiting`, for spark-submit.sh and `python -m jobs.waiting`."""

import sys

if not __package__:  # run as a file
    sys.path.append(f"{sys.path[0]}/..")

from pipelines.cli import main

if __name__ == "__main__":
    main(["waiting", *sys.argv[1:]])
