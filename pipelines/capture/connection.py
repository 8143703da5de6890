"""Connection strings and connections of the vendor's driver; a password appears in no message."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, Protocol

from pipelines.config.errors import ConfigError, ServerError

DRIVER = "mssql_python"
EXTRA = "capture"
VARIABLE = "PRIORITIES_CONNECTION"
LOGIN_WITHIN = 30
"""Seconds that a login may take."""
_PAIR = re.compile(r"\s*([^=;]+?)\s*=\s*(\{(?:[^}]|\}\})*\}?|[^;]*)(?:;|$)")
"""Keyword and value of a connection string; a value in braces has its closing braces doubled."""
_PASSWORD_KEYS = frozenset({"pwd", "password"})
_SERVER_KEYS = frozenset({"server", "address", "addr"})
_PASSWORD_IN_TEXT = re.compile(r"\b(pwd|password)\s*=\s*(\{(?:[^}]|\}\})*\}?|[^;\s]*)", re.IGNORECASE)
_PREFIXES = re.compile(r"(\[[^\[\]]*\]\s*)+")
"""What an ODBC driver writes before a message: `[Microsoft][SQL Server]`."""
HIDDEN = "***"


class Cursor(Protocol):
    """What a run needs of a DB-API cursor."""

    @property
    def description(self) -> Sequence[Any] | None:
        """The columns of the current result set; None if it has none."""
        ...

    def execute(self, operation: str, /) -> object:
        """Run a batch."""
        ...

    def nextset(self) -> bool | None:
        """Go to the next result set, and say whether there is one."""
        ...

    def fetchmany(self, size: int, /) -> Sequence[Sequence[Any]]:
        """Return the next rows; none at the end."""
        ...


class Connection(Protocol):
    """What a run needs of a DB-API connection."""

    def cursor(self) -> Cursor:
        """Open a cursor."""
        ...

    def close(self) -> object:
        """End the connection."""
        ...


def connection_string(server: str | None, given: str | None, from_environment: str | None) -> str:
    """Return the driver's connection string: the option's, else the environment's, else of the server alone.

    The last one logs in as the user of the process (Windows, or Kerberos).

    Args:
        server: --server.
        given: --connection.
        from_environment: PRIORITIES_CONNECTION.

    Raises:
        ConfigError: no server is named, or two are; --connection has a password.
    """
    if given and not _PASSWORD_KEYS.isdisjoint(_pairs(given)):
        raise ConfigError(
            f"--connection: has a password, which every user of this machine could see; set {VARIABLE} to "
            "this connection string and leave the option out"
        )
    string = given or from_environment or ""
    source = "--connection" if given else VARIABLE
    has_server = not _SERVER_KEYS.isdisjoint(_pairs(string))
    if server and has_server:
        raise ConfigError(f"--server and {source} both name a server; leave --server out")
    if not server and not has_server:
        where = f"; {source} has no Server=..." if string else ""
        raise ConfigError(f"capture: no server is named{where}; add --server NAME")
    if not server:
        return string
    login = string or "Trusted_Connection=yes;"
    return f"Server={_value(server)};{login}"


def server_of(string: str) -> str:
    """The server that a connection string names."""
    pairs = _pairs(string)
    return next(
        (pairs[key].strip("{}") for key in ("server", "address", "addr") if key in pairs), "the server"
    )


@contextmanager
def open_connection(string: str) -> Iterator[Connection]:
    """Open a connection with autocommit, since the script refuses to run in a transaction.

    Raises:
        ConfigError: the driver is not installed, or a library that it needs.
        ServerError: the server can't be reached, or refuses the login.
    """
    driver = _import_driver()
    with driver_errors("the connection failed", string):
        connection: Connection = driver.connect(string, autocommit=True, timeout=LOGIN_WITHIN)
    try:
        yield connection
    finally:
        with suppress(Exception):
            connection.close()


@contextmanager
def driver_errors(what: str, string: str) -> Iterator[None]:
    """Turn any error of the driver into one line with the server's message.

    Args:
        what: what failed.
        string: the connection string, whose password is hidden.

    Raises:
        ServerError: the driver raised an error.
    """
    try:
        yield
    except Exception as error:
        message = hide_passwords(_server_message(error), string)
        # Without the driver's own error, which a traceback would show with the password.
        raise ServerError(f"capture: {what}: {message}") from None


def hide_passwords(text: str, string: str) -> str:
    """Replace the passwords of a connection string, and whatever follows PWD=, in a text."""
    text = _PASSWORD_IN_TEXT.sub(rf"\1={HIDDEN}", text)
    for keyword, value in _pairs(string).items():
        if keyword in _PASSWORD_KEYS:
            plain = value[1:].removesuffix("}").replace("}}", "}") if value.startswith("{") else value
            for secret in filter(None, (value, plain)):
                text = text.replace(secret, HIDDEN)
    return text


def _pairs(string: str) -> dict[str, str]:
    """Values by keyword in lower case, as they are written."""
    return {match[1].lower(): match[2].strip() for match in _PAIR.finditer(string)}


def _value(text: str) -> str:
    """A value of a connection string, in braces if it needs them."""
    if re.search(r"[;{}=]|^\s|\s$", text):
        doubled = text.replace("}", "}}")
        return f"{{{doubled}}}"
    return text


def _server_message(error: Exception) -> str:
    text = str(error).rpartition("DDBC Error: ")[2] or str(error)
    return " ".join(_PREFIXES.sub("", text, count=1).split()) or type(error).__name__


def _import_driver() -> Any:
    try:
        return import_module(DRIVER)
    except ModuleNotFoundError as error:
        if error.name != DRIVER:
            raise ConfigError(f"capture: the driver can't be loaded ({error}); install it again") from error
        raise ConfigError(
            "capture: the driver mssql-python is not installed; install the extra "
            f"{EXTRA}, e.g. pip install mssql-python, or run the script of --print-sql with another tool"
        ) from error
    except (ImportError, OSError) as error:
        raise ConfigError(f"capture: the driver can't be loaded ({error}); install what it names") from error
