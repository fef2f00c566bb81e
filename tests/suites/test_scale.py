from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

import anndata
import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import normalized_mutual_info_score

from material import shared_file

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # the suite is run from a checkout, it is not installed

from benchmarks.harness import job, meter  # noqa: E402
from benchmarks.harness.goals import Row  # noqa: E402
from benchmarks.harness.peers import Missing  # noqa: E402
from benchmarks.harness.results import Results  # noqa: E402
from benchmarks.scale import atlases, draw, generate, goals, plots, store  # noqa: E402
from benchmarks.scale.__main__ import SUITE, scale_job  # noqa: E402
from benchmarks.scale.fits import Course  # noqa: E402
from benchmarks.scale.generate import write_atlas  # noqa: E402
from benchmarks.scale.job import take  # noqa: E402
from benchmarks.scale.plan import PLAN, QUICK, Fit, fits, passes_fit  # noqa: E402
from benchmarks.scale.real import N_NEIGHBOURS, Real, real_cells, simulated_cells  # noqa: E402
from benchmarks.scale.results import line_through, measured, median  # noqa: E402

from genesieve.core.solvers import Progress  # noqa: E402

N_CELLS, N_GENES, DENSITY = 300, 700, 0.1


@pytest.fixture(scope="module")
def real() -> Real:
    """Fewer genes than asked for, as with the real ones."""
    return simulated_cells(400, 500)


@pytest.fixture
def write(tmp_path, real, monkeypatch):
    """Write a small atlas in several blocks and chunks, and read it."""
    monkeypatch.setattr(draw, "CELLS_AT_ONCE", 128)
    monkeypatch.setattr(draw, "PILOT_CELLS", 128)
    monkeypatch.setattr(store, "VALUES_A_CHUNK", 4096)
    monkeypatch.setattr(store, "VALUES_A_PACKED_CHUNK", 4096)

    def written(name: str = "atlas.h5ad", n_cells: int = N_CELLS, n_genes: int = N_GENES, **options) -> anndata.AnnData:
        path = tmp_path / name
        write_atlas(path, n_cells, n_genes, **{"density": DENSITY, "real": real, **options})
        return anndata.io.read_zarr(path) if path.suffix == ".zarr" else anndata.read_h5ad(path)

    return written


def same(a: anndata.AnnData, b: anndata.AnnData) -> bool:
    tables = a.obs.equals(b.obs) and a.var_names.equals(b.var_names)
    return bool(tables and all(np.array_equal(getattr(a.X, part), getattr(b.X, part)) for part in PARTS))


PARTS = ("data", "indices", "indptr")


def test_a_file_holds_sparse_raw_counts(write, tmp_path):
    adata = write()
    assert adata.shape == (N_CELLS, N_GENES)
    assert sparse.issparse(adata.X)
    assert adata.X.format == "csr"
    assert (adata.X.dtype, adata.X.indices.dtype) == (np.float32, np.int32)
    assert adata.X.has_canonical_format
    assert (adata.X.data >= 1).all()
    assert (adata.X.data == np.round(adata.X.data)).all()
    assert adata.obs_names.is_unique
    assert adata.var_names.is_unique
    assert adata.obs[generate.TYPE].dtype == "category"
    assert [path.name for path in tmp_path.iterdir()] == ["atlas.h5ad"]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("packed.h5ad", {"compression": "gzip"}),
        ("packed.h5ad", {"compression": "lzf"}),
        ("atlas.zarr", {"zarr_format": 2}),
        ("atlas.zarr", {"zarr_format": 3}),
    ],
)
def test_every_format_holds_the_same_cells(write, name, options):
    if name.endswith(".zarr"):
        pytest.importorskip("zarr", minversion="3")
    assert same(write(name, **options), write())


def test_a_file_opens_backed(write, tmp_path):
    X = write().X
    backed = anndata.read_h5ad(tmp_path / "atlas.h5ad", backed="r")
    assert (backed.X[100:200] != X[100:200]).nnz == 0
    backed.file.close()


@pytest.mark.parametrize("name", ["atlas.h5ad", "atlas.zarr"])
@pytest.mark.filterwarnings("ignore")
def test_a_file_opens_lazily(write, tmp_path, name):
    for package in ("dask", "xarray", "zarr"):
        pytest.importorskip(package)
    X = write(name).X
    lazy = anndata.experimental.read_lazy(tmp_path / name)
    assert (lazy.X[100:200].compute() != X[100:200]).nnz == 0


@pytest.mark.parametrize("density", [0.01, 0.1, 0.4])
@pytest.mark.parametrize("n_genes", [300, 1700], ids=["fewer genes than real", "more"])
def test_density_is_as_asked_for(write, density, n_genes):
    adata = write(n_genes=n_genes, density=density)
    assert adata.n_vars == n_genes
    assert adata.X.nnz / np.prod(adata.shape) == pytest.approx(density, rel=0.1)


def test_the_seed_decides(write):
    first = write(seed=1)
    assert same(first, write(seed=1))
    assert not same(first, write(seed=2))


def test_fewer_cells_are_the_first_of_more(write):
    assert same(write(n_cells=170), write(n_cells=400)[:170].copy())


def test_no_two_cells_are_the_same(write):
    X = write(n_cells=1000).X.toarray()
    assert len(np.unique(X, axis=0)) == len(X)


def test_cells_are_nearest_to_their_own_type(write, real):
    adata = write(n_cells=500)
    copies = np.char.find(adata.var_names.to_numpy(str), "-copy-") >= 0
    assert copies.sum() == N_GENES - real.counts.shape[1]
    names = adata.obs[generate.TYPE].cat.codes.to_numpy()
    profiles = real.counts.toarray()
    centres = np.stack([profiles[real.types == kind].mean(axis=0) for kind in range(real.types.max() + 1)])
    X = adata.X.toarray()[:, ~copies]
    likeness = np.corrcoef(np.sqrt(X), np.sqrt(centres))[: len(X), len(X) :]  # (cells, types)
    assert normalized_mutual_info_score(names, likeness.argmax(axis=1)) > 0.8


def test_a_gene_and_its_copy_are_counted_in_different_cells(write):
    adata = write()
    copy = next(name for name in adata.var_names if name.endswith("-copy-1"))
    gene = copy.removesuffix("-copy-1")
    assert (adata[:, copy].X != adata[:, gene].X).nnz > 0


def test_thinning_is_binomial():
    kept, count, n = 0.3, 150, 4000  # more than the table covers
    counts = sparse.csr_array(np.full((1, 1), count, np.int32))
    near = np.zeros((1, N_NEIGHBOURS), np.int32)
    real = Real(counts, np.array(["gene"]), np.zeros(1, int), near, "one cell")
    recipe = draw.Recipe(np.zeros((1, 1), np.int32), 1, kept)
    rngs = np.random.default_rng(0).spawn(n // draw.CELLS_AT_ONCE)
    drawn = [draw.draw(real, recipe, np.zeros(draw.CELLS_AT_ONCE, int), rng).values for rng in rngs]
    values = np.concatenate(drawn)
    assert values.mean() == pytest.approx(count * kept, rel=0.01)
    assert values.var() == pytest.approx(count * kept * (1 - kept), rel=0.1)


def test_a_broken_run_leaves_what_was_there(write, tmp_path, monkeypatch):
    before = write()

    def broken(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(draw, "_in_order", broken)
    with pytest.raises(OSError, match="no space"):
        write(seed=5)
    assert [path.name for path in tmp_path.iterdir()] == ["atlas.h5ad"]
    assert same(before, anndata.read_h5ad(tmp_path / "atlas.h5ad"))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("atlas.csv", {}, r"path must end in \.h5ad or \.zarr, got 'atlas\.csv'"),
        ("atlas.h5ad", {"n_cells": 0}, "n_cells and n_genes must be at least 1, got 0 and 700"),
        ("atlas.h5ad", {"density": 1.0}, "density must be between 0 and 1, got 1.0"),
        ("atlas.h5ad", {"density": 0.99}, r"density must be at most 0\.\d+ .*, got 0.99"),
        ("atlas.h5ad", {"zarr_format": 1}, "zarr_format must be 2 or 3, got 1"),
        ("atlas.zarr", {"compression": "gzip"}, "compression must be None for zarr, which has its own, got 'gzip'"),
    ],
)
def test_what_cannot_be_written(write, monkeypatch, name, options, message):
    monkeypatch.setattr(draw, "MOST_PARTS", 4)
    with pytest.raises(ValueError, match=message):
        write(name, **options)


def test_the_command_says_what_it_wrote(tmp_path, real, monkeypatch, capsys):
    monkeypatch.setattr(generate, "real_cells", lambda: real)
    generate.main([str(tmp_path / "atlas.h5ad"), "--cells", "50", "--genes", "60", "--density", "0.1"])
    assert "50 cells x 60 genes" in capsys.readouterr().out


def test_cells_look_like_the_real_ones(tmp_path):
    """Of the real cells and genes: how their sizes spread, and which genes are seen often."""
    shared_file("data", "bmmc_aml_10x.h5ad")
    counts = real_cells().counts
    n_real = counts.shape[1]
    write_atlas(tmp_path / "atlas.h5ad", 500, n_real, density=counts.nnz / np.prod(counts.shape))
    X = anndata.read_h5ad(tmp_path / "atlas.h5ad").X
    assert X.nnz / np.prod(X.shape) == pytest.approx(counts.nnz / np.prod(counts.shape), rel=0.1)
    sizes, real_sizes = np.diff(X.indptr), np.diff(counts.indptr)
    quartiles = [25, 50, 75]
    np.testing.assert_allclose(np.percentile(sizes, quartiles), np.percentile(real_sizes, quartiles), rtol=0.25)
    seen, really_seen = (np.bincount(each.indices, minlength=n_real) / each.shape[0] for each in (X, counts))
    assert np.corrcoef(seen, really_seen)[0, 1] > 0.95


# ------------------------------------------------------------------------------------------------ records and goals


def fit_record(fit: Fit, **fields):
    """What a fit may have left, whose seconds are the thousands of its cells."""
    steps = [{"passes": n, "seconds": float(n), "resident": 10**9, "peak": 10**9} for n in range(1, PLAN.passes + 1)]
    base = {"quick": False, "threads": 2, "load": 0.0, "versions": {}, "rank": PLAN.rank, "fetched": 0}
    base |= {
        "open": 0.0,
        "prepare": 0.0,
        "fit": fit.cells / 1000,
        "fit_cpu": 1.0,
        "start": 1.0,
        "pass": 2.0,
        "passes": 5,
        "peak": 2e9,
    }
    base |= {"objective": 5.0, "genes": ["a", "b"], "steps": steps, "blocks": 4, "kept_genes": 100}
    return {**asdict(fit), "job": fit.name, **base, "messages": 1e6, "parcels": 1e5, **fields}


def results_of(*changes, without: str = "nothing") -> Results:
    """Records of all jobs; each change says to which of them it is made, and what to."""
    records = {fit.name: fit_record(fit) for fit in fits(PLAN, "h5ad") if without not in fit.name}
    for start, fields in changes:
        for name in records:
            if name.startswith(start):
                records[name] |= fields
    return Results(records)


def rows(results: Results) -> list[Row]:
    return [goal.row(results, "h5ad") for goal in goals.GOALS]


def verdicts(results: Results) -> list[str]:
    return [row.verdict for row in rows(results)]


TIME, MEMORY, SLOWER, SAME, WORKERS, BYTES, FAULTS, FLAT = range(8)


def test_every_goal_can_be_met():
    results = results_of(("growth/1300k", {"fit": 1000.0}), ("dask/100k-h5ad-2", {"pass": 1.0}))
    met = verdicts(results)
    assert all(verdict.startswith("met") for number, verdict in enumerate(met) if number != FAULTS), met


@pytest.mark.parametrize(
    ("goal", "change"),
    [
        (TIME, ("growth/1300k", {"fit": 1201.0})),
        (MEMORY, ("growth/1300k", {"peak": 3.01e9})),
        (SLOWER, ("disk/zarr-file", {"fit": 2.51 * PLAN.disk_cells / 1000})),
        (SLOWER, ("disk/h5ad-file", {"prepare": 1.51 * PLAN.disk_cells / 1000})),
        (SAME, ("disk/zarr-file-1", {"objective": 5.0 * (1 + 2e-6)})),
        (SAME, ("disk/h5ad-file-2", {"genes": ["a", "c"]})),
        (WORKERS, ("dask/100k-h5ad-2", {"pass": 2.0 / 1.59})),
        (BYTES, ("dask/100k-h5ad-2", {"messages": 1.26e6})),
        (FLAT, ("passes", {"steps": [{"passes": n, "resident": 10**9 + n * 2e6} for n in range(1, 21)]})),
    ],
)
def test_every_goal_can_be_missed(goal, change):
    assert verdicts(results_of(change))[goal].startswith("missed")


def test_memory_of_too_few_passes_is_no_verdict():
    change = ("passes", {"steps": [{"passes": n, "resident": 10**9} for n in range(1, 10)]})
    assert verdicts(results_of(change))[FLAT] == "only 9 passes"


def test_goals_without_measurements_say_so():
    assert {row.measured for number, row in enumerate(rows(Results({}))) if number != FAULTS} == {"not measured"}


def test_a_failed_job_is_no_measurement():
    assert verdicts(results_of(("disk/zarr-file", {"failed": "no space"})))[SLOWER] == "-"


def test_a_size_that_was_not_run_is_predicted_by_the_line_through_smaller_ones():
    results = results_of(without="1300k")
    assert rows(results)[TIME].measured.startswith("21.7 minutes by the line through 4 sizes")
    assert verdicts(results)[TIME].startswith("by the line: missed")


def test_the_line_is_that_of_least_squares_and_leaves_out_what_it_predicts():
    records = measured(results_of(("growth/1300k", {"fit": 5.0})), "growth")
    line = line_through(records, lambda record: 3.0 + record["fit"], 1_300_000)
    assert line.cells == (50_000, 100_000, 200_000, 400_000)
    assert line(1_300_000) == pytest.approx(1303.0)
    assert line_through(records[:3], lambda record: record["fit"], 1_300_000) is None


def test_medians_leave_out_what_was_not_measured():
    assert median([{"pass": None}, {"pass": 2.0}, {"pass": 4.0}], "pass") == 3.0
    assert np.isnan(median([{"pass": None}], "pass"))


def test_the_tests_of_faults_are_there():
    assert any("workers_killed" in name for name in goals.fault_tests())
    assert any("client_was_killed" in name for name in goals.fault_tests())


def test_seconds_of_start_and_pass_come_from_the_course(monkeypatch):
    clock = iter([0.0, 7.0, 7.5, 8.5, 8.5, 12.5, 12.5])  # the start; then the end of an iteration and of looking
    monkeypatch.setattr("benchmarks.scale.fits.time.perf_counter", lambda: next(clock))
    course = Course()
    for iteration, passes in ((1, 2), (2, 3), (3, 5)):
        course(Progress(iteration, 1.0, passes, 0.0))
    assert course.pass_seconds() == pytest.approx(1.5)  # of 1 s, and of 4 s for two
    assert course.start_seconds() == pytest.approx(4.0)
    del course.steps[1:]
    assert (course.pass_seconds(), course.start_seconds()) == (None, None)


def test_pictures_are_drawn_of_what_there_is(tmp_path):
    assert plots.draw_all(results_of(without="passes"), "h5ad", tmp_path) == [plots.GROWTH]
    assert plots.draw_all(results_of(without="growth"), "h5ad", tmp_path) == [plots.PASSES]


# ------------------------------------------------------------------------------------------------ running jobs


def test_peak_memory_is_that_of_the_process_alone():
    ballast = np.ones(2**26)  # 512 MiB
    code = "from benchmarks.harness import meter; print(meter.peak())"
    child = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert int(child.stdout) < ballast.nbytes / 2 < meter.peak()


def test_an_atlas_is_made_once_and_not_where_there_is_no_room(tmp_path, real, monkeypatch):
    monkeypatch.setattr(generate, "real_cells", lambda: real)
    path = atlases.path_of(tmp_path, 100, 60, "h5ad")
    assert path.name == "atlas-0.1k-60-genes.h5ad"
    atlases.make(path, 100, 60)
    written = path.stat().st_mtime_ns
    atlases.make(path, 100, 60)
    assert path.stat().st_mtime_ns == written
    path = atlases.path_of(tmp_path, 10**12, 28_000, "zarr")
    assert path.name == "atlas-1e+09k.zarr"
    with pytest.raises(Missing, match="GB on disk"):
        atlases.make(path, 10**12, 28_000)
    assert not path.exists()


@pytest.mark.filterwarnings("ignore")
def test_a_file_of_another_size_is_refused(tmp_path, real, monkeypatch):
    path = tmp_path / "atlas.h5ad"
    write_atlas(path, 2100, 60, density=DENSITY, real=real)
    plan = replace(QUICK, n_genes=60, rank=2, budget=20)
    monkeypatch.setattr("benchmarks.scale.plan.QUICK", plan)
    fit = replace(passes_fit(plan, "h5ad"), iterations=2)
    with pytest.raises(ValueError, match=r"must hold 2500 cells x 60 genes, got \[2100, 60\]"):
        take(plan.rank, True, str(path), **asdict(fit))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_suite_runs_end_to_end(tmp_path, real, monkeypatch):
    """All jobs; of their processes only the first, as to start them takes longer than to run them."""
    pytest.importorskip("distributed")
    pytest.importorskip("zarr", minversion="3")
    monkeypatch.setattr(generate, "real_cells", lambda: real)
    in_process, started = subprocess.run, []

    def start(command: list[str], **options) -> None:
        if "benchmarks.harness.job" not in command:  # processes that a job starts
            in_process(command, **options)
            return
        started.append(command)
        if len(started) == 1:
            in_process(command, **options)
            return
        with suppress(SystemExit):
            job.main(command[3:])

    monkeypatch.setattr("subprocess.run", start)
    SUITE.main(["--quick", "--output", str(tmp_path)])
    page = (tmp_path / "scale.md").read_text()
    assert all(goal.goal in page for goal in goals.GOALS)
    assert "not measured |" not in page
    records = [json.loads(path.read_text()) for path in (tmp_path / "results").glob("*.json")]
    assert len(records) == len(started) == len(fits(QUICK, "h5ad"))
    assert not [record for record in records if "failed" in record]
    assert {path.name for path in (tmp_path / "img").iterdir()} == {plots.GROWTH, plots.PASSES}
    assert verdicts(Results.read(tmp_path / "results"))[SAME] == "met"
    first = scale_job(fits(QUICK, "h5ad")[0], QUICK, tmp_path)
    assert SUITE.run([first], tmp_path / "results", fresh=False) == "measured before"
