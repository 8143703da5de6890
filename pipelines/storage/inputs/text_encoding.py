"""Text files with bytes that are no UTF-8, split for an engine that refuses such files."""

import codecs
import io
import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from uuid import uuid4

import pyarrow as pa

from pipelines.engine.scratch import local_scratch
from pipelines.storage.inputs.paths import open_unpacked

CHUNK = 1 << 20
LINE_END = re.compile(rb"(?<=\n)|(?<=\r)(?!\n)")


def split_by_encoding(paths: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split files into lines that are UTF-8 and other lines, these with U+FFFD for invalid bytes.

    A file that is all UTF-8 is returned as it is. Another one is copied to the local disk, as two files of
    its name. A file that can't be read to its end is returned as it is: the engine reports the error.

    Raises:
        FileNotFoundError: a file is gone, which the engine would take for one without lines.
    """
    text, other = [], []
    for path in paths:
        if _is_utf8(path):
            text.append(path)
        else:
            copies = _copy_split(path)
            text.append(copies[0])
            other.append(copies[1])
    return text, other


def _is_utf8(path: str) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with open_unpacked(path) as stream:
            while chunk := stream.read(CHUNK):
                decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    except FileNotFoundError:
        raise
    except OSError:
        # The engine says what is wrong.
        pass
    return True


def _copy_split(path: str) -> tuple[str, str]:
    folder = local_scratch() / str(uuid4())
    text, other = (folder / kind / PurePosixPath(path).name for kind in ("text", "other"))
    for copy in (text, other):
        copy.parent.mkdir(parents=True)
    # Copies are packed as their original is: the engine goes by the name.
    with (
        open_unpacked(path) as stream,
        pa.output_stream(str(text), compression="detect") as texts,
        pa.output_stream(str(other), compression="detect") as others,
    ):
        for several in io.BufferedReader(stream):
            for line in LINE_END.split(several):
                try:
                    line.decode()
                except UnicodeDecodeError:
                    others.write(line.decode(errors="replace").encode())
                else:
                    texts.write(line)
    return text.as_posix(), other.as_posix()
