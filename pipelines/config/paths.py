"""Paths of the settings: relative to their file, without secrets, and apart from each other."""

import os
import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit

from pydantic import ValidationInfo

from pipelines.config.shape import problem

URI = re.compile(r"\s*(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):/+")
ONE_SLASH = re.compile(r"^file:/(?!/)")
DRIVE = re.compile(r"^/(?=[A-Za-z]:)")
"""What stands before a drive in the path of a URI."""
CONTAINERS = ("abfs", "abfss", "wasb", "wasbs")
"""URIs with a container ahead of the host, which is no secret."""
USERS = (*CONTAINERS, "hdfs", "webhdfs", "viewfs")
"""URIs in which a name ahead of the host is no secret, unless a password follows it."""
QUERY = re.compile(r"[?#]|%3f", re.IGNORECASE)
SECRET = re.compile(
    r"[?&#;]\s*[^=&?#;/]*(?:sig|token|secret|passw|pwd|key|credential|auth)[^=&?#;/]*=", re.IGNORECASE
)
"""A parameter that is a secret by its name."""
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
ALIASES = {"s3a": "s3", "s3n": "s3", "abfss": "abfs", "wasbs": "wasb"}
"""Schemes for the same files."""


def table_path(path: str, info: ValidationInfo) -> str:
    """A path that an engine reads or writes: absolute, or a URI; on Windows with slashes, such as C:/data.

    Raises:
        PydanticCustomError: it has a secret in it.
    """
    _refuse_unfit(path)
    if URI.match(path):
        # An engine takes file:/folder for another place than file:///folder.
        return ONE_SLASH.sub("file:///", path)
    return with_slashes(os.path.abspath(_from_directory(path, info)))


def local_path(path: str, info: ValidationInfo) -> str:
    """A path that is read before an engine starts: relative as the settings file's own path is, or absolute.

    Raises:
        PydanticCustomError: it is a URI, or has a secret in it.
    """
    if URI.match(path):
        raise problem(f"{without_secrets(path)!r} is not on the local disk; write a path")
    _refuse_unfit(path)
    return os.path.normpath(_from_directory(path, info))


def with_slashes(path: str) -> str:
    """A local path of Windows with slashes, which Python, Arrow and Delta take there too; others as they are.

    The paths of tables and files are joined with slashes, and a table's path may have no backslash.
    """
    return path.replace("\\", "/") if os.name == "nt" else path


def local_part(uri: SplitResult) -> str:
    """The local path that a URI of the scheme file names: /data, C:/data or //server/share/data."""
    path = "/" + unquote(uri.path).lstrip("/")
    if os.name == "nt":
        return f"//{uri.netloc}{path}" if uri.netloc else DRIVE.sub("", path)
    return path


def local_folder(root: str) -> str:
    """The folder as a path of this machine, where Spark's catalog gives it as file:/folder."""
    return local_part(urlsplit(root)) if root.startswith("file:") else root


def _from_directory(path: str, info: ValidationInfo) -> str:
    return os.path.join(info.context["directory"], path) if info.context else path


def _refuse_unfit(path: str) -> None:
    if CONTROL.search(path):
        raise problem(f"{without_secrets(path)!r} has a line end or a control character; write another path")
    shown = without_secrets(path)
    if shown != path:
        raise problem(
            f"{shown!r} has credentials in it, which logs and tables would show; "
            "leave them out and give them to the engine: by the environment (AWS_ACCESS_KEY_ID, "
            "AWS_SECRET_ACCESS_KEY), or in Spark's settings (spark.hadoop.fs.s3a.access.key, ...secret.key)"
        )


def without_secrets(path: str) -> str:
    """The path with `...` for a user with a password, and for a query that may be a signature or a token."""
    uri = URI.match(path)
    scheme = uri["scheme"].lower() if uri else "file"
    if uri is None or scheme == "file":
        found = SECRET.search(unquote(path))
        return f"{re.split('[?&#;]|%3f', path, maxsplit=1, flags=re.IGNORECASE)[0]}?..." if found else path
    cut = QUERY.search(path)
    head, query = (path[: cut.start()], path[cut.end() :]) if cut else (path, "")
    shown = head
    before, at, behind = head[uri.end() :].partition("@")
    has_password = bool(re.search(":|%3a", before, re.IGNORECASE))
    if at and (has_password or (scheme not in USERS and "/" not in before)):
        shown = f"{uri['scheme']}://...@{behind}"
    # An engine reads no query; a question mark alone may be a sign of a name.
    if query and ("=" in unquote(query) or scheme in ("http", "https")):
        return f"{shown}?..."
    return shown if shown != head else path


@dataclass(frozen=True)
class Folder:
    """A folder or file as it can be compared with others.

    Attributes:
        system: the file system; empty for the local disk.
        parts: the names from its root on; on the local disk the drive comes first, which is empty but on
            Windows. Links of the local disk are followed.
    """

    system: str
    parts: tuple[str, ...]

    @classmethod
    def of(cls, path: str) -> "Folder":
        """The folder of an absolute path or a URI."""
        uri = URI.match(path)
        if uri is None:
            return cls._local(path)
        split = urlsplit(path.strip())
        if split.scheme == "file":
            return cls._local(local_part(split))
        # Nothing follows a host of one slash.
        inner = posixpath.normpath("/" + unquote(split.path))
        system = f"{ALIASES.get(split.scheme, split.scheme)}://{split.netloc.lower()}"
        return cls(system, tuple(part for part in inner.split("/") if part))

    @classmethod
    def _local(cls, path: str) -> "Folder":
        drive, names = os.path.splitdrive(os.path.normcase(os.path.realpath(path)))
        return cls("", (drive, *(part for part in names.split(os.sep) if part)))

    def is_in(self, other: "Folder") -> bool:
        """Whether this is the other folder, or inside it."""
        if self.system != other.system:
            return False
        if self.parts[: len(other.parts)] == other.parts:
            return True
        path = _local_path(other.parts)
        return not self.system and any(_is_same(folder, path) for folder in self._above())

    def _above(self) -> Iterator[str]:
        """This folder and those above it, as paths of the local disk."""
        for length in range(len(self.parts), 0, -1):
            yield _local_path(self.parts[:length])


def _local_path(parts: Sequence[str]) -> str:
    drive, *names = parts
    return drive + os.sep + os.sep.join(names)


def _is_same(one: str, other: str) -> bool:
    """Whether two paths are one file, as where case does not matter or a folder is mounted twice."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


INSIDE = ("is", "lies in")
"""What `overlap` says of a path that another one has in it."""


def overlap(one: str, other: str) -> str | None:
    """Say how two paths share files: `is`, `lies in` or `holds`; None if they don't."""
    first, second = Folder.of(one), Folder.of(other)
    inside, around = first.is_in(second), second.is_in(first)
    if inside and around:
        return "is"
    return "lies in" if inside else "holds" if around else None
