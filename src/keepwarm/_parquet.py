"""Parquet read with a bound on what it unpacks to: a small file can hold billions of equal values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keepwarm._errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

MOST_BYTES = 4 << 30
_BATCH_ROWS = 4_096  # texts are counted once they are unpacked, so not too many of them at once


def read_bounded(source: Any, name: str, most_bytes: int = MOST_BYTES) -> pa.Table:
    """The table in ``source``, a path or what pyarrow can read; ``name`` is what a problem calls it.

    Raises InputError: unpacked it is larger than ``most_bytes``; pyarrow's errors as they are.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(source) as file:
        told = file.metadata
        groups = [told.row_group(number) for number in range(told.num_row_groups)]
        values = sum(group.column(at).num_values for group in groups for at in range(told.num_columns))
        if values > most_bytes:  # each takes a byte or more; told before anything is unpacked
            raise _too_large(name, most_bytes)
        batches, left_bytes = [], most_bytes
        for batch in file.iter_batches(_BATCH_ROWS, use_threads=False):
            left_bytes -= batch.nbytes
            if left_bytes < 0:
                raise _too_large(name, most_bytes)
            batches.append(batch)
        return pa.Table.from_batches(batches, schema=file.schema_arrow)


def _too_large(name: str, most_bytes: int) -> InputError:
    return InputError(f"{name} unpacks to more than {most_bytes >> 20} MiB; take a part of the trace")
