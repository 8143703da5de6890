"""The views of a snapshot, each declared once: its columns as the server names them."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

ValueType: TypeAlias = Literal["guid", "text", "code", "bit", "int", "time"]
"""guid is compared in upper case, code has blanks behind it that don't count."""


@dataclass(frozen=True)
class ViewColumn:
    """A column of a view.

    Attributes:
        name: as the server names it; case does not count.
        kind: what its values are.
        nullable: whether a row may lack a value.
        may_lack: whether the view may lack the column; all its values are null then.
        also: other names that it may have.
        instead: the column that says the same by name, where the view lacks this one.
    """

    name: str
    kind: ValueType
    nullable: bool = False
    may_lack: bool = False
    also: tuple[str, ...] = ()
    instead: str | None = None


def _name(name: str, *also: str) -> ViewColumn:
    """A column that stands in for one of ids: it is read only where that one is missing."""
    return ViewColumn(name, "text", nullable=True, may_lack=True, also=also)


ENDPOINTS, TRANSMISSION = "conversation_endpoints", "transmission_queue"
SERVICES, CONTRACTS, QUEUES = "services", "service_contracts", "service_queues"
PRIORITIES, DATABASES = "conversation_priorities", "databases"
MONITORS, TASKS = "dm_broker_queue_monitors", "dm_broker_activated_tasks"

ENDPOINT_OF_RECEIVER = (_name("service_name"), _name("service_contract_name"))
ENDPOINT_OF_SENDER = (
    _name("from_service_name"),
    _name("to_service_name"),
    _name("service_contract_name"),
    ViewColumn("priority", "int", nullable=True, may_lack=True),
)
"""What rows of messages say of their endpoints; read where no view shows the endpoints themselves."""
DATABASE_ID = ViewColumn("database_id", "int", nullable=True, may_lack=True)
"""Of views of the whole server: which database a row is of."""

VIEWS: dict[str, tuple[ViewColumn, ...]] = {
    ENDPOINTS: (
        ViewColumn("conversation_handle", "guid"),
        ViewColumn("conversation_id", "guid"),
        ViewColumn("is_initiator", "bit"),
        ViewColumn("service_contract_id", "int", instead="service_contract_name"),
        ViewColumn("conversation_group_id", "guid"),
        ViewColumn("service_id", "int", instead="service_name"),
        ViewColumn("lifetime", "time", nullable=True, may_lack=True),
        ViewColumn("state", "code", instead="state_desc"),
        ViewColumn("far_service", "text"),
        ViewColumn("priority", "int"),
        _name("service_contract_name", "contract_name", "contract"),
        _name("service_name", "local_service_name", "local_service"),
        _name("state_desc"),
    ),
    TRANSMISSION: (
        ViewColumn("enqueue_time", "time", nullable=True),
        ViewColumn("conversation_handle", "guid"),
        ViewColumn("message_sequence_number", "int", nullable=True),
        ViewColumn("message_type_name", "text", nullable=True),
        ViewColumn("is_conversation_error", "bit", nullable=True),
        ViewColumn("is_end_of_dialog", "bit", nullable=True),
        ViewColumn("transmission_status", "text", nullable=True, may_lack=True),
        ViewColumn("size_bytes", "int", nullable=True, may_lack=True),
        *ENDPOINT_OF_SENDER,
    ),
    SERVICES: (
        ViewColumn("service_id", "int"),
        ViewColumn("name", "text"),
        ViewColumn("service_queue_id", "int", nullable=True, may_lack=True),
    ),
    CONTRACTS: (ViewColumn("service_contract_id", "int"), ViewColumn("name", "text")),
    QUEUES: (
        ViewColumn("object_id", "int"),
        ViewColumn("name", "text"),
        ViewColumn("is_receive_enabled", "bit"),
        ViewColumn("is_enqueue_enabled", "bit"),
        ViewColumn("is_activation_enabled", "bit", nullable=True, may_lack=True),
        ViewColumn("activation_procedure", "text", nullable=True, may_lack=True),
        ViewColumn("max_readers", "int", nullable=True, may_lack=True),
    ),
    PRIORITIES: (
        ViewColumn("name", "text"),
        ViewColumn("service_contract_id", "int", nullable=True, instead="service_contract_name"),
        ViewColumn("local_service_id", "int", nullable=True, instead="local_service_name"),
        ViewColumn("remote_service_name", "text", nullable=True, also=("remote_service",)),
        ViewColumn("priority", "int"),
        _name("service_contract_name", "contract_name", "contract"),
        _name("local_service_name", "local_service", "service_name"),
    ),
    DATABASES: (
        ViewColumn("name", "text"),
        ViewColumn("is_honor_broker_priority_on", "bit", also=("is_broker_priority_honored",)),
        DATABASE_ID,
    ),
    MONITORS: (
        ViewColumn("queue_id", "int", instead="queue_name"),
        ViewColumn("tasks_waiting", "int", nullable=True),
        ViewColumn("state", "text", nullable=True, may_lack=True),
        ViewColumn("last_activated_time", "time", nullable=True, may_lack=True),
        ViewColumn("last_empty_rowset_time", "time", nullable=True, may_lack=True),
        _name("queue_name"),
        DATABASE_ID,
    ),
    TASKS: (
        ViewColumn("spid", "int"),
        ViewColumn("queue_id", "int", instead="queue_name"),
        _name("queue_name"),
        DATABASE_ID,
    ),
}
"""Columns by view; other views than these and queues are not looked at."""

QUEUE: tuple[ViewColumn, ...] = (
    ViewColumn("status", "int"),
    ViewColumn("priority", "int", nullable=True),
    ViewColumn("queuing_order", "int", nullable=True),
    ViewColumn("conversation_group_id", "guid", nullable=True),
    ViewColumn("conversation_handle", "guid"),
    ViewColumn("message_sequence_number", "int", nullable=True),
    ViewColumn("message_type_name", "text"),
    ViewColumn("message_enqueue_time", "time", nullable=True, may_lack=True),
    ViewColumn("size_bytes", "int", nullable=True, may_lack=True),
    *ENDPOINT_OF_RECEIVER,
)
"""Columns of a queue, whose view is named schema.queue."""

NAMES_OF = {
    ENDPOINTS: {"service_id": SERVICES, "service_contract_id": CONTRACTS},
    PRIORITIES: {"local_service_id": SERVICES, "service_contract_id": CONTRACTS},
    MONITORS: {"queue_id": QUEUES},
    TASKS: {"queue_id": QUEUES},
}
"""By view, its columns of ids and the views that have their names."""


def is_queue(view: str) -> bool:
    """Whether a view is a queue: schema and name with a dot between them."""
    return "." in view


def queue_of(view: str) -> str:
    """The queue's name, without its schema."""
    return view.partition(".")[2]


def columns_of(view: str) -> tuple[ViewColumn, ...] | None:
    """The columns of a view; None for one that is not looked at."""
    return QUEUE if is_queue(view) else VIEWS.get(view)
