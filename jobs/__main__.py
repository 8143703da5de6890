"""`priorities`, started as `python -m jobs`."""

from pipelines.cli import main

if __name__ == "__main__":
    main()
