"""The views of a server, each declared once.

The SELECT lists of the capture script, the readers of captures and of files, and the columns of events derive
from the declarations.
"""

from functools import cache
from typing import Any

from pipelines.server.snapshots.declaration import (
    BIT,
    CODE,
    FLAG,
    GUID,
    INT,
    LOCAL_TIME,
    NAME,
    SMALL_INT,
    TIME,
    ServerType,
    View,
    ViewColumn,
    text,
)

ENDPOINTS, TRANSMISSION, QUEUE = "conversation_endpoints", "transmission_queue", "queue"
SERVICES, CONTRACTS, QUEUES = "services", "service_contracts", "service_queues"
PRIORITIES, DATABASES = "conversation_priorities", "databases"
MONITORS, TASKS = "dm_broker_queue_monitors", "dm_broker_activated_tasks"
LOCKED_GROUPS = "locked_groups"
READY = 1
"""The status of rows of a queue that a RECEIVE can return."""
RECEIVED, NOT_IN_ORDER, SENT = 0, 2, 3
"""Other statuses: RETENTION keeps received messages and copies of sent ones ("CREATE QUEUE")."""
RETAINED = (RECEIVED, SENT)


def _view(name: str, *columns: ViewColumn, **more: Any) -> View:
    return View(name, columns, **more)


def _optional(name: str, type: ServerType, **more: Any) -> ViewColumn:
    """A column that a view may lack."""
    return ViewColumn(name, type, nullable=True, may_lack=True, **more)


def _by_name(name: str, *also: str, **more: Any) -> ViewColumn:
    """A column that only files have: it says by name what the server's views say by ids."""
    return _optional(name, NAME, also=also, is_selected=False, in_captures=False, **more)


DATABASE_ID = _optional("database_id", INT, is_selected=False)
"""Of views of the whole server: which database a row is of."""
SIZE = _optional("size_bytes", INT, sql="CONVERT(bigint, DATALENGTH(v.message_body))")
"""A message body is measured, and never read."""
UPDATEABILITY = "CONVERT(nvarchar(60), DATABASEPROPERTYEX(v.name, N'Updateability'))"
"""READ_WRITE or READ_ONLY: a secondary replica is READ_ONLY, although sys.databases may not say so."""
LISTED_NAME = "priority_name"
"""The name of a rule in the listing that the vendor's page "sys.conversation_priorities" prints."""
CONTRACT_NAME = _by_name("service_contract_name", "contract_name", "contract")

_DECLARED = (
    _view(
        ENDPOINTS,
        ViewColumn("conversation_handle", GUID),
        ViewColumn("conversation_id", GUID),
        ViewColumn("is_initiator", FLAG),
        ViewColumn("service_contract_id", INT, instead="service_contract_name", names=CONTRACTS),
        ViewColumn("conversation_group_id", GUID),
        ViewColumn("service_id", INT, instead="service_name", names=SERVICES),
        _optional("lifetime", TIME, event="expires_at"),
        ViewColumn("state", CODE, instead="state_desc"),
        ViewColumn("far_service", text(256), event="remote_service"),
        ViewColumn("priority", SMALL_INT, event="logged_priority"),
        _optional("send_sequence", INT),
        _optional("receive_sequence", INT),
        CONTRACT_NAME,
        _by_name("service_name", "local_service_name", "local_service"),
        _by_name("state_desc"),
        events="endpoint_events",
        is_large=True,
    ),
    _view(
        TRANSMISSION,
        ViewColumn("enqueue_time", TIME, nullable=True),
        ViewColumn("conversation_handle", GUID),
        ViewColumn("message_sequence_number", INT, nullable=True),
        ViewColumn("message_type_name", NAME, nullable=True, event="message_type"),
        ViewColumn("is_conversation_error", BIT, nullable=True),
        ViewColumn("is_end_of_dialog", BIT, nullable=True),
        _optional("transmission_status", text(400), sql="LEFT(v.transmission_status, 400)"),
        SIZE,
        # What a message that waits to be sent says of its endpoint, which may be gone.
        _optional("from_service_name", NAME, event="shown_from_service"),
        _optional("to_service_name", text(256), event="shown_to_service"),
        _optional("service_contract_name", NAME, event="shown_contract"),
        _optional("priority", SMALL_INT, event="shown_priority"),
        events="message_events",
        is_large=True,
    ),
    _view(
        QUEUE,
        ViewColumn("status", SMALL_INT),
        ViewColumn("priority", SMALL_INT, nullable=True),
        ViewColumn("queuing_order", INT, nullable=True),
        ViewColumn("conversation_group_id", GUID, nullable=True),
        ViewColumn("conversation_handle", GUID),
        ViewColumn("message_sequence_number", INT, nullable=True),
        ViewColumn("message_type_name", text(256), event="message_type"),
        _optional("message_enqueue_time", TIME),
        SIZE,
        _by_name("service_name", of_endpoint=True, event="shown_to_service"),
        _by_name("service_contract_name", of_endpoint=True, event="shown_contract"),
        events="message_events",
        is_large=True,
    ),
    _view(
        SERVICES,
        ViewColumn("service_id", INT),
        ViewColumn("name", NAME),
        _optional("service_queue_id", INT),
        id="service_id",
        is_catalog=True,
    ),
    _view(
        CONTRACTS,
        ViewColumn("service_contract_id", INT),
        ViewColumn("name", NAME),
        id="service_contract_id",
        is_catalog=True,
    ),
    _view(
        QUEUES,
        ViewColumn("object_id", INT),
        _optional("schema_name", NAME, sql="SCHEMA_NAME(v.schema_id)", in_files=False),
        ViewColumn("name", NAME, event="queue"),
        ViewColumn("is_receive_enabled", BIT),
        ViewColumn("is_enqueue_enabled", BIT),
        _optional("is_activation_enabled", BIT),
        _optional("activation_procedure", text(776)),
        _optional("max_readers", SMALL_INT),
        id="object_id",
        events="queue_events",
        is_catalog=True,
    ),
    _view(
        PRIORITIES,
        ViewColumn("name", NAME, also=(LISTED_NAME,)),
        ViewColumn(
            "service_contract_id", INT, nullable=True, instead="service_contract_name", names=CONTRACTS
        ),
        ViewColumn("local_service_id", INT, nullable=True, instead="local_service_name", names=SERVICES),
        ViewColumn("remote_service_name", text(256), nullable=True, also=("remote_service",)),
        ViewColumn("priority", SMALL_INT, also=("priority_level",)),
        CONTRACT_NAME,
        _by_name("local_service_name", "local_service", "service_name"),
        is_catalog=True,
    ),
    _view(
        DATABASES,
        ViewColumn("name", NAME),
        ViewColumn("is_honor_broker_priority_on", BIT, also=("is_broker_priority_honored",)),
        _optional("is_broker_enabled", BIT),
        _optional("service_broker_guid", GUID),
        _optional("database_id", INT),
        _optional("updateability", text(60), sql=UPDATEABILITY),
        is_catalog=True,
    ),
    _view(
        MONITORS,
        ViewColumn("queue_id", INT, instead="queue_name", names=QUEUES),
        _optional("state", text(32)),
        ViewColumn("tasks_waiting", INT, nullable=True),
        _optional("last_activated_time", LOCAL_TIME),
        _optional("last_empty_rowset_time", LOCAL_TIME),
        _by_name("queue_name"),
        DATABASE_ID,
        events="queue_events",
    ),
    _view(
        TASKS,
        ViewColumn("spid", INT, event="session_id"),
        ViewColumn("queue_id", INT, instead="queue_name", names=QUEUES),
        _by_name("queue_name"),
        DATABASE_ID,
        events="queue_events",
    ),
    _view(
        LOCKED_GROUPS,
        ViewColumn("granted", INT, in_files=False),
        ViewColumn("waiting", INT, in_files=False),
    ),
)
VIEWS = {view.name: view for view in _DECLARED}
"""All views; all queues are one."""
FILE_VIEWS = tuple(
    view.name for view in _DECLARED if view.name != QUEUE and any(column.in_files for column in view.columns)
)
"""The views that a file is named after; the file of a queue has the queue's name."""
CATALOG_VIEWS = tuple(view.name for view in _DECLARED if view.is_catalog)
"""The views that say what catalog and rules are."""


def is_queue(view: str) -> bool:
    """Whether a view is a queue: schema and name with a dot between them."""
    return "." in view


def queue_of(view: str) -> str:
    """The queue's name, without its schema."""
    return view.partition(".")[2]


def declared(view: str) -> View:
    """The declaration of a view or a queue."""
    return VIEWS[QUEUE if is_queue(view) else view]


@cache
def columns_in_files(view: str) -> tuple[ViewColumn, ...]:
    """The columns of a view or a queue that files may have."""
    return tuple(column for column in declared(view).columns if column.in_files)


@cache
def columns_in_captures(view: str) -> tuple[ViewColumn, ...]:
    """The columns of a view or a queue that captures may have."""
    return tuple(column for column in declared(view).columns if column.in_captures)


def names_of(view: str) -> dict[str, str]:
    """The columns of ids, and the views that have their names, in the order of `FILE_VIEWS`."""
    return {
        column.name: other for other in FILE_VIEWS for column in VIEWS[view].columns if column.names == other
    }
