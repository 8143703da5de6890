"""The public interface for Python programs: open a warehouse, read its tables, ask its questions.

`import pipelines` has these names. Answers are those of the commands with `--format json`, as Python values:
moments are datetimes in UTC.
"""

from argparse import Namespace
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import wraps
from numbers import Integral
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from pyspark.sql import DataFrame, SparkSession

from pipelines.commands.explain import main as EXPLAIN
from pipelines.commands.launch import outcome_of
from pipelines.commands.options import CENTURY_DAYS, LARGEST, allowed_numbers, find_settings
from pipelines.commands.question import Asked, Question
from pipelines.commands.questions import CHANGES, COVERAGE, DIFFERENCES, EXPECT, LEAKS, NEXT, WAITING
from pipelines.commands.why import main as WHY
from pipelines.config.errors import ConfigError, EngineError, PipelineError
from pipelines.config.instants import LATEST, parse_instant
from pipelines.config.nearest import suggest_nearest
from pipelines.engine.environment import require_engine
from pipelines.engine.session import require_no_fork
from pipelines.metrics.read import read_metrics
from pipelines.questions.leaks import DAYS, GRACE
from pipelines.questions.rejected import report_rejected
from pipelines.questions.waiting import BY
from pipelines.settings.load import Settings
from pipelines.storage import tables
from pipelines.storage.published import checked_runs, published_as_of
from pipelines.storage.warehouse import Warehouse
from schemas import TABLES

if TYPE_CHECKING:
    import pandas as pd

Moment = datetime | str | None
"""An as_of: a datetime with a time zone, a text such as 2026-11-21T00:00:00Z, or None or `latest` for the
newest."""
Answer = dict[str, Any]
COUNTS = {"limit": LARGEST, "days": CENTURY_DAYS}
"""Arguments that are whole numbers from 1, with the largest."""
P = ParamSpec("P")
R = TypeVar("R")


def open_warehouse(config: str | None = None, *, spark: SparkSession | None = None) -> "OpenWarehouse":
    """Open the warehouse that a settings file names.

    Args:
        config: path of the settings file; None finds it as the commands do, by PRIORITIES_CONFIG or a
            priorities.yaml in the current folder or above it.
        spark: a session with Delta, in UTC. Without one, the session that is open in this process is taken;
            if none is, the embedded engine starts in this process, or SPARK_REMOTE names a server.

    Raises:
        ConfigError: the settings are wrong, no engine is installed, or the session lacks what tables need.
    """
    require_engine()
    require_no_fork()
    settings, warehouse = tables.open_warehouse(find_settings(config), spark)
    warehouse.require_this_shape()
    return OpenWarehouse(settings, warehouse)


def _asks(
    method: Callable[Concatenate["OpenWarehouse", P], R],
) -> Callable[Concatenate["OpenWarehouse", P], R]:
    """Check what a method is given as the command does, and tell the engine's errors as the command does."""

    @wraps(method)
    def ask(self: "OpenWarehouse", /, *args: P.args, **options: P.kwargs) -> R:
        for name, most in COUNTS.items():
            _require_count(name, options.get(name, 1), most)
        require_no_fork()
        if getattr(self.spark, "is_stopped", False):
            raise EngineError("the session was stopped; open the warehouse again")
        try:
            return method(self, *args, **options)
        except (PipelineError, TypeError):
            raise
        except Exception as error:
            raise EngineError(outcome_of(error, [self._warehouse.root])[1]) from error

    return ask


def _require_count(name: str, value: object, most: int) -> None:
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_whole or not 1 <= int(value) <= most:  # type: ignore[call-overload]
        raise ConfigError(f"{name}: {value!r} is not a whole number {allowed_numbers(1, most)}")


def _require_duration(grace: object) -> None:
    if not isinstance(grace, timedelta) or grace < timedelta():
        raise ConfigError(f"grace: {grace!r} is not a timedelta of 0 or more")


class OpenWarehouse:
    """The tables of a warehouse and the questions that can be asked of it; nothing is ever written.

    Every `as_of` is one that was published; None and `latest` are the newest. All methods raise
    `PipelineError` with one line that says what is wrong and what to do; frames that `read` has returned
    raise the engine's own errors. A warning is logged if the newest data is more than an hour older than
    as_of.
    """

    def __init__(self, settings: Settings, warehouse: Warehouse) -> None:
        """Take what `open_warehouse` has opened."""
        self._settings = settings
        self._warehouse = warehouse

    @property
    def spark(self) -> SparkSession:
        """The session."""
        return self._warehouse.spark

    @property
    @_asks
    def as_ofs(self) -> list[datetime]:
        """The moments that were published, the oldest first; housekeeping may have removed rows of some."""
        return sorted({run["as_of"] for run in checked_runs(self._warehouse)})

    @_asks
    def read(self, table: str, as_of: Moment = None) -> DataFrame:
        """Read a table by its name: docs/data-dictionary.md lists them with grain, keys and columns.

        Args:
            table: its name.
            as_of: of a table with one: the rows of which. Other tables have no as_of and are read whole.

        Raises:
            ConfigError: there is no such table, or it has no as_of.
        """
        if table not in TABLES:
            raise ConfigError(f"there is no table {table!r}; {suggest_nearest(table, TABLES)}")
        if "as_of_key" in TABLES[table].names:
            return self._warehouse.read_as_of(TABLES[table], self._published(as_of))
        if as_of is not None:
            raise ConfigError(f"table {table} is not written for each as_of; leave out as_of")
        return self._warehouse.read(TABLES[table])

    @_asks
    def read_pandas(self, table: str, as_of: Moment = None) -> "pd.DataFrame":
        """Read a table as `read` does, into memory as a pandas frame."""
        return self.read(table, as_of).toPandas()

    @_asks
    def next(
        self,
        queue: str | None = None,
        *,
        instance: str | None = None,
        database: str | None = None,
        as_of: Moment = None,
        limit: int = 20,
    ) -> Answer:
        """Say what comes next: out of a queue, or, without a queue, in the transmission of an instance."""
        if queue is None and (instance is None or database is not None):
            raise ConfigError("next: name a queue, or an instance (without a database) for what it sends")
        return self._ask(NEXT, as_of, queue=queue, instance=instance, database=database, limit=limit)

    @_asks
    def why(
        self,
        queue: str | None = None,
        *,
        transmission: bool = False,
        instance: str | None = None,
        database: str | None = None,
        contract: str | None = None,
        service: str | None = None,
        remote_service: str | None = None,
        conversation: str | None = None,
        as_of: Moment = None,
        limit: int = 10,
    ) -> Answer:
        """Say why open messages wait: the situation, the causes, and both by place; see docs/why.md."""
        if transmission and (queue is not None or database is not None):
            raise ConfigError("why: a queue or a database has no messages that wait to be sent; leave it out")
        return self._ask(
            WHY,
            as_of,
            queue=queue,
            transmission=transmission,
            instance=instance,
            database=database,
            contract=contract,
            service=service,
            remote_service=remote_service,
            conversation=conversation,
            limit=limit,
        )

    @_asks
    def waiting(self, *, as_of: Moment = None, limit: int = 50, by: Sequence[str] = ()) -> Answer:
        """Say which messages wait how long, and which are overtaken most.

        Args:
            as_of: the moment.
            limit: rows of each part.
            by: what to count the waiting messages by: instance, database, queue, contract, local_service,
                remote_service, level. Without it, by queue (or instance) and level.

        Raises:
            ConfigError: one of `by` is no such column.
        """
        for name in by:
            if name not in BY:
                raise ConfigError(f"by: there is no column {name!r}; {suggest_nearest(name, BY)}")
        return self._ask(WAITING, as_of, by=[by], limit=limit)

    @_asks
    def expect(self, *, as_of: Moment = None) -> Answer:
        """Say whether an as_of meets the expectations of the settings, as its run has measured them."""
        return self._ask(EXPECT, as_of)

    @_asks
    def explain_conversation(self, conversation: str, *, as_of: Moment = None) -> Answer:
        """Explain the priority of a conversation, by its conversation_id or a conversation_handle."""
        return self._ask(EXPLAIN, as_of, conversation=conversation)

    @_asks
    def explain_message(self, message_id: str, *, as_of: Moment = None) -> Answer:
        """Explain the position of a message."""
        return self._ask(EXPLAIN, as_of, conversation=None, message=message_id)

    @_asks
    def explain_group(self, conversation_group_id: str, *, as_of: Moment = None) -> list[Answer]:
        """Explain the level of a conversation group, in each queue that has messages of it."""
        asked = self._asked(as_of, conversation=None, message=None, group=conversation_group_id)
        groups: list[Answer] = EXPLAIN.ask(asked)
        return groups

    @_asks
    def coverage(self, *, as_of: Moment = None) -> Answer:
        """Count what each rule version decides."""
        return self._ask(COVERAGE, as_of)

    @_asks
    def leaks(
        self, *, days: int = DAYS, grace: timedelta = GRACE, as_of: Moment = None, limit: int = 20
    ) -> Answer:
        """Say which conversations are never ended: without traffic for `days` days, or ended on one side."""
        _require_duration(grace)
        return self._ask(LEAKS, as_of, days=days, grace=grace.total_seconds(), script=None, limit=limit)

    @_asks
    def changes(self, *, since: datetime | None = None, as_of: Moment = None) -> Answer:
        """Say what changed since the greatest published as_of below another one, or up to `since`."""
        return self._ask(CHANGES, as_of, since=since)

    @_asks
    def metrics(self, *, as_of: Moment = None) -> str:
        """Give the figures of an as_of as text for monitoring tools."""
        moment = self._published(as_of)
        return read_metrics(self._warehouse, self._settings.at(moment), moment)

    @_asks
    def differences(self, *, as_of: Moment = None, limit: int = 50) -> Answer:
        """Say how snapshots of a server differ from rules, catalog and ledger."""
        return self._ask(DIFFERENCES, as_of, limit=limit)

    @_asks
    def rejected(self, *, limit: int = 3) -> list[Answer]:
        """Say why rows of the inputs were rejected, with some of each reason."""
        checked_runs(self._warehouse)
        return report_rejected(self._warehouse, limit=limit)

    def _ask(self, question: Question, as_of: Moment, **options: object) -> Answer:
        """The answer of a command to its options."""
        answer: Answer = question.ask(self._asked(as_of, **options))
        return answer

    def _asked(self, as_of: Moment, **options: object) -> Asked:
        moment = self._published(as_of)
        return Asked(self._settings.at(moment), self._warehouse, moment, Namespace(**options))

    def _published(self, as_of: Moment) -> datetime:
        if as_of == LATEST:
            as_of = None
        if isinstance(as_of, str):
            try:
                as_of = parse_instant(as_of)
            except ValueError as error:
                raise ConfigError(f"as_of: {error}") from error
        if as_of is not None:
            if as_of.tzinfo is None:
                raise ConfigError(f"as_of: {as_of} has no time zone; add tzinfo=datetime.UTC")
            as_of = as_of.astimezone(UTC)
        return published_as_of(self._warehouse, self._settings, as_of)
