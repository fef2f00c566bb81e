"""Cells in a Dask array: on the user's cluster, or without one on Dask's own threads.

Only what a pass needs goes out, once to every worker, and only sums come back. Tasks hold no state: H of a block
follows from W and its cells. So what a lost worker had done is done again elsewhere, and nothing else.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import reduce
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from genesieve.core.sources import Sums, Work, add, as_values, floating, single_threaded_blas
from genesieve.core.transform import Transform

# Sums that are added in one task. Small enough to free the memory of blocks soon, large enough to need few tasks.
FAN_IN = 8

T = TypeVar("T")


class Remote:
    """A Dask array of blocks of cells, dense or sparse, each with all genes."""

    holds_usages = False

    def __init__(self, X: Any, transform: Transform | None = None, *, n_jobs: int | None = None) -> None:
        if len(X.chunks[1]) != 1:
            raise ValueError(f"X must have all genes in one chunk, got {len(X.chunks[1])}: X.rechunk({{1: -1}})")
        if any(np.isnan(size) for size in X.chunks[0]):
            raise ValueError("X must have chunks of known sizes, got unknown ones: X.compute_chunk_sizes()")
        self._transform = transform or Transform()
        self._n_jobs = n_jobs
        self._edges = np.concatenate([[0], np.cumsum(X.chunks[0])])
        self._blocks = list(X.to_delayed().ravel())
        self.shape: tuple[int, int] = self._transform.shape((int(X.shape[0]), int(X.shape[1])))
        self.dtype: np.dtype[Any] = floating(X.dtype)

    def each(self, work: Work[T], H: np.ndarray | None = None) -> Iterator[T]:
        assert H is None, "H stays with its blocks"
        client = current_client()
        parts = self._parts(work, client)
        if client is None:
            yield from self._compute(parts)
        else:
            yield from client.gather(client.compute(parts, pure=False))

    def total(self, work: Work[Sums]) -> Sums:
        client = current_client()
        parts = self._parts(work, client)
        if client is not None:
            return _total_on(client, client.compute(parts, pure=False))
        from dask import delayed

        while len(parts) > 1:
            parts = [delayed(_sum)(parts[start : start + FAN_IN]) for start in range(0, len(parts), FAN_IN)]
        return self._compute(parts)[0]

    def rows(self, cells: np.ndarray) -> Any:
        from dask import delayed

        bounds = np.searchsorted(cells, self._edges)
        picked = [
            delayed(_pick)(block, cells[first:last] - start)
            for block, start, first, last in zip(self._blocks, self._edges[:-1], bounds[:-1], bounds[1:], strict=True)
            if last > first
        ]
        client = current_client()
        parts = self._compute(picked) if client is None else client.gather(client.compute(picked, pure=False))
        whole = sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)
        return as_values(whole, self._transform, self.dtype)

    def _parts(self, work: Work[T], client: Any) -> list[Any]:
        """One task a block. What they share is a value of its own, so that each worker gets it once."""
        from dask import delayed

        shared = (work, self._transform, self.dtype)
        sent = delayed(shared, traverse=False) if client is None else client.submit(_same, shared, pure=False)
        return [delayed(_apply)(block, sent) for block in self._blocks]

    def _compute(self, parts: list[Any]) -> Any:
        import dask

        return dask.compute(*parts, **({} if self._n_jobs in (None, -1) else {"num_workers": self._n_jobs}))


def current_client() -> Any:
    """The user's Dask client, or None; genesieve never starts one."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return distributed.get_client()
    except ValueError:
        return None


def _total_on(client: Any, parts: list[Any]) -> Sums:
    """Add up sums where they are, then those of the workers: what moves does not grow with the number of blocks."""
    from distributed import as_completed

    piles: dict[str, list[Any]] = defaultdict(list)
    finished = as_completed(parts)
    for batch in finished.batches():
        holders = client.who_has(batch)
        for part in batch:
            part.result  # noqa: B018
            worker = next(iter(holders.get(part.key, ())), "")
            piles[worker].append(part)
            if len(piles[worker]) == FAN_IN:
                where = {"workers": [worker], "allow_other_workers": True} if worker else {}
                finished.add(client.submit(_sum, piles.pop(worker), pure=False, **where))
    return client.submit(_sum, [part for pile in piles.values() for part in pile], pure=False).result()


def _apply(block: Any, shared: tuple[Work[T], Transform, np.dtype[Any]]) -> T:
    work, transform, dtype = shared
    with single_threaded_blas():
        return work(as_values(block, transform, dtype), None)


def _sum(parts: list[Sums]) -> Sums:
    return reduce(add, parts)


def _same(value: T) -> T:
    return value


def _pick(block: Any, cells: np.ndarray) -> Any:
    return block[cells]
