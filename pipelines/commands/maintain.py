"""Remove old as_ofs and closed days, join small files and delete unused ones; say first what is done."""

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial

from pipelines.commands.launch import suspect
from pipelines.commands.options import CENTURY_DAYS, Parser, whole_number
from pipelines.config.load import KNOWN_ONLY, load_settings
from pipelines.engine.session import open_session, takes_embedded
from pipelines.storage.lock import only_writer
from pipelines.storage.maintain import maintain
from pipelines.storage.upkeep import SAFE_HOURS
from pipelines.storage.warehouse import Warehouse


def main(argv: Sequence[str]) -> int:
    """Parse the command line, run, and say what was done or would be."""
    parser = Parser(
        "maintain",
        "Remove old as_ofs and closed days of events, join small files and delete unused ones.",
        example="--config conf/local.yaml --keep-days 90 --dry-run",
    )
    parser.add_argument(
        "--keep-days",
        type=whole_number(0),
        help="remove as_ofs older than the newest by more than this; default: none",
    )
    parser.add_argument(
        "--keep-event-days",
        type=whole_number(0),
        help="delete events and endpoints that closed more than this before the log's newest day; no as_of "
        "of a deleted day can be made again; default: none",
    )
    parser.add_argument(
        "--keep-hours",
        type=whole_number(0, 24 * CENTURY_DAYS),
        default=SAFE_HOURS,
        help=f"keep unused files for so long (default {SAFE_HOURS}); less only if no program reads",
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what there is to do")
    options = parser.parse_args(argv)
    place = load_settings(options.config, KNOWN_ONLY).warehouse
    # Without Apache Spark delta-rs does the work, and no engine starts.
    spark = None if isinstance(place, str) and takes_embedded() else open_session("maintain", place)
    if isinstance(place, str):
        root = place
    else:
        assert spark is not None
        # Only Spark's catalog knows where a schema's tables lie.
        root = Warehouse(spark, place).root
    suspect(root)
    with nullcontext() if options.dry_run else only_writer(root, "maintain"):
        lines = maintain(
            root,
            keep_days=options.keep_days,
            keep_event_days=options.keep_event_days,
            keep_hours=options.keep_hours,
            dry_run=options.dry_run,
            spark=spark,
            tell=partial(print, flush=True),
        )
    if not lines:
        print("nothing to do")
    return 0
