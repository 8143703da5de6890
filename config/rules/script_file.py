"""T-SQL scripts as text: UTF-8, or UTF-16 with a byte order mark, as SQL Server's tools save them."""

import codecs
from pathlib import Path

from config.errors import ConfigError, place_behind

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, None),  # begins as UTF-16's mark does, so it goes first
    (codecs.BOM_UTF32_BE, None),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAVE = "save it as UTF-8, or as UTF-16 with a byte order mark"


def read_script(path: str) -> str:
    """Return the text of a script, without its byte order mark.

    Raises:
        ConfigError: The file can't be read, or is in another encoding.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: can't be read ({error.strerror}); correct path or permissions") from error
    mark, encoding = next((found for found in _MARKS if content.startswith(found[0])), (b"", "utf-8"))
    if encoding is None:
        raise ConfigError(f"{path}: is UTF-32; {_SAVE}")
    try:
        text = content[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        place = place_behind(content[len(mark) :][: error.start].decode(encoding))
        byte = len(mark) + error.start + 1
        raise ConfigError(f"{path}:{place}: is not {encoding.upper()} (byte {byte}); {_SAVE}") from error
    if (nul := text.find("\0")) >= 0:
        raise ConfigError(f"{path}:{place_behind(text[:nul])}: a NUL character, which no text has; {_SAVE}")
    return text
