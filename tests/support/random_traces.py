"""Random traces of servers, written from docs/exporting.md: their rows, and what each row means.

A world has conversations between databases of several servers, transactions of which some were rolled back,
files that overlap, and a night in which the clocks of the servers go back.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

ZONE = ZoneInfo("Europe/Berlin")
START = datetime(2026, 10, 24, 23, 30, tzinfo=UTC)
DATABASES = {5: "Claims", 6: "Policy"}
QUEUES = {77: "Intake", 78: "Desk"}
SERVERS = ("SQL1", "SQL2")
RESTARTS_AT = START + timedelta(hours=5)
"""By then no time is shown twice, so the order of a server's rows is that of their times."""

CLASSES = {
    50: "SQLTransaction",
    124: "Broker:Conversation",
    139: "Broker:Forwarded Message Sent",
    143: "Broker:Queue Disabled",
    149: "Broker:Remote Message Acknowledgement",
    163: "Broker:Activation",
}
SUBCLASSES = {
    50: {1: "Commit", 2: "Rollback"},
    124: {
        2: "END CONVERSATION",
        11: "BEGIN DIALOG",
        12: "Dialog Created",
        13: "END CONVERSATION WITH CLEANUP",
    },
    149: {1: "Message with Acknowledgement Sent", 4: "Acknowledgement Received"},
    163: {1: "Started", 3: "Aborted"},
}
"""Names that Profiler shows, alone or behind the number."""
MESSAGE = ("instance", "conversation_id", "sent_by_initiator", "message_sequence_number")
FIRST_ID = 900
"""The first transaction of a server; after a restart it uses its last ones again."""
Values = dict[str, Any]
Fact = tuple[str, tuple[tuple[str, Any], ...]]
"""A table and the values of a row of it."""


def fact(table: str, values: Values) -> Fact:
    """A row of a table that can be counted."""
    return table, tuple(sorted(values.items()))


@dataclass(frozen=True)
class Meaning:
    """What a row of a trace means.

    Attributes:
        fact: the event that it is, or its row of `sends`; None if it is none.
        time: the instant of an event or an acknowledgement.
        note: what is counted of its time.
        counted: the name under which a row is counted that is no event.
        rejected: why it is rejected.
        transaction: the transaction whose end decides; None if none does.
        ended: of the end of a transaction, which one it was.
        is_rollback: whether that was rolled back.
        message: of an acknowledgement, the message.
    """

    fact: Fact | None = None
    time: datetime = START
    note: str | None = None
    counted: str | None = None
    rejected: str | None = None
    transaction: int | None = None
    ended: int | None = None
    is_rollback: bool = False
    message: tuple[Any, ...] | None = None


@dataclass(frozen=True, eq=False)
class TraceRow:
    """A row as the server wrote it, with its meaning."""

    at: datetime
    values: Values
    meaning: Meaning


@dataclass(frozen=True, eq=False)
class Logged:
    """A row of a procedure's own table, which names the endpoint by its handle.

    Attributes:
        at: its time.
        values: what it says: instance, database, event type, handle, number and type.
    """

    at: datetime
    values: Values

    def told(self, endpoints: Iterable[Values]) -> Fact | None:
        """The event that it is, if only one of these endpoints can be meant; else it is pending."""
        handle, instance = self.values["conversation_handle"].upper(), self.values["instance"]
        alike = {
            (each["database"], each["conversation_id"], each["is_initiator"])
            for each in endpoints
            if (each["conversation_handle"], each["instance"]) == (handle, instance)
        }
        here = {each for each in alike if each[0] == self.values["database"]}
        meant = here or alike
        if len(meant) != 1:
            return None
        [(_, conversation, is_initiator)] = meant
        by_initiator = is_initiator == (self.values["event_type"] == "SENT")
        number = self.values["message_sequence_number"]
        side = "initiator" if by_initiator else "target"
        said = {name: self.values[name] for name in ("instance", "database", "event_type", "message_type")}
        said |= {"event_time": self.at, "message_sequence_number": number, "conversation_id": conversation}
        said |= {"message_id": f"{conversation}/{side}/{number}", "sent_by_initiator": by_initiator}
        return fact("message_events", said)


@dataclass
class Night:
    """What the tables have after a night.

    Attributes:
        facts: the events and rows of `sends` of traces, each as often as the tables have it.
        logged: the events of the own table.
        unknown: how many rows of it wait for their endpoint.
        pending: the events that wait.
        acknowledged: when each message of `sends` was acknowledged.
        rejected: reasons of the rows of this night.
        counts: what is counted of this night's rows.
    """

    facts: Counter[Fact] = field(default_factory=Counter)
    logged: Counter[Fact] = field(default_factory=Counter)
    unknown: int = 0
    pending: Counter[Fact] = field(default_factory=Counter)
    acknowledged: dict[Fact, datetime | None] = field(default_factory=dict)
    rejected: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)


class World:
    """The rows of a random world, in the order in which the servers wrote them."""

    def __init__(self, seed: int, *, conversations: int) -> None:
        """Draw a world, the same for the same seed."""
        self.rng = random.Random(seed)
        self._ids = 0
        self._rolled_back: dict[int, bool] = {}
        self._planned: list[tuple[datetime, int, Callable[[datetime], TraceRow]]] = []
        self._handles: list[str] = []
        self.logged: list[Logged] = []
        for number in range(conversations):
            self._plan_conversation(number)
        for _ in range(conversations):
            self._plan_other()
        self.rows = self._written()

    def id(self) -> str:
        """A new GUID, in the spelling of either case."""
        self._ids += 1
        text = f"0A1B2C3D-0000-0000-0000-{self._ids:012X}"
        return text.lower() if self.rng.random() < 0.3 else text

    # -- plan ------------------------------------------------------------------------------------------

    def _plan(self, at: datetime, make: Callable[[datetime], TraceRow]) -> None:
        self._planned.append((at, len(self._planned), make))

    def _moment(self) -> datetime:
        return START + timedelta(seconds=self.rng.randrange(7 * 3600), milliseconds=self.rng.randrange(1000))

    def _plan_conversation(self, number: int) -> None:
        rng = self.rng
        conversation = self.id()
        ends = [(rng.choice(SERVERS), rng.choice(list(DATABASES))) for _ in range(2)]
        names = {"contract": "//C", "initiator": f"//from/{number}", "target": f"//to/{number}"}
        at = self._moment()
        for side, (server, database) in zip(("initiator", "target"), ends, strict=True):
            base = {
                "ServerName": rng.choice([server, server.lower()]),
                "DatabaseID": database,
                "GUID": conversation,
                "RoleName": rng.choice([side, side.title()]),
                "ObjectName": self._handle(),
                "MethodName": self.id(),
                "LineNumber": rng.choice([None, *range(1, 11)]),
            }
            at += timedelta(seconds=rng.randrange(60))
            self._plan_statement(at, self._creation(base, names, side))
            self._log_messages(at, base)
            for _ in range(rng.randrange(3)):
                at += timedelta(seconds=rng.randrange(600))
                self._plan_statement(at, self._message(base))
            for _ in range(rng.randrange(3)):
                at += timedelta(milliseconds=rng.randrange(1, 600_000))
                self._plan(at, self._acknowledgement(base, side))
            if rng.random() < 0.6:
                at += timedelta(seconds=rng.randrange(3600))
                self._plan_statement(at, self._end(base, side))

    def _handle(self) -> str:
        """A handle: of a database that was restored beside another it may be there twice."""
        if self._handles and self.rng.random() < 0.1:
            return self.rng.choice(self._handles)
        self._handles.append(self.id())
        return self._handles[-1]

    def _log_messages(self, at: datetime, base: Values) -> None:
        """What a procedure at this endpoint, or beside it, writes into its own table."""
        rng = self.rng
        for number in range(rng.randrange(3)):
            place = self._place(base)
            if rng.random() < 0.2:
                place["database"] = rng.choice([*DATABASES.values()])
            values = place | {
                "event_type": rng.choice(["SENT", "DELIVERED", "RECEIVED"]),
                "conversation_handle": base["ObjectName"] if rng.random() < 0.9 else self.id(),
                "message_sequence_number": number,
                "message_type": "//Type",
            }
            self.logged.append(Logged(at + timedelta(seconds=rng.randrange(3600)), values))

    def _plan_statement(self, at: datetime, make: Callable[[datetime, int | None], TraceRow]) -> None:
        """A statement, most often in a transaction, which ends later or never."""
        rng = self.rng
        if rng.random() < 0.2:
            self._plan(at, lambda now: make(now, None))
            return
        transaction = len(self._rolled_back)
        self._rolled_back[transaction] = rng.random() < 0.3
        self._plan(at, lambda now: make(now, transaction))
        if rng.random() < 0.9:
            # No restart is inside of a transaction: it would have no end.
            after = at + timedelta(milliseconds=rng.randrange(0, 1_800_000))
            if not at < RESTARTS_AT <= after:
                self._plan(after, lambda now: self._outcome(now, transaction))

    # -- rows ------------------------------------------------------------------------------------------

    def _time(self, now: datetime) -> tuple[str, datetime, str | None]:
        """A time as text, what it means, and what is counted of it."""
        rng = self.rng
        local = now.astimezone(ZONE)
        if rng.random() < 0.1:
            return now.isoformat(sep=rng.choice(" T"), timespec="milliseconds"), now, "zone_ignored"
        naive = local.replace(tzinfo=None)
        text = naive.isoformat(sep=rng.choice(" T"), timespec="milliseconds")
        text += rng.choice(["", "0", "0000"])
        first = naive.replace(tzinfo=ZONE, fold=0).astimezone(UTC)
        last = naive.replace(tzinfo=ZONE, fold=1).astimezone(UTC)
        return text, first, "ambiguous_time" if first != last else None

    def _row(
        self,
        now: datetime,
        event_class: int,
        subclass: int,
        values: Values,
        meant: Callable[[datetime], Meaning],
        transaction: int | None = None,
    ) -> TraceRow:
        text, time, note = self._time(now)
        meaning = replace(meant(time), time=time, note=note, transaction=transaction)
        written = {**self._class(event_class, subclass), "StartTime": text, **values}
        if transaction is not None:
            written["TransactionID"] = transaction
        return TraceRow(now, written, meaning)

    def _class(self, event_class: int, subclass: int) -> Values:
        """Class and subclass as numbers, or as Profiler shows them."""
        numbers = {"EventClass": event_class, "EventSubClass": subclass}
        names = (CLASSES.get(event_class), SUBCLASSES.get(event_class, {}).get(subclass))
        return {
            column: number if name is None else self.rng.choice([number, number, name, f"{number} - {name}"])
            for (column, number), name in zip(numbers.items(), names, strict=True)
        }

    def _place(self, values: Values) -> Values:
        return {"instance": values["ServerName"].upper(), "database": DATABASES[values["DatabaseID"]]}

    def _creation(self, base: Values, names: Values, side: str) -> Callable[[datetime, int | None], TraceRow]:
        other = {"initiator": "target", "target": "initiator"}[side]
        is_known = self.rng.random() < 0.7
        subclass = 11 if side == "initiator" else 12
        values = dict(base)
        if is_known:
            own = ("TargetUserName", "FileName") if side == "initiator" else ("FileName", "TargetUserName")
            values |= {
                "TargetLoginName": names["contract"],
                own[0]: names[side],
                own[1]: names[other],
            }

        def meant(time: datetime) -> Meaning:
            if not is_known:
                return Meaning(counted=f"incomplete_124_{subclass}")
            said = {
                "event_type": "BEGIN_DIALOG" if side == "initiator" else "DIALOG_CREATED",
                "contract": names["contract"],
                "local_service": names[side],
                "remote_service": names[other],
            }
            return Meaning(fact=fact("endpoint_events", self._endpoint(base, side, time) | said))

        return lambda now, transaction: self._row(now, 124, subclass, values, meant, transaction)

    def _endpoint(self, base: Values, side: str, time: datetime) -> Values:
        return {
            **self._place(base),
            "event_time": time,
            "conversation_id": base["GUID"].upper(),
            "is_initiator": side == "initiator",
            "conversation_handle": base["ObjectName"].upper(),
            "conversation_group_id": base["MethodName"].upper(),
            "logged_priority": base["LineNumber"],
            "contract": None,
            "local_service": None,
            "remote_service": None,
        }

    def _end(self, base: Values, side: str) -> Callable[[datetime, int | None], TraceRow]:
        subclass, event_type = self.rng.choice(
            [
                (2, "END_CONVERSATION"),
                (3, "END_CONVERSATION_WITH_ERROR"),
                (5, "END_CONVERSATION_WITH_ERROR"),
                (13, "END_CONVERSATION_WITH_CLEANUP"),
            ]
        )

        def meant(time: datetime) -> Meaning:
            said = {"event_type": event_type}
            return Meaning(fact=fact("endpoint_events", self._endpoint(base, side, time) | said))

        return lambda now, transaction: self._row(now, 124, subclass, base, meant, transaction)

    def _message(self, base: Values) -> Callable[[datetime, int | None], TraceRow]:
        subclass = self.rng.choice([1, 6])
        counted = Meaning(counted=f"incomplete_124_{subclass}")
        return lambda now, transaction: self._row(now, 124, subclass, base, lambda _: counted, transaction)

    def _outcome(self, now: datetime, transaction: int) -> TraceRow:
        is_rollback = self._rolled_back[transaction]
        meaning = Meaning(counted="outcomes", ended=transaction, is_rollback=is_rollback)
        return self._row(now, 50, 2 if is_rollback else 1, {"of": transaction}, lambda _: meaning)

    def _acknowledgement(self, base: Values, side: str) -> Callable[[datetime], TraceRow]:
        rng = self.rng
        subclass, number = rng.choice([1, 1, 2, 3, 4]), rng.randrange(3)
        place = {name: base[name] for name in ("ServerName", "GUID")}
        place["DatabaseID"] = rng.choice([base["DatabaseID"], None])
        role = side if subclass in (1, 2) else {"initiator": "target", "target": "initiator"}[side]
        values = {**place, "RoleName": role}
        message = (base["ServerName"].upper(), base["GUID"].upper(), side == "initiator", number)
        level, honor = rng.choice([None, 3, 10]), rng.choice([None, 0, 1])
        elevated, fragment = rng.choice([None, 0, 1, 4]), rng.choice([None, 0, 1])
        if subclass in (1, 2):
            values |= {"BigintData1": number, "LineNumber": level, "Mode": honor}
            values |= {"Handle": elevated, "IntegerData": fragment}
        if subclass != 1:
            values["BigintData2"] = number

        def meant(time: datetime) -> Meaning:
            if subclass == 2:
                return Meaning(counted="other_events")
            if subclass != 1:
                return Meaning(message=message)
            said = {
                **dict(zip(MESSAGE, message, strict=True)),
                "fragment": fragment or 0,
                "sent_at": time,
                "database": DATABASES.get(values["DatabaseID"]),
                "level": level,
                "honor": None if honor is None else honor == 1,
                "elevated": None if elevated is None else elevated != 0,
            }
            return Meaning(fact=fact("sends", said))

        return lambda now: self._row(now, 149, subclass, values, meant)

    def _plan_other(self) -> None:
        rng = self.rng
        place = {"ServerName": rng.choice(SERVERS), "DatabaseID": rng.choice(list(DATABASES))}
        object_id = rng.choice([*QUEUES, 99])
        queue = {**place, "ObjectID": object_id}
        running = rng.choice([None, 0, 4])

        def of_queue(event_class: int, subclass: int, **said: Any) -> Callable[[datetime], Meaning]:
            def meant(time: datetime) -> Meaning:
                if object_id not in QUEUES:
                    return Meaning(counted=f"incomplete_{event_class}_{subclass}")
                values = {**self._place(place), "event_time": time, "queue": QUEUES[object_id], **said}
                return Meaning(fact=fact("queue_events", values))

            return meant

        def make(now: datetime) -> TraceRow:
            kind = rng.randrange(6)
            if kind == 0:
                meant = of_queue(143, 0, event_type="QUEUE_ALTERED", queue_status="OFF", running_tasks=None)
                return self._row(now, 143, 0, queue, meant)
            if kind in (1, 2):
                subclass = rng.randrange(1, 7)
                values = {**queue, "IntegerData": running}
                if subclass > 3:
                    return self._row(now, 163, subclass, values, lambda _: Meaning(counted="other_events"))
                event_type = "TASK_STARTED" if subclass == 1 else "TASK_EXITED"
                said = {"event_type": event_type, "queue_status": None, "running_tasks": running}
                return self._row(now, 163, subclass, values, of_queue(163, subclass, **said))
            if kind == 3:
                return self._row(now, 140, 0, place, lambda _: Meaning(counted="forwarding_dropped"))
            if kind == 4:
                return self._forwarded(now, place)
            event_class, subclass = rng.choice([(12, 0), (50, 0), (50, 3), (124, 7), (124, 10)])
            return self._row(now, event_class, subclass, place, lambda _: Meaning(counted="other_events"))

        at = self._moment()
        self._plan(at, make)
        if rng.random() < 0.2:
            # The same at the same moment.
            again = make(at)
            self._plan(at, lambda now: again)
            self._plan(at, lambda now: TraceRow(now, dict(again.values), again.meaning))
        if rng.random() < 0.1:
            bad = rng.choice([("2026-03-29 02:30:00", "time_does_not_exist"), ("?", "unreadable_event_time")])
            self._plan(at, lambda now: self._bad(now, queue, *bad))

    def _forwarded(self, now: datetime, place: Values) -> TraceRow:
        rng = self.rng
        conversation, side = self.id(), rng.choice(["initiator", "target"])
        number, message_type = rng.choice([None, 0, 7]), rng.choice([None, "//Type"])
        values = {**place, "GUID": conversation, "RoleName": side, "BigintData1": number}

        def meant(time: datetime) -> Meaning:
            if number is None or message_type is None:
                return Meaning(counted="incomplete_139_0")
            said = {
                **self._place(place),
                "event_time": time,
                "event_type": "FORWARDED",
                "message_id": f"{conversation.upper()}/{side}/{number}",
                "conversation_id": conversation.upper(),
                "sent_by_initiator": side == "initiator",
                "message_sequence_number": number,
                "message_type": message_type,
            }
            return Meaning(fact=fact("message_events", said))

        return self._row(now, 139, 0, {**values, "MethodName": message_type}, meant)

    def _bad(self, now: datetime, queue: Values, text: str, reason: str) -> TraceRow:
        values = {"EventClass": 143, "EventSubClass": 0, **queue, "ObjectID": 77, "StartTime": text}
        return TraceRow(now, values, Meaning(rejected=reason))

    # -- files -----------------------------------------------------------------------------------------

    def _written(self) -> list[TraceRow]:
        """The rows with the numbers of their servers, which begin again after a restart."""
        rows = [make(at) for at, _, make in sorted(self._planned, key=lambda each: each[:2])]
        servers = self._servers_of_transactions(rows)
        sequences: Counter[tuple[str, bool]] = Counter()
        transactions: dict[tuple[str, bool], dict[int, int]] = {}
        written = []
        for row in rows:
            values = dict(row.values)
            if (of := values.pop("of", None)) is not None:
                values |= {"ServerName": servers[of], "TransactionID": of}
            life = values["ServerName"].upper(), row.at >= RESTARTS_AT
            sequences[life] += 1
            values["EventSequence"] = sequences[life]
            if "TransactionID" in values:
                ids = transactions.setdefault(life, {})
                first = (
                    FIRST_ID if not life[1] else FIRST_ID + len(transactions.get((life[0], False), {})) // 2
                )
                values["TransactionID"] = ids.setdefault(values["TransactionID"], first + len(ids))
            written.append(TraceRow(row.at, values, row.meaning))
        return written

    @staticmethod
    def _servers_of_transactions(rows: Iterable[TraceRow]) -> dict[int, str]:
        return {
            row.values["TransactionID"]: row.values["ServerName"]
            for row in rows
            if "TransactionID" in row.values
        }

    def files(self, *, number: int, overlap: int) -> list[list[TraceRow]]:
        """The rows in files of about one length; each begins with the last rows of the one before."""
        cuts = [len(self.rows) * cut // number for cut in range(number + 1)]
        return [
            self.rows[max(0, begin - self.rng.randrange(overlap + 1)) : end] for begin, end in pairwise(cuts)
        ]


def tell(
    nights: Sequence[Sequence[Sequence[TraceRow]]], logged: Sequence[Sequence[Logged]] = ()
) -> list[Night]:
    """What the tables have after each night, which reads some files of a trace and of an own table."""
    account = _Account()
    return [
        account.tell(number, files, logged[number] if logged else ()) for number, files in enumerate(nights)
    ]


class _Account:
    """What nights have told so far."""

    def __init__(self) -> None:
        self._ends: dict[int, bool] = {}
        """The transactions that ended, and whether they were rolled back."""
        self._facts: Counter[Fact] = Counter()
        self._waiting: list[list[TraceRow]] = []
        """Rows without an end of their transaction, by file."""
        self._logged: Counter[Fact] = Counter()
        self._unknown: list[Logged] = []
        self._sends: dict[Fact, int] = {}
        """The rows of `sends`, with the night that showed each first."""
        self._acknowledged: list[tuple[int, tuple[Any, ...], datetime]] = []

    def tell(self, number: int, files: Sequence[Sequence[TraceRow]], logged: Sequence[Logged]) -> Night:
        """Read the files of a night."""
        night = Night()
        rows = [row for file in files for row in file]
        for meaning in (row.meaning for row in rows):
            if meaning.ended is not None:
                self._ends[meaning.ended] = meaning.is_rollback
            if meaning.message is not None:
                self._acknowledged.append((number, meaning.message, meaning.time))
        for meaning in (row.meaning for row in rows):
            self._count(meaning, night)
        undecided = []
        for file in [*files, *self._waiting]:
            decided, waits = self._decide(file)
            undecided.append(waits)
            is_over = [self._is_rolled_back(row.meaning) for row in decided]
            night.counts["rolled_back"] += sum(is_over)
            self._facts |= _facts(row for row, over in zip(decided, is_over, strict=True) if not over)
        self._waiting = undecided
        for waits in undecided:
            night.pending |= _facts(waits)
        night.facts = Counter(self._facts)
        night.acknowledged = self._acknowledge(number)
        self._resolve(logged)
        night.logged, night.unknown = Counter(self._logged), len(self._unknown)
        return night

    def _count(self, meaning: Meaning, night: Night) -> None:
        if meaning.counted is not None:
            night.counts[meaning.counted] += 1
        if meaning.rejected is not None:
            night.rejected[meaning.rejected] += 1
        is_taken = meaning.fact is not None or meaning.message is not None
        if is_taken and meaning.note is not None and not self._is_rolled_back(meaning):
            night.counts[meaning.note] += 1

    def _is_rolled_back(self, meaning: Meaning) -> bool:
        return meaning.transaction is not None and self._ends.get(meaning.transaction, False)

    def _decide(self, file: Iterable[TraceRow]) -> tuple[list[TraceRow], list[TraceRow]]:
        """The events of a file whose transactions ended, or have none, and those that wait.

        A log without any end says nothing of transactions, so all its events count.
        """
        decided: list[TraceRow] = []
        waits: list[TraceRow] = []
        for row in file:
            if row.meaning.fact is not None:
                transaction = row.meaning.transaction
                is_known = transaction is None or transaction in self._ends or not self._ends
                (decided if is_known else waits).append(row)
        return decided, waits

    def _acknowledge(self, number: int) -> dict[Fact, datetime | None]:
        """When the messages of `sends` were acknowledged, by rows that came with them or later."""
        found: dict[Fact, datetime | None] = {}
        for each in self._facts:
            if each[0] == "sends":
                since, values = self._sends.setdefault(each, number), dict(each[1])
                message = tuple(values[name] for name in MESSAGE)
                times = [
                    time
                    for night, of, time in self._acknowledged
                    if of == message and night >= since and time >= values["sent_at"]
                ]
                found[each] = min(times, default=None)
        return found

    def _resolve(self, logged: Sequence[Logged]) -> None:
        """Find the endpoints of rows that have handles."""
        endpoints = [dict(values) for table, values in self._facts if table == "endpoint_events"]
        rows, self._unknown = [*self._unknown, *logged], []
        for row in rows:
            told = row.told(endpoints)
            if told is None:
                self._unknown.append(row)
            else:
                self._logged[told] += 1


def _facts(rows: Iterable[TraceRow]) -> Counter[Fact]:
    return Counter(row.meaning.fact for row in rows if row.meaning.fact is not None)
