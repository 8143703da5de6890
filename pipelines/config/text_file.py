"""Text files as people save them: UTF-8, or UTF-16 with a byte order mark."""

import codecs
import os
from pathlib import Path

from pipelines.config.errors import ConfigError, place_behind

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, None),  # begins as UTF-16's mark does, so it goes first
    (codecs.BOM_UTF32_BE, None),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAVE = "save it as UTF-8, or as UTF-16 with a byte order mark"
_SAMPLE = 4096
_SHARE = 0.3
"""A file of UTF-16 has a zero in every other byte of its Latin letters, digits and blanks."""


def read_text(path: str) -> str:
    """Return the text of a file, without its byte order mark; lines end as they do in the file.

    A lone carriage return ends a line only where no line feed does, and is one then.

    Raises:
        ConfigError: The file is missing or can't be read, or it is in another encoding, which is named.
    """
    file = Path(path)
    if os.path.exists(file) and not (os.path.isfile(file) or os.path.isdir(file)):
        # To open a pipe is to wait for the process that writes into it.
        raise ConfigError(f"{path}: is a device or a pipe; name a file")
    try:
        content = file.read_bytes()
    except FileNotFoundError as error:
        raise ConfigError(f"{path}: no such file; correct the path or create it") from error
    except OSError as error:
        raise ConfigError(f"{path}: can't be read ({error.strerror}); correct path or permissions") from error
    mark, encoding = next((found for found in _MARKS if content.startswith(found[0])), (b"", "utf-8"))
    if encoding is None:
        raise ConfigError(f"{path}: is UTF-32; {_SAVE}")
    if not mark and (order := _unmarked_utf16(content)):
        raise ConfigError(f"{path}: is UTF-16 ({order}) without a byte order mark; {_SAVE}")
    text = _decoded(path, content[len(mark) :], encoding, len(mark))
    if (nul := text.find("\0")) >= 0:
        raise ConfigError(f"{path}:{place_behind(text[:nul])}: a NUL character, which no text has; {_SAVE}")
    return text if "\n" in text else text.replace("\r", "\n")


def _decoded(path: str, content: bytes, encoding: str, skipped: int) -> str:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        place = place_behind(content[: error.start].decode(encoding))
        byte = skipped + error.start + 1
        likely = ""
        if encoding == "utf-8" and _is_windows_text(content):
            likely = f" and looks like code page 1252 ({_line_of(content, error.start)})"
        raise ConfigError(
            f"{path}:{place}: is not {encoding.upper()} (byte {byte}){likely}; {_SAVE}"
        ) from error


def _unmarked_utf16(content: bytes) -> str | None:
    """The byte order of UTF-16 without a mark; None for anything else."""
    sample = content[:_SAMPLE]
    enough = max(len(sample) // 2 * _SHARE, 2)
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if odd >= enough and odd > 4 * even:
        return "little-endian"
    if even >= enough and even > 4 * odd:
        return "big-endian"
    return None


def _is_windows_text(content: bytes) -> bool:
    """Whether the bytes are text in code page 1252: it has no letters in five places, nor control codes."""
    return not any(byte < 9 or byte in b"\x81\x8d\x8f\x90\x9d" for byte in set(content))


def _line_of(content: bytes, at: int) -> str:
    """The word at a byte, as code page 1252 has it."""
    line = content[content.rfind(b"\n", 0, at) + 1 :].split(b"\n", 1)[0].decode("cp1252", "replace")
    column = at - content.rfind(b"\n", 0, at) - 1
    begin = max(line.rfind(" ", 0, column), column - 20, 0)
    return repr(line[begin : column + 12].split("  ")[0].strip())
