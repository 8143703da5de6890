"""A world of any size: instances, services, kinds and rules by number."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from dev.generator.draws import Draws
from dev.generator.rulebook import ANY, Rulebook, Statement, yaml_of
from dev.generator.world import HOUR, MINUTE, SECOND, Kind, Reader, World, micros
from pipelines.rules.statements import DEFAULT_LEVEL

DATABASES = 2
"""Databases of each instance."""

KINDS_PER_CONTRACT = 4
"""Initiators that use one contract with one target."""

SHAPES = ("dialog",) * 14 + ("stream",) * 3 + ("oneway",) * 3


@dataclass(frozen=True)
class Size:
    """The size of a world.

    Attributes:
        instances, services, kinds: in all; a kind is a (contract, initiator service, target service).
        rules: per database.
        same_level: share of the rules whose level is 5, as it is without a rule; the others draw theirs.
    """

    instances: int = 4
    services: int = 400
    kinds: int = 3_000
    rules: int = 200
    same_level: float = 0.0


@dataclass(frozen=True)
class _Period:
    """The days of a log."""

    start: datetime
    days: int


@dataclass(frozen=True)
class _Service:
    number: int
    size: Size

    @property
    def name(self) -> str:
        return f"Service{self.number:05d}"

    @property
    def instance(self) -> str:
        return f"SQL{self.number % self.size.instances + 1:02d}"

    @property
    def database(self) -> str:
        return f"Broker{self.number // self.size.instances % DATABASES + 1}"

    @property
    def queue(self) -> str:
        # Every fifth service shares the queue of the one before it in its database, the first one never.
        step = self.size.instances * DATABASES
        shared = self.number % 5 == 4 and self.number - step > 0
        return f"Queue{self.number - step if shared else self.number:05d}"


def world(size: Size, *, draws: Draws, start: datetime, days: int) -> World:
    """Make up a world.

    Args:
        size: how many of each.
        draws: of the log's seed.
        start: first day of the log; rules begin long before and some change within it.
        days: how many the log has.
    """
    services = [_Service(number, size) for number in range(size.services)]
    pairs = list(_pairs(size, draws))
    statements = list(_statements(size, services, pairs, draws, _Period(start, days)))
    book = Rulebook(statements)
    kinds = [_kind(number, pair, services, draws, book, start) for number, pair in enumerate(pairs)]
    queues = {(s.instance, s.database, s.queue): s for s in services}
    readers = tuple(_reader(service, draws, start) for service in queues.values())
    return World(tuple(kinds), readers, _catalog(size, services), yaml_of(statements))


def _pairs(size: Size, draws: Draws) -> Iterator[tuple[str, int, int]]:
    """(contract, initiator service, target service) of every kind, each once."""
    services = size.services
    width = max(1, min(KINDS_PER_CONTRACT, services - 1))
    for number in range(size.kinds):
        group, member = divmod(number, width)
        target = draws.python_below(services, "target", group)
        other = (draws.python_below(services - 1, "initiator", group) + member) % (services - 1)
        yield f"Contract{group:05d}", (target + 1 + other) % services, target


def _kind(
    number: int,
    pair: tuple[str, int, int],
    services: list[_Service],
    draws: Draws,
    book: Rulebook,
    start: datetime,
) -> Kind:
    contract, initiator, target = pair[0], services[pair[1]], services[pair[2]]
    shape = SHAPES[draws.python_below(len(SHAPES), "shape", contract)]
    relay = None
    if target.size.instances > 2 and draws.python_uniform("relayed", contract) < 0.05:
        others = {f"SQL{n + 1:02d}" for n in range(target.size.instances)} - {
            initiator.instance,
            target.instance,
        }
        relay = min(others)
    outage = target.number == 1
    return Kind(
        kind=number,
        contract=contract,
        request_type=f"{contract}/Request",
        reply_type=f"{contract}/Reply",
        initiator_service=initiator.name,
        initiator_instance=initiator.instance,
        initiator_database=initiator.database,
        initiator_queue=initiator.queue,
        target_service=target.name,
        target_instance=target.instance,
        target_database=target.database,
        target_queue=target.queue,
        initiator_level=book.level(
            initiator.instance, initiator.database, contract, initiator.name, target.name
        ),
        target_level=book.level(target.instance, target.database, contract, target.name, initiator.name),
        initiator_skew=clock_skew(draws, initiator.instance),
        target_skew=clock_skew(draws, target.instance),
        relay_skew=clock_skew(draws, relay or ""),
        shape=shape,
        gap=(2 + draws.python_below(60, "gap", contract)) * SECOND,
        lag=draws.python_below(20, "lag", contract) * SECOND + SECOND // 10,
        size=200 << draws.python_below(8, "size", contract),
        group_block=64 if draws.python_uniform("related", contract) < 0.15 else 0,
        relay=relay,
        waits=target.number % 8 == 3,
        off_from=_outage(start)[0] if outage else None,
        off_until=_outage(start)[1] if outage else None,
    )


def clock_skew(draws: Draws, instance: str) -> int:
    """The error of an instance's clock, in microseconds: some messages arrive before they were sent."""
    return draws.python_below(60_000, "skew", instance) - 30_000


def _outage(start: datetime) -> tuple[int, int]:
    """The period in which the queue of service 1 is off: on the first day, after lunch."""
    return micros(start) + 13 * HOUR, micros(start) + 13 * HOUR + 25 * MINUTE


def _reader(service: _Service, draws: Draws, start: datetime) -> Reader:
    outage = service.number == 1
    return Reader(
        ordinal=service.number,
        instance=service.instance,
        database=service.database,
        queue=service.queue,
        skew=clock_skew(draws, service.instance),
        tasks=service.number % 3,
        off_from=_outage(start)[0] if outage else None,
        off_until=_outage(start)[1] if outage else None,
        altered_at=micros(start) + 10 * HOUR if service.number % 10 == 7 else None,
    )


def _statements(
    size: Size,
    services: list[_Service],
    pairs: list[tuple[str, int, int]],
    draws: Draws,
    period: _Period,
) -> Iterator[Statement]:
    """`size.rules` rules in every database, about its own conversations, popular ones first; some change."""
    wanted: dict[tuple[str, str], list[tuple[str, str, str]]] = {}
    for service in services:
        wanted.setdefault((service.instance, service.database), [])
    for contract, initiator, target in pairs:
        for local, remote in ((initiator, target), (target, initiator)):
            where = (services[local].instance, services[local].database)
            wanted[where].append((contract, services[local].name, services[remote].name))
    for (instance, database), endpoints in sorted(wanted.items()):
        taken: set[tuple[str, ...]] = set()
        for step in range(8):
            for number, names in enumerate(endpoints):
                # Every endpoint gets another form of rule in each round, so all eight forms occur early.
                form = (number + step) % 8
                criteria = tuple(ANY if form >> (2 - i) & 1 else name for i, name in enumerate(names))
                if len(taken) < size.rules and criteria not in taken:
                    taken.add(criteria)
                    yield from _rule(size, (instance, database), len(taken), criteria, draws, period)
        for number in range(len(taken), size.rules):
            unused = (f"Unused{number:05d}", ANY, ANY)
            yield from _rule(size, (instance, database), number + 1, unused, draws, period)


def _rule(
    size: Size,
    database: tuple[str, str],
    number: int,
    criteria: tuple[str, ...],
    draws: Draws,
    period: _Period,
) -> Iterator[Statement]:
    """A rule from long before the log, and its fate: a tenth change their level, a few are dropped."""
    name = f"Rule{number:05d}"
    ids = (*database, name)
    keys = ("contract", "local_service", "remote_service")
    is_same = size.same_level > 0 and draws.python_uniform("same level", *ids) < size.same_level
    level = DEFAULT_LEVEL if is_same else 1 + draws.python_below(10, "level", *ids)
    rule: dict[str, str | int] = {**dict(zip(keys, criteria, strict=True)), "level": level}
    yield Statement(_iso(period.start - timedelta(days=300)), *database, "create", name, rule)
    draw = draws.python_uniform("change", *ids)
    when = _iso(period.start + timedelta(hours=draws.python_below(24 * period.days, "changed at", *ids)))
    if draw < 0.1 and not is_same:
        level = 1 + draws.python_below(10, "new level", *ids)
        yield Statement(when, *database, "alter", name, {"level": level})
    elif draw < 0.12:
        yield Statement(when, *database, "drop", name, {})


def _iso(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _catalog(size: Size, services: list[_Service]) -> str:
    """The catalog; HONOR_BROKER_PRIORITY is on in every first database of an instance."""
    lines = ["instances:"]
    for instance in sorted({s.instance for s in services}):
        lines += [f"  - name: {instance}", "    databases:"]
        for database in sorted({s.database for s in services if s.instance == instance}):
            here = [s for s in services if (s.instance, s.database) == (instance, database)]
            honor = "true" if database.endswith("1") else "false"
            lines += [
                f"      - name: {database}",
                f"        honor_broker_priority: {honor}",
                "        queues:",
            ]
            for queue in sorted({s.queue for s in here}):
                number = int(queue.removeprefix("Queue"))
                readers = f"activation: {{procedure: dbo.Read{queue}, max_queue_readers: {1 + number % 3}}}"
                monitor = "event_notification: {timeout_seconds: 30}" if number % 10 == 9 else readers
                lines += [f"          - name: {queue}", f"            {monitor}"]
            lines += ["        services:"]
            lines += [f"          - {{name: {s.name}, queue: {s.queue}}}" for s in here]
    return "\n".join([*lines, ""])
