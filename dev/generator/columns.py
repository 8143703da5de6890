"""Columns of a frame as Arrow arrays, which know null."""

import numpy as np
import pyarrow as pa

from dev.generator import ids
from dev.generator.frame import Array, comes

MOMENT = pa.timestamp("us", tz="UTC")
INT, BIGINT = pa.int32(), pa.int64()


def moments(at: Array) -> pa.Array:
    """Microseconds since the epoch as instants."""
    return pa.array(at).view(MOMENT)


def numbers(values: Array, kind: pa.DataType = BIGINT) -> pa.Array:
    """Whole numbers; NEVER is null."""
    known = comes(values)
    return pa.array(np.where(known, values, 0), mask=None if known.all() else ~known).cast(kind)


def flags(values: Array, *, where: Array | None = None) -> pa.Array:
    """Booleans, null elsewhere."""
    return pa.array(values, mask=None if where is None else ~where)


def id_texts(pairs: Array, *, where: Array | None = None) -> pa.Array:
    """Ids as texts, null elsewhere."""
    offsets = np.arange(len(pairs) + 1, dtype=np.int32) * np.int32(ids.LENGTH)
    known = None if where is None else pa.array(where).buffers()[1]
    return pa.StringArray.from_buffers(
        len(pairs), pa.py_buffer(offsets), pa.py_buffer(ids.text(pairs)), known
    )
