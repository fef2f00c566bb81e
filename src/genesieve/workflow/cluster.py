"""A run on a Dask cluster: the client, and data as an array of blocks that the workers read themselves."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from genesieve.core.cells.streamed import streamed
from genesieve.io import RequestError, open_in_file

if TYPE_CHECKING:
    from anndata import AnnData

CONNECT_SECONDS = 30
# A cluster that is just starting has workers soon; after so long it is said that there are none, and later given up.
PATIENCE_SECONDS, WORKER_SECONDS = 5, 300
# Stored values of a block, at most: each takes some time to open.
BLOCK_VALUES = 1 << 24
# Blocks for every thread of the cluster, at least: where one is slow or lost, the others take over what it had left.
BLOCKS_A_THREAD = 4


@contextmanager
def connected(address: str | None) -> Iterator[None]:
    """The cluster at an address as the current one, or none."""
    if address is None:
        yield
        return
    if find_spec("distributed") is None:
        raise RequestError("a Dask cluster needs the packages dask and distributed: pip install dask distributed")
    from distributed import Client

    try:
        client = Client(address, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        raise RequestError(f"dask must be the address of a running scheduler, got {address!r}: {error}") from None
    with _quiet(), client, _telling_of_a_loss(address):
        _wait_for_workers(client, address)
        yield


@contextmanager
def _telling_of_a_loss(address: str) -> Iterator[None]:
    """One line where the scheduler is gone; a worker that is lost ends nothing."""
    from concurrent.futures import CancelledError

    from distributed.comm import CommClosedError

    try:
        yield
    except (CommClosedError, CancelledError):
        raise ConnectionError(f"the Dask scheduler at {address} must stay until the end, and is gone") from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Dask's loggers, which print tracebacks of every connection that is lost, in silence."""
    names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] == "distributed"]
    loggers = [logging.getLogger(name) for name in names]
    before = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.CRITICAL)
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def _wait_for_workers(client: Any, address: str) -> None:
    """Return when there is a worker, and say so where that takes long: Dask itself would wait forever in silence."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE_SECONDS)
    except TimeoutError:
        message = f"the Dask scheduler at {address} has no workers: waiting for one, {WORKER_SECONDS} s at most"
        warnings.warn(message, UserWarning, stacklevel=1)
        try:
            client.wait_for_workers(1, timeout=WORKER_SECONDS)
        except TimeoutError:
            raise RequestError(
                f"dask must be a scheduler with workers, got none at {address!r} within {WORKER_SECONDS} s"
            ) from None


def open_on_dask(path: Path, *, layer: str | None = None, use_raw: bool = False) -> AnnData:
    """An AnnData with X, or a layer, as a Dask array; the workers must find the file under the same path."""
    adata = open_in_file(path.resolve(), use_raw=use_raw)
    if layer is None and adata.X is not None:
        adata.X = _in_blocks(adata.X)
    elif layer in adata.layers:
        adata.layers[layer] = _in_blocks(adata.layers[layer])
    return adata


def _in_blocks(stored: Any) -> Any:
    """Values in a file as a Dask array."""
    from anndata.experimental import read_elem_lazy

    outside = streamed(stored)
    assert outside is not None, "open_in_file leaves values in the file"
    n_cells, n_genes = outside.shape
    size = _cells_a_block(n_cells, outside.data.size)
    return read_elem_lazy(stored.group if hasattr(stored, "group") else stored, chunks=(size, n_genes))


def _cells_a_block(n_cells: int, n_values: int) -> int:
    from distributed import get_client

    threads = sum(get_client().nthreads().values()) or 1
    n_blocks = max(n_values / BLOCK_VALUES, BLOCKS_A_THREAD * threads, 1)
    return max(round(n_cells / n_blocks), 1)
