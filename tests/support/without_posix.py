"""Make a process of the project find nothing that Windows lacks.

Modules and attributes are hidden from the project and from PySpark. Other libraries have code of their own
for Windows, which can't run here, and keep what they have.
"""

import builtins
import os
import signal
import sys
import time
from types import ModuleType
from typing import Any

FROM = ("pipelines", "jobs", "schemas", "pyspark", "delta")
MODULES = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
ATTRIBUTES = {
    "os": """
        chown chroot confstr fchmod fchown fdatasync fork forkpty get_blocking getegid geteuid
        getgid getgroups getloadavg getpgid getpgrp getpriority getsid getuid initgroups killpg
        lchown lockf major minor mkfifo mknod nice openpty pathconf pipe2 posix_fadvise
        posix_fallocate posix_spawn pread pwrite readv register_at_fork sched_getaffinity
        sched_yield sendfile set_blocking setegid seteuid setgid setgroups setpgid setpriority
        setsid setuid statvfs sync sysconf sysconf_names tcgetpgrp ttyname uname wait wait3 wait4
        waitid writev O_CLOEXEC O_DIRECTORY O_DSYNC O_NOCTTY O_NOFOLLOW O_NONBLOCK O_SYNC
        O_TMPFILE WEXITSTATUS WIFSIGNALED WNOHANG
    """,
    "signal": """
        SIGALRM SIGBUS SIGCHLD SIGCONT SIGHUP SIGIO SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGTSTP
        SIGTTIN SIGUSR1 SIGUSR2 alarm getitimer pause pthread_kill pthread_sigmask setitimer
        siginterrupt sigpending sigtimedwait sigwait
    """,
    "time": "clock_gettime clock_getres clock_settime pthread_getcpuclockid tzset",
}


def _is_ours(frame_globals: dict[str, Any]) -> bool:
    return str(frame_globals.get("__name__")).partition(".")[0] in FROM


def _hiding(hidden: frozenset[str]) -> type[ModuleType]:
    class Hiding(ModuleType):
        """A module without some of its attributes."""

        def __getattribute__(self, name: str) -> Any:
            if name in hidden and _is_ours(sys._getframe(1).f_globals):
                raise AttributeError(
                    f"module {super().__getattribute__('__name__')!r} has no {name!r} on Windows"
                )
            return super().__getattribute__(name)

    return Hiding


def hide() -> None:
    """Hide from now on what Windows lacks."""
    for module in (os, signal, time):
        module.__class__ = _hiding(frozenset(ATTRIBUTES[module.__name__].split()))
    imported = builtins.__import__

    def looked_for(name: str, globals: Any = None, *more: Any, **options: Any) -> Any:
        if name in MODULES and _is_ours(globals or {}):
            raise ModuleNotFoundError(f"No module named {name!r} on Windows", name=name)
        return imported(name, globals, *more, **options)

    builtins.__import__ = looked_for
