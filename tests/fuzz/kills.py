"""Runs that are killed at random moments: what was there stays whole, what is new is whole or absent.

``python -m tests.fuzz.kills --kills 200``: each kill is of a `genesieve run` in a process forked after the imports (one
in eight in a process of its own), over an earlier result or none, with or without a checkpoint, on a disk that is full
or not, one in ten on a Dask cluster. Half of those with a checkpoint are killed once there is one, the others at any
moment. The next run has to sweep what the dead left, and to end as one that was never killed.

A disk is full where the machine lets us mount a small one, and a ballast fills it; elsewhere, and in half of the cases,
no file may grow beyond a size.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import anndata as ad
import numpy as np
import pandas as pd

from genesieve import workflow

SIGNALS = (signal.SIGKILL,) * 6 + (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT)
OWN_PROCESS = 8  # one kill in so many is of a command in a process of its own
ON_DASK = 10  # and one in so many of a run on a cluster
RESTARTS = 5  # of a fit, so that it takes about as long as all else of a run
DISK = 24 << 20  # bytes of the small disk
LIKE_EVERY_RUN = ("run.json", "result.h5ad", "report.html", "arrays.npz")  # times and places are in these


class LostError(AssertionError):
    """What must not happen to results."""


class Place:
    """A folder with small data, where runs are started and killed."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.out, self.data = folder, folder / "out", folder / "data.h5ad"
        self.checkpoint, self.ballast = folder / "fit.npz", folder / "ballast"
        rng = np.random.default_rng(0)
        counts = rng.poisson(rng.gamma(0.5, 1.0, (60, 3)) @ rng.gamma(0.5, 2.0, (3, 30)) + 0.05)
        ad.AnnData(counts.astype(np.float32)).write_h5ad(self.data)
        workflow.run(
            self.data, self.folder.parent / "first", rank=3, genes=12, min_cells=2
        )  # what is forked has it all
        self.start([], own=False).ended()
        began = time.perf_counter()
        self.start(["--force"], own=False).ended()
        self.seconds = time.perf_counter() - began
        self.tables, self.objective = self.content(), self.record()["fit"]["objective"]
        self.numbers = self.read_tables()

    def start(self, options: list[str], *, own: bool, seed: int = 0, full: int | None = None) -> Child:
        """A run, in a process of its own or in a forked one; ``full`` bytes are the most that a file may have."""
        line = ["run", str(self.data), "-r", "3", "-k", "12", "--min-cells", "2", "--seed", str(seed), "--no-figures"]
        line += ["--restarts", str(RESTARTS), "-q", "-o", str(self.out), *options]
        return Child(line, self.folder.parent / "said.txt", own=own, full=full)

    def record(self) -> dict:
        """What run.json says."""
        return json.loads((self.out / "run.json").read_text())

    def content(self, folder: Path | None = None) -> dict[str, str]:
        """Tables of a result, as digests by name."""
        folder = folder or self.out
        every = (file for file in sorted(folder.rglob("*")) if file.is_file() and file.name not in LIKE_EVERY_RUN)
        return {str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest() for file in every}

    def read_tables(self) -> dict[str, pd.DataFrame]:
        """Tables of the result by name."""
        return {file.name: pd.read_csv(file) for file in sorted(self.out.glob("*.csv"))}

    def is_expected(self, dask: bool) -> bool:
        """Whether the tables are those of a run that was left alone; of one on a cluster, but for rounding."""
        if not dask:
            return self.content() == self.tables
        found = self.read_tables()
        for name, table in self.numbers.items():
            pd.testing.assert_frame_equal(found[name], table, check_dtype=False, rtol=1e-3, atol=1e-3)
        return found.keys() == self.numbers.keys()

    def check_whole(self, folder: Path, about: str) -> None:
        """Raise unless a folder holds all that its record lists."""
        record = json.loads((folder / "run.json").read_text())
        missing = [file for file in record["files"] if not (folder / file).is_file()]
        if missing or record["status"] not in ("complete", "stopped early"):
            raise LostError(f"{about}: {folder.name} lacks {missing}, {record['status']}")
        ad.read_h5ad(folder / "result.h5ad")

    def fill(self, room: int) -> None:
        """Leave so many bytes free on the disk."""
        state = os.statvfs(self.folder)
        with self.ballast.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(state.f_bavail * state.f_frsize - room, 1))

    def strays(self) -> list[str]:
        """What is there besides data, result and checkpoint."""
        known = {"data.h5ad", "out", "fit.npz", "ballast"}
        return sorted(file.name for file in self.folder.iterdir() if file.name not in known)


class Child:
    """A started command."""

    def __init__(self, line: list[str], said: Path, *, own: bool, full: int | None) -> None:
        self.said, self.process = said, None
        if own:
            program = [sys.executable, "-m", "genesieve", *line]
            limit = None if full is None else lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (full, full))
            with said.open("w") as file:
                self.process = subprocess.Popen(program, stdout=file, stderr=file, preexec_fn=limit)
            self.pid = self.process.pid
            return
        self.pid = os.fork()
        if self.pid == 0:
            _become(line, said, full)

    def send(self, number: int) -> None:
        """Send a signal."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def wait(self) -> int:
        """The exit code, negative for a signal."""
        if self.process is not None:
            return self.process.wait(timeout=600)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def ended(self) -> None:
        """Wait for its good end."""
        code = self.wait()
        if code:
            raise LostError(f"a run that was left alone ended with {code}: {self.said.read_text()}")


def _become(line: list[str], said: Path, full: int | None) -> None:
    """Be the command, then end."""
    code: object = 1
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        file = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(file, 2)
        if full is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (full, full))
        from genesieve.cli import main

        sys.argv = ["genesieve", *line]
        main()
    except SystemExit as end:
        code = end.code or 0
    finally:
        os._exit(code if isinstance(code, int) else 1)


@contextlib.contextmanager
def cluster() -> Iterator[str]:
    """The address of a small Dask cluster in a process of its own."""
    options = "n_workers=1, threads_per_worker=1, processes=False, protocol='tcp://', dashboard_address=None"
    program = f"import distributed, sys; cluster = distributed.LocalCluster({options})"
    program += "; print(cluster.scheduler_address, flush=True); sys.stdin.read()"
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.wait(timeout=60)


class Plan(NamedTuple):
    """How a run is started, and ended."""

    had: bool  # an earlier result
    checkpoint: bool
    room: int | None  # bytes free on the disk, or that a file may have
    small_disk: bool
    dask: bool
    own: bool  # in a process of its own
    number: int  # of the signal
    moment: float  # from 0 to 1
    once_kept: bool  # killed after the first checkpoint


def draw(number: int, *, mounted: bool, with_dask: bool) -> Plan:
    """The plan of a seed."""
    rng = np.random.default_rng([number, 43])
    had, checkpoint = bool(rng.random() < 0.7), bool(rng.random() < 0.6)
    room = int(rng.integers(1, 60_000)) if rng.random() < 0.25 else None
    small_disk = room is not None and mounted and bool(rng.random() < 0.5)
    room = 8 * room if room is not None and small_disk else room  # the files of a result together
    dask = with_dask and number % ON_DASK == 0
    own = dask or number % OWN_PROCESS == 0
    once_kept = checkpoint and bool(rng.random() < 0.5)
    return Plan(had, checkpoint, room, small_disk, dask, own, int(rng.choice(SIGNALS)), float(rng.random()), once_kept)


def kill_one(place: Place, plan: Plan, address: str | None = None) -> str:
    """Start a run, end it at a random moment, and see what is there; then run again to the end."""
    if not plan.had:
        shutil.rmtree(place.out, ignore_errors=True)
    elif not place.out.exists():
        place.start([], own=False).ended()
    before, token = (place.content(), place.record()["started"]) if plan.had else ({}, "")
    kept = ["--checkpoint", str(place.checkpoint)] if plan.checkpoint else []
    code = _ended_early(place, plan, ["--force"] * plan.had + kept + ["--dask", str(address)] * plan.dask)
    if code < 0 and -code != plan.number:
        raise LostError(f"{plan}: it crashed by signal {-code}")
    left = judge(place, plan, before, token, f"{plan}: {code}")
    going_on = ", with a checkpoint" * place.checkpoint.exists()
    place.start(["--force", *kept], own=False).ended()
    if place.strays() or not place.is_expected(plan.dask and plan.checkpoint):
        raise LostError(f"{plan}: {code}; the next run left {place.strays()}, or other tables")
    if not np.isclose(place.record()["fit"]["objective"], place.objective, rtol=1e-6 if plan.dask else 1e-9):
        raise LostError(f"{plan}: {code}; another objective, {place.record()['fit']['objective']}")
    place.checkpoint.unlink(missing_ok=True)
    return f"{'killed' if code < 0 else f'ended with {code}'}, {left}{going_on}"


def _ended_early(place: Place, plan: Plan, options: list[str]) -> int:
    """Run, send the signal, and wait for the end; the exit code."""
    if plan.small_disk:
        place.fill(plan.room or 0)
    child = place.start(options, own=plan.own, full=None if plan.small_disk else plan.room)
    began, most = time.perf_counter(), 1.2 * place.seconds + (4.0 if plan.own else 0.0)
    if plan.once_kept:
        while not place.checkpoint.exists() and time.perf_counter() - began < most:
            time.sleep(0.002)
        most = place.seconds / 2
    time.sleep(plan.moment * most)
    child.send(plan.number)
    code = child.wait()
    place.ballast.unlink(missing_ok=True)
    return code


def judge(place: Place, plan: Plan, before: dict[str, str], token: str, about: str) -> str:
    """What a run that was ended left behind."""
    seen = [name for name in place.strays() if not name.startswith((".out.", ".fit.npz."))]
    if seen:
        raise LostError(f"{about}: left {seen}")
    if place.out.exists():
        place.check_whole(place.out, about)
        if plan.had and place.record()["started"] == token and place.content() == before:
            return "the earlier result"
        if place.record()["status"] == "complete" and not place.is_expected(plan.dask):
            raise LostError(f"{about}: other tables")
        return "a new result"
    if plan.had:  # between two renames: the next run brings it back, or replaces it
        olds = [file for file in place.folder.iterdir() if file.name.endswith(".old")]
        if len(olds) != 1 or place.content(olds[0]) != before:
            raise LostError(f"{about}: the earlier result is gone")
        return "the earlier result, aside"
    return "nothing"


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[bool]:
    """A small disk in place of a folder; False where we may not mount one."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "none", str(folder)]
    mounted = sys.platform == "linux" and not subprocess.run(command, check=False, capture_output=True).returncode
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", str(folder)], check=True)


def kill_many(count: int, first: int, *, with_dask: bool) -> Counter[str]:
    """Kills with the seeds from ``first`` on; how they ended."""
    ends: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        work = Path(folder) / "work"
        work.mkdir()
        mounted = stack.enter_context(small_disk(work))
        place = Place(work)
        address = stack.enter_context(cluster()) if with_dask else None
        for number in range(first, first + count):
            plan = draw(number, mounted=mounted, with_dask=with_dask)
            ends[kill_one(place, plan, address)] += 1
            kinds = {"full": plan.room is not None, "small disk": plan.small_disk, "on Dask": plan.dask}
            ends.update(f"of them {kind}" for kind, so in kinds.items() if so)
            if sys.stdout.isatty() or number % 20 == 19:
                print(number + 1 - first, dict(ends), flush=True)
    return ends


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", type=Path, help="a file to add the counts to")
    asked = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    found = kill_many(asked.kills, asked.seed, with_dask=True)  # the first fault ends it
    for how, times in found.most_common():
        print(f"{times:5d}  {how}")
    if asked.log is not None:
        line = {"subject": "kills", "first": asked.seed, "cases": asked.kills, "faults": 0, "ends": found}
        with asked.log.open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")
