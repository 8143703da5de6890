"""Python over the batches of a frame, on as many cores as the engine has tasks."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue
from tempfile import TemporaryFile
from threading import Thread
from typing import IO, TYPE_CHECKING

from pyspark import cloudpickle
from pyspark.sql import DataFrame

from pipelines.engine.errors import is_broken_pipe
from pipelines.engine.session import is_embedded

if TYPE_CHECKING:
    import pyarrow as pa

Work = Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]

FEW_ROWS = 262_144
"""A task with fewer rows gains less from a process of its own than it takes to start it."""
LENGTH = 8
"""Bytes of a number that says how long what follows is."""


def run_in_python(rows: DataFrame, work: Work, ddl: str) -> DataFrame:
    """Let Python look at the batches of each partition, as `mapInArrow` does.

    Apache Spark has a process for each task. The embedded engine runs all tasks in the process of the job,
    where one runs and the others wait: there a task with many rows gets a process of its own. What numpy
    does lets the others run, so it needs no more than `mapInArrow`.

    Args:
        rows: anything.
        work: batches in, batches out; it sees each partition from its first row to its last.
        ddl: the columns that come out.
    """
    return rows.mapInArrow(_apart(work) if is_embedded(rows.sparkSession) else work, ddl)


def _apart(work: Work) -> Work:
    pickled: bytes = cloudpickle.dumps(work)  # type: ignore[no-untyped-call]

    def run(batches: Iterator["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        begun, rows = [], 0
        for batch in batches:
            begun.append(batch)
            rows += batch.num_rows
            if rows > FEW_ROWS:
                return (yield from _elsewhere(pickled, begun, batches))
        yield from cloudpickle.loads(pickled)(iter(begun))

    return run


def _elsewhere(
    pickled: bytes, begun: list["pa.RecordBatch"], rest: Iterator["pa.RecordBatch"]
) -> Iterator["pa.RecordBatch"]:
    """Do the work in a process of its own; nothing of it is left when this ends, however it ends.

    Raises:
        RuntimeError: the work failed; with the last line that it said.
    """
    import pyarrow as pa

    path = os.pathsep.join(each or os.getcwd() for each in sys.path)
    with (
        TemporaryFile() as said,
        subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            env={**os.environ, "PYTHONPATH": path},
            # Ctrl-C ends the job, and the end of the job ends this.
            process_group=0,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        ) as process,
    ):
        assert process.stdin
        assert process.stdout
        done: SimpleQueue[pa.RecordBatch | None] = SimpleQueue()
        reader = Thread(target=_read, args=(process.stdout, done), daemon=True)
        reader.start()
        try:
            try:
                process.stdin.write(len(pickled).to_bytes(LENGTH) + pickled)
                with pa.ipc.new_stream(process.stdin, begun[0].schema) as to_process:
                    while begun:
                        to_process.write_batch(begun.pop(0))
                    for batch in rest:
                        to_process.write_batch(batch)
                        yield from _there(done)
                process.stdin.close()
            except OSError as error:
                # A process that has failed reads no more; why it failed is said below.
                if not is_broken_pipe(error):
                    raise
            while (found := done.get()) is not None:
                yield found
            if process.wait():
                said.seek(0)
                lines = said.read().decode(errors="replace").strip().splitlines()
                raise RuntimeError(lines[-1] if lines else f"a Python worker ended with {process.returncode}")
        finally:
            process.kill()
            reader.join()
            with suppress(OSError):
                process.stdin.close()


def _read(results: IO[bytes], done: "SimpleQueue[pa.RecordBatch | None]") -> None:
    import pyarrow as pa

    # Of a process that has failed the stream breaks off, or does not begin.
    with suppress(pa.ArrowInvalid, OSError):
        for batch in pa.ipc.open_stream(results):
            done.put(batch)
    done.put(None)


def _there(done: "SimpleQueue[pa.RecordBatch | None]") -> Iterator["pa.RecordBatch"]:
    """What came back so far."""
    with suppress(Empty):
        while (found := done.get_nowait()) is not None:
            yield found
        done.put(None)


def _serve(commands: IO[bytes], results: IO[bytes]) -> None:
    """In the process of its own: read the work and its batches, and write what comes out."""
    import pyarrow as pa

    work = cloudpickle.loads(commands.read(int.from_bytes(commands.read(LENGTH))))
    writer = None
    for batch in work(iter(pa.ipc.open_stream(commands))):
        writer = writer or pa.ipc.new_stream(results, batch.schema)
        writer.write_batch(batch)
        results.flush()
    if writer:
        writer.close()


if __name__ == "__main__":
    _serve(sys.stdin.buffer, sys.stdout.buffer)
