"""Cells in a Dask array: on the user's cluster, or without one on Dask's own threads.

Only what a pass needs goes out, once to every worker, and only sums come back. Tasks hold no state: H of a block
follows from W and its cells. So what a lost worker had done in a pass is done again elsewhere, and nothing else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, reduce
from typing import Any, TypeVar
from weakref import WeakSet

import numpy as np

from genesieve.core.cells.intact import check_intact
from genesieve.core.cells.sources import Source, Sums, Work, add, as_values, floating, rows_of, stacked
from genesieve.core.cells.threads import single_threaded_blas
from genesieve.core.cells.transform import Transform

# Sums that are added in one task. Small enough to free the memory of blocks soon, large enough to need few tasks.
FAN_IN = 8
# Sums go before blocks, or those of all blocks would wait in memory for the end of the pass.
SUMS_FIRST = 1
# Dask warns of large arguments, as they are most often meant to be data. W is one, and each worker needs it.
NO_WARNING = {"distributed.admin.large-graph-warning-threshold": "1TB"}

T = TypeVar("T")
Job = Callable[[Any, int], T]
"""From a block of X as it is stored, and its number, to whatever is wanted of it."""


class Remote(Source):
    """A Dask array of blocks of cells, dense or sparse, each with all genes."""

    holds_usages = False

    def __init__(self, X: Any, transform: Transform | None = None, *, n_jobs: int | None = None) -> None:
        self._X, self._transform, self._n_jobs = X, transform or Transform(), n_jobs
        self._edges = np.concatenate([[0], np.cumsum(X.chunks[0])])
        self.shape: tuple[int, int] = self._transform.shape((int(X.shape[0]), int(X.shape[1])))
        self.dtype: np.dtype[Any] = floating(X.dtype)
        if current_client() is not None:
            _make_room()

    def each(self, work: Work[T], H: Any = None) -> Iterator[T]:
        yield from self._results(self._job(work, H))

    def total(self, work: Work[Sums], H: Any = None) -> Sums:
        client = current_client()
        if client is not None:
            return _total_on(client, self._futures(client, self._job(work, H)))
        from dask import delayed

        parts = self._delayed(self._job(work, H))
        while len(parts) > 1:
            parts = [delayed(_sum)(parts[start : start + FAN_IN]) for start in range(0, len(parts), FAN_IN)]
        return self._compute(parts)[0]

    def rows(self, cells: np.ndarray) -> Any:
        blocks = np.flatnonzero(np.diff(np.searchsorted(cells, self._edges)))
        parts = self._results(partial(_pick, cells, self._edges), blocks)
        return as_values(stacked(parts), self._transform, self.dtype)

    def _job(self, work: Work[T], H: Any = None) -> Job[T]:
        """H, where there is one, goes to every worker as a whole: a pass of a fit has none."""
        return partial(_work_on, work, self._transform, self.dtype, H, self._edges)

    def _results(self, job: Job[T], blocks: np.ndarray | None = None) -> list[T]:
        client = current_client()
        if client is None:
            return self._compute(self._delayed(job, blocks))
        futures = self._futures(client, job, blocks)
        with _cancelled_on_error(client, futures):
            return client.gather(futures)

    def _futures(self, client: Any, job: Job[T], blocks: np.ndarray | None = None) -> list[Any]:
        """Tasks under way, one a block, in the order of the cells."""
        import dask
        from distributed import futures_of

        with dask.config.set(NO_WARNING):
            sent = client.submit(_same, job, pure=False)  # unlike scattered data, it can be had again if it is lost
        tasks = self._mapped(sent, blocks)
        with self._where_blocks_are(client, blocks):
            tasks = client.persist(tasks)
        futures = {future.key: future for future in futures_of(tasks)}
        return [futures[key] for (key,) in tasks.__dask_keys__()]

    def _delayed(self, job: Job[T], blocks: np.ndarray | None = None) -> list[Any]:
        from dask import delayed

        return list(self._mapped(delayed(job, traverse=False, pure=False), blocks).to_delayed().ravel())

    def _mapped(self, sent: Any, blocks: np.ndarray | None) -> Any:
        """One task a block, in which Dask reads it, too. What they share is a value of its own, not a part of each."""
        mapped = self._X.map_blocks(_do, sent, dtype=object, meta=np.empty((0, 0), dtype=object))
        return mapped if blocks is None else mapped.blocks[blocks]

    @contextmanager
    def _where_blocks_are(self, client: Any, blocks: np.ndarray | None) -> Iterator[None]:
        """Send the task of each block to the workers that hold it, if it is in memory.

        Dask by itself weighs how busy a worker is against what there is to move, and would move blocks.
        """
        import dask
        from distributed import futures_of

        keys = [key for (key,) in self._X.__dask_keys__()]
        if {future.key for future in futures_of(self._X)}.isdisjoint(keys):
            yield
            return
        holders = client.who_has(self._X)
        wanted = keys if blocks is None else [keys[block] for block in blocks]
        places = {number: holders.get(key, ()) for number, key in enumerate(wanted)}
        with dask.annotate(workers=partial(_place_of, places), allow_other_workers=True):
            yield

    def _compute(self, parts: list[Any]) -> Any:
        import dask

        threads = {} if self._n_jobs in (None, -1) else {"num_workers": self._n_jobs}
        with single_threaded_blas():  # on a cluster this is up to its workers, which Dask starts so, too
            return dask.compute(*parts, **threads)


def current_client() -> Any:
    """The client that Dask would compute on now, or None; genesieve never starts one."""
    from dask.base import get_scheduler

    client = getattr(get_scheduler(), "__self__", None)
    return client if hasattr(client, "who_has") else None


def _make_room() -> None:
    """In a task of a worker, leave its threads to the tasks of passes: where it has one, these would wait for ever."""
    from distributed import secede, worker
    from distributed.threadpoolexecutor import thread_state

    if hasattr(worker.thread_state, "execution_state") and getattr(thread_state, "proceed", False):
        secede()


def _total_on(client: Any, parts: list[Any]) -> Sums:
    """Add up sums where they are, then those of the workers: what moves does not grow with the number of blocks."""
    from distributed import as_completed

    piles: dict[str, list[Any]] = defaultdict(list)
    with _cancelled_on_error(client, parts) as futures:
        finished = as_completed(parts, loop=client.loop)
        parts.clear()  # whatever has a name here stays in the memory of a worker
        for batch in finished.batches():
            for worker, part in _located(client, batch):
                piles[worker].append(part)
                if len(piles[worker]) == FAN_IN:
                    finished.add(_sum_of(client, piles.pop(worker), futures, worker))
            del batch, part
        sums = [_sum_of(client, pile, futures, worker) for worker, pile in piles.items()]
        while len(sums) > 1:
            sums = [_sum_of(client, sums[start : start + FAN_IN], futures) for start in range(0, len(sums), FAN_IN)]
        return sums[0].result()


def _located(client: Any, batch: list[Any]) -> Iterator[tuple[str, Any]]:
    """Finished tasks and the workers that hold what they returned; the first that failed raises its error."""
    holders = client.who_has(batch)
    for part in batch:
        if part.status in ("error", "cancelled"):
            part.result()
        yield next(iter(holders.get(part.key, ())), ""), part  # none, if it was lost in the meantime


def _sum_of(client: Any, parts: list[Any], futures: WeakSet[Any], worker: str = "") -> Any:
    """The task that adds up parts, on a worker if that is still there."""
    where = {"workers": [worker], "allow_other_workers": True} if worker else {}
    future = client.submit(_sum, parts, pure=False, priority=SUMS_FIRST, **where)
    futures.add(future)
    return future


@contextmanager
def _cancelled_on_error(client: Any, tasks: list[Any]) -> Iterator[WeakSet[Any]]:
    """Stop all that is left of a pass where it fails or is interrupted: the traceback would hold on to it.

    Yields the futures to stop, a set that does not hold on to them itself.
    """
    futures = WeakSet(tasks)
    try:
        yield futures
    except BaseException:
        client.cancel(list(futures))
        raise


def _place_of(places: dict[int, tuple[str, ...]], key: Any) -> list[str]:
    """Where the task of this key goes, by its number: Dask may change its name."""
    return list(places.get(key[1], ())) if isinstance(key, tuple) else []


def _do(block: Any, job: Job[T], block_id: tuple[int, ...]) -> T:
    return job(block, block_id[0])


def _work_on(
    work: Work[T],
    transform: Transform,
    dtype: np.dtype[Any],
    H: Any,
    edges: np.ndarray,
    block: Any,
    number: int,
) -> T:
    check_intact(block)
    return work(as_values(block, transform, dtype), rows_of(H, slice(*edges[number : number + 2])))


def _pick(cells: np.ndarray, edges: np.ndarray, block: Any, number: int) -> Any:
    check_intact(block)
    first, last = np.searchsorted(cells, edges[number : number + 2])
    return block[cells[first:last] - edges[number]]


def _sum(parts: list[Sums]) -> Sums:
    return reduce(add, parts)


def _same(value: T) -> T:
    return value
