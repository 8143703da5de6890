"""Connection strings: which one is used, and that a password is in no message."""

import sys
import traceback

import pytest

from pipelines.capture.connection import connection_string, driver_errors, hide_passwords, open_connection
from pipelines.config.errors import ConfigError, ServerError
from tests.support.dbapi import Driver, DriverError

LOGIN = "Server=SQL1;UID=reader;PWD={p;}}w d};Encrypt=yes"


@pytest.mark.parametrize(
    ("server", "given", "from_environment", "string"),
    [
        ("SQL1\\A", None, None, "Server=SQL1\\A;Trusted_Connection=yes;"),
        ("tcp:sql1,1433", None, None, "Server=tcp:sql1,1433;Trusted_Connection=yes;"),
        ("x;UID=sa", None, None, "Server={x;UID=sa};Trusted_Connection=yes;"),
        ("SQL1", None, "UID=a;PWD=b", "Server=SQL1;UID=a;PWD=b"),
        ("SQL1", "Trusted_Connection=yes", "UID=a;PWD=b", "Server=SQL1;Trusted_Connection=yes"),
        (None, "Server=SQL2;Trusted_Connection=yes", None, "Server=SQL2;Trusted_Connection=yes"),
        (None, None, LOGIN, LOGIN),
        # What looks like a password in another value.
        (None, "Server={a;PWD=b}", None, "Server={a;PWD=b}"),
    ],
)
def test_the_string(server: str | None, given: str | None, from_environment: str | None, string: str) -> None:
    assert connection_string(server, given, from_environment) == string


@pytest.mark.parametrize(
    ("server", "given", "says"),
    [
        # A password is no argument.
        *(
            (None, given, r"has a password.*set PRIORITIES_CONNECTION")
            for given in ("Server=S;UID=a;PWD=b", "server=S; password = {b}", "PwD=b", "Server={a;b};PWD=")
        ),
        (None, None, "no server is named; add --server NAME"),
        (None, "UID=a", "no server is named; --connection has no Server="),
        ("SQL1", "Address=SQL2", "--server and --connection both name a server"),
    ],
)
def test_a_string_that_is_refused(server: str | None, given: str | None, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as raised:
        connection_string(server, given, None)
    assert "=b" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("refused PWD={p;}}w d};Encrypt=yes", "refused PWD=***;Encrypt=yes"),
        ("pwd = other, no", "pwd=*** no"),
        ("the password p;}w d is wrong", "the password *** is wrong"),
        ("Login failed for user 'reader'.", "Login failed for user 'reader'."),
    ],
)
def test_hide_passwords(text: str, hidden: str) -> None:
    assert hide_passwords(text, LOGIN) == hidden


def test_an_error_of_the_driver_is_the_servers_message_in_one_line() -> None:
    with pytest.raises(ServerError) as raised, driver_errors("the connection failed", LOGIN):
        raise DriverError(
            "Driver Error: Invalid authorization; DDBC Error: [Microsoft][SQL Server]Login failed\n"
            "for user 'reader' (PWD={p;}}w d})."
        )
    assert str(raised.value) == ("capture: the connection failed: Login failed for user 'reader' (PWD=***).")
    assert "p;}}w d" not in "".join(traceback.format_exception(raised.value))


def test_the_connection_commits_by_itself_and_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver()
    monkeypatch.setitem(sys.modules, "mssql_python", driver)
    with open_connection(LOGIN):
        assert driver.connected == [(LOGIN, True)]
        assert not driver.is_closed
    assert driver.is_closed


def test_a_login_that_is_refused_and_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver()
    driver.refuses = DriverError("Login failed")
    monkeypatch.setitem(sys.modules, "mssql_python", driver)
    refused = pytest.raises(ServerError, match=r"^capture: the connection failed: Login failed$")
    with refused, open_connection(LOGIN):
        pass
    monkeypatch.setitem(sys.modules, "mssql_python", None)
    no_driver = pytest.raises(ConfigError, match="mssql-python is not installed; install the extra capture")
    with no_driver, open_connection(LOGIN):
        pass
