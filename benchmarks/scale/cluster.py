"""A fit on a Dask cluster of this machine: seconds and bytes of a pass."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.harness.peers import Missing
from benchmarks.scale.fits import Course, fit, prepare, summary
from benchmarks.scale.plan import Fit, Plan

if TYPE_CHECKING:
    from anndata import AnnData


def take(job: Fit, plan: Plan, path: Path) -> dict[str, Any]:
    """A fit of some passes, with what workers and all processes together had sent after each of them."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise Missing("Dask is not installed: pip install genesieve[dask]") from None

    options = {"n_workers": job.workers, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        client.wait_for_workers(job.workers)
        adata = open_lazily(path, plan.block_cells)
        prepare(adata)
        client.run(count_messages)
        count_messages()
        course = Course(lambda: counters(client))
        fit(adata, plan.rank, plan.budget, callback=course, **job.fit_options)
    return {
        "shape": list(adata.shape),
        "workers": job.workers,
        "blocks": int(adata.X.numblocks[0]),
        "kept_genes": int(adata.var["genesieve_kept"].sum()),
        **summary(adata, course),
        "messages": per_pass(course, "messages"),
        "parcels": per_pass(course, "parcels"),
    }


def open_lazily(path: Path, block_cells: int) -> AnnData:
    """The cells as a Dask array of blocks, the tables in memory."""
    from anndata import AnnData
    from anndata.experimental import read_elem_lazy
    from anndata.io import read_elem

    group = _group(path)
    X = read_elem_lazy(group["X"], chunks=(block_cells, int(group["X"].attrs["shape"][1])))
    return AnnData(X, obs=read_elem(group["obs"]), var=read_elem(group["var"]))


def _group(path: Path) -> Any:
    if path.suffix == ".zarr":
        import zarr

        return zarr.open_group(path, mode="r")
    import h5py

    return h5py.File(path, "r")


def counters(client: Any) -> dict[str, int]:
    """Bytes that workers sent of their results, by their own count, and of all messages of all processes."""
    return {
        "parcels": sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values()),
        "messages": messages() + sum(client.run(messages).values()),
    }


def per_pass(course: Course, name: str) -> float:
    """Bytes of a pass, in the mean from the first iteration to the last."""
    first, last = course.steps[0], course.steps[-1]
    return (last[name] - first[name]) / (last["passes"] - first["passes"])


def count_messages() -> None:
    """Count the bytes of all messages that this process writes, from now on; the scheduler lives with the client."""
    from distributed.comm.tcp import TCP

    if not hasattr(TCP, "scale_bytes_written"):
        write = TCP.write

        async def counted(self: Any, *args: Any, **kwargs: Any) -> int:
            written = await write(self, *args, **kwargs)
            TCP.scale_bytes_written += written
            return written

        TCP.write = counted
    TCP.scale_bytes_written = 0


def messages() -> int:
    """Bytes of messages so far."""
    from distributed.comm.tcp import TCP

    return TCP.scale_bytes_written
