"""The command: as a process of its own where that could matter, else within this one, as starting up costs most."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from xml.etree import ElementTree

import anndata as ad
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import genesieve as gs
from commands import command, run, run_alone, succeed
from genesieve.cli import main
from genesieve.cli._screen import in_flags, reporting
from readme import assert_same_demo, shown

N_CELLS, N_GENES, RANK, BUDGET = 60, 40, 3, 20
N_SETS = 5  # a type has one gene in so many, the others are idle
REQUEST = ("--rank", str(RANK), "--genes", str(BUDGET))
HOSTILE = ["<script>alert(1)</script>", 'a "quoted", name', "=1+1", "naïve 基因", "[red]x[/]", "$a_{", "../up", "a\tb"]


def make_data(seed: int = 0) -> ad.AnnData:
    """Counts of three types of cells, each with genes of its own, under names that try to break things."""
    rng = np.random.default_rng(seed)
    types = np.arange(N_CELLS) % 3
    means = np.where(np.arange(N_GENES)[None, :] % N_SETS == types[:, None], 8.0, 1.0)
    cells = [*(f"{name} cell" for name in HOSTILE), *(f"c{number}" for number in range(N_CELLS - len(HOSTILE)))]
    genes = [*HOSTILE, *(f"g{number}" for number in range(N_GENES - len(HOSTILE)))]
    kinds = np.array(["<b>T</b>", "B, naïve", '"NK"'], dtype=object)[types]
    obs = pd.DataFrame({"cell_type": pd.Categorical(kinds), "batch": 1}, index=cells)
    X = sparse.csr_matrix(rng.poisson(means).astype(np.float32))
    places = rng.normal(size=(N_CELLS, 2))  # the report takes them, and need not compute a map
    return ad.AnnData(X, obs=obs, var=pd.DataFrame(index=genes), obsm={"X_umap": places})


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with data, gene sets and one finished run, results/."""
    folder = tmp_path_factory.mktemp("cli")
    data = make_data()
    data.write_h5ad(folder / "data.h5ad")
    genes = list(data.var_names)
    sets = {f"SET {first} <i>": genes[first::N_SETS] for first in range(3)}
    lines = ["\t".join([name, "", *members]) for name, members in sets.items()]
    (folder / "sets.gmt").write_text("\n".join([*lines, "", "  "]) + "\r\n", encoding="utf-8")
    line = ("run", "data.h5ad", *REQUEST, "-o", "results", "--labels", "cell_type", "--json")
    result = succeed(*line, cwd=folder, by=run_alone)
    (folder / "stdout").write_text(result.stdout, encoding="utf-8")
    (folder / "stderr").write_text(result.stderr, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def enriched(place, tmp_path_factory) -> Path:
    """A copy of the run with someone's notes in it, after a failed and a successful `genesieve enrich`."""
    folder = tmp_path_factory.mktemp("enrich") / "results"
    shutil.copytree(place / "results", folder)
    (folder / "notes.txt").write_text("mine")
    before = tree(folder)
    (folder.parent / "bad.gmt").write_text("a line without tabs\n")
    result = run("enrich", folder, "--gene-sets", folder.parent / "bad.gmt")
    assert result.returncode == 1
    assert "bad.gmt" in one_line(result.stderr)
    assert tree(folder) == before
    assert "SET" in succeed("enrich", folder, "--gene-sets", place / "sets.gmt").stdout
    return folder


def tree(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def one_line(stderr: str) -> str:
    lines = [line for line in stderr.splitlines() if line.startswith("error:")]
    assert len(lines) == 1, stderr
    assert "Traceback" not in stderr
    return lines[0]


# ------------------------------------------------------------------------------------------------ the small commands


def test_version_and_help_answer_without_loading_anything():
    code = (
        "import sys, genesieve.cli as cli\n"
        "sys.argv = ['genesieve', *sys.argv[1:]]\n"
        "try: cli.main()\n"
        "finally: print([m for m in ('numpy', 'scanpy', 'matplotlib', 'sklearn') if m in sys.modules])"
    )
    for argument, says in {"--version": f"genesieve {gs.__version__}", "--help": "reproduce"}.items():
        result = subprocess.run([sys.executable, "-c", code, argument], capture_output=True, text=True, check=True)
        assert says in result.stdout
        assert result.stdout.splitlines()[-1] == "[]"


def test_every_command_has_help_with_examples():
    for name in ("run", "project", "enrich", "methods", "demo", "reproduce"):
        assert f"genesieve {name}" in succeed(name, "--help").stdout.split("Examples:")[1]
    assert "--install-completion" in succeed("--help").stdout


def test_methods_explains_every_method():
    explained = json.loads(succeed("methods", "--json").stdout)
    assert list(explained) == list(gs.METHODS)
    assert all(explained.values())
    assert "onmf_l20_rho" in succeed("methods").stdout


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, genesieve; print([m for m in ('numpy', 'sklearn', 'numba', 'scanpy') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_demo_is_a_whole_run(tmp_path):
    result = succeed("demo", cwd=tmp_path, by=run_alone)
    assert "8 programs on 200 of 765 genes, 700 cells" in result.stdout
    for marker in ("NKG7", "LYZ", "MS4A1", "NMI 0.6"):
        assert marker in result.stdout
    assert_same_demo(result.stdout, shown())
    report = Path(result.stdout.splitlines()[-1].removeprefix("Report: "))
    assert (tmp_path / report).stat().st_size > 10_000
    assert "Warning" not in result.stderr


# ------------------------------------------------------------------------------------------------ what a run writes


def test_a_run_writes_everything(place):
    found = set(tree(place / "results"))
    tables = {
        f"{name}.csv" for name in ("programs", "genes", "markers", "gene_scores", "cells", "clusters", "biclusters")
    }
    assert tables | {"result.h5ad", "report.html", "run.json", "model/model.json", "model/arrays.npz"} <= found
    for name in ("map", "usages", "loadings", "top_genes", "markers", "biclusters", "overlap", "outliers"):
        assert {f"figures/{name}.png", f"figures/{name}.svg"} <= found
    assert all(name.isascii() and " " not in name for name in found)
    assert found == set(json.loads((place / "results" / "run.json").read_text(encoding="utf-8"))["files"])


def test_json_is_all_there_is_on_standard_output(place):
    told = json.loads((place / "stdout").read_text(encoding="utf-8"))
    assert told["report"] == "results/report.html"
    assert set(told["files"]) == set(tree(place / "results"))
    assert told["scores"]["nmi"] > 0.9
    assert "Warning" not in (place / "stderr").read_text(encoding="utf-8")


def test_result_and_tables_agree_and_keep_the_names(place):
    data, result = make_data(), ad.read_h5ad(place / "results" / "result.h5ad")
    cells = pd.read_csv(place / "results" / "cells.csv", dtype={"program": str})
    genes = pd.read_csv(place / "results" / "genes.csv")
    named = [name.removeprefix("'") for name in cells["cell"]]  # before what a spreadsheet would run as a formula
    assert named == list(result.obs_names) == list(data.obs_names)
    assert list(cells["program"]) == list(result.obs["ssnmf"])
    assert list(cells["known"]) == list(data.obs["cell_type"])
    selected = {name.removeprefix("'") for name in genes["gene"]}
    assert selected == set(result.var_names[result.var["ssnmf_selected"]]) <= set(data.var_names)
    assert set(HOSTILE) & set(genes["gene"])
    assert len(genes) == RANK * BUDGET


def test_names_are_escaped_on_the_page_and_in_figures(enriched):
    page = (enriched / "report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "<b>T</b>" not in page
    assert "2 <i>" not in page
    for file in (enriched / "figures").glob("*.svg"):
        assert ElementTree.parse(file).getroot().tag.endswith("svg")


def test_the_record_says_what_was_done(place):
    record = json.loads((place / "results" / "run.json").read_text(encoding="utf-8"))
    assert record["status"] == "complete"
    assert {"python", "genesieve", "numpy", "scipy", "anndata", "scanpy"} <= set(record["versions"])
    assert {"read", "prepare", "fit", "interpret", "write"} == set(record["timings"])
    assert record["settings"]["rank"] == RANK
    assert (record["data"]["cells"], len(record["data"]["fingerprint"])) == (N_CELLS, 64)
    assert record["data"]["path"] == str((place / "data.h5ad").resolve())
    assert "--rank 3" in record["command"]
    assert record["scores"].keys() == {"nmi", "purity", "ari", "cells", "clusters"}


def test_from_repeats_the_run(enriched, tmp_path):
    succeed("run", "--from", enriched / "run.json", "-o", "again", "--quiet", cwd=tmp_path, by=run_alone)
    first, second = tree(enriched), tree(tmp_path / "again")
    same = [name for name in first if name.endswith((".csv", ".svg", "model.json"))]
    assert len(same) == 18
    assert {name: second[name] for name in same} == {name: first[name] for name in same}
    changed = make_data(seed=1)
    changed.write_h5ad(tmp_path / "data.h5ad")
    record = json.loads(first["run.json"])
    record["data"]["path"] = str(tmp_path / "data.h5ad")
    (tmp_path / "run.json").write_text(json.dumps(record), encoding="utf-8")
    result = run("run", "--from", tmp_path / "run.json", "-o", "other", cwd=tmp_path)
    assert result.returncode == 1
    assert "changed" in one_line(result.stderr)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "data.h5ad", "run.json"]


# ------------------------------------------------------------------------------------------------ what follows a run


def test_project_gives_the_training_cells_their_usages_also_from_csv(place, tmp_path):
    data = make_data()
    pd.DataFrame(data.X.toarray(), index=data.obs_names, columns=data.var_names).T.to_csv(tmp_path / "data.csv.gz")
    options = ("--cells-in", "columns", "--quiet")
    result = succeed("project", "data.csv.gz", "--model", place / "results", *options, cwd=tmp_path)
    assert (result.stdout, result.stderr) == ("", "")
    out = tmp_path / "data-projected"
    fitted, scored = (pd.read_csv(folder / "cells.csv") for folder in (place / "results", out))
    usages = [f"usage_{number}" for number in range(RANK)]
    np.testing.assert_allclose(scored[usages], fitted[usages], rtol=1e-4, atol=1e-4)
    assert list(scored["program"]) == list(fitted["program"])
    assert list(scored["cell"]) == list(fitted["cell"])
    assert ad.read_h5ad(out / "result.h5ad").obsm["X_ssnmf"].shape == (N_CELLS, RANK)
    records = [json.loads((folder / "run.json").read_text(encoding="utf-8")) for folder in (place / "results", out)]
    assert records[0]["data"]["fingerprint"] == records[1]["data"]["fingerprint"]


def test_enrich_adds_to_a_run_and_keeps_what_others_put_there(place, enriched):
    before, after = tree(place / "results"), tree(enriched)
    added = {"enrichment.csv", "figures/enrichment.png", "figures/enrichment.svg"}
    assert set(after) - set(before) == added | {"notes.txt"}
    assert after["notes.txt"] == b"mine"
    same = [name for name in before if name.endswith((".csv", ".svg", "model.json"))]
    assert {name: after[name] for name in same} == {name: before[name] for name in same}
    terms = pd.read_csv(enriched / "enrichment.csv")
    assert set(terms["term"]) == {f"SET {number} <i>" for number in range(3)}
    assert json.loads(after["run.json"])["gene_sets"]["name"] == "sets.gmt"


# ------------------------------------------------------------------------------------------------ what goes wrong

USAGE, FAILED = 2, 1
ALONE = ("no file", "cut short")  # as processes of their own: a wrong request, and a file that cannot be read
BAD = {  # what is asked, the exit code, and what is said
    "no file": (("run", "absent.h5ad", *REQUEST, "-o", "out"), USAGE, "absent.h5ad does not exist"),
    "cut short": (("run", "cut.h5ad", *REQUEST, "-o", "out"), FAILED, "cut.h5ad must be"),
    "unknown column": (("run", "data.h5ad", *REQUEST, "-o", "out", "--labels", "x"), USAGE, "'cell_type', 'batch'"),
    "genes too many": (("run", "data.h5ad", "-r", 3, "-k", 99, "-o", "out"), USAGE, "between 1 and 40"),
    "unwritable": (("run", "data.h5ad", *REQUEST, "-o", "text.h5ad/out"), FAILED, "text.h5ad"),
    "not ours": (("run", "data.h5ad", *REQUEST, "-o", "mine", "--force"), USAGE, "other things"),
    "no rank": (
        ("run", "data.h5ad", "--rank", "many", "-o", "out"),
        USAGE,
        "must be a whole number or 'auto', got 'many'",
    ),
    "no numbers": (("select", "data.h5ad", "--ranks", "3-9"), USAGE, "numbers like 5,8,12 or a range like 2:30"),
    "wrong format": (("run", "text.h5ad", *REQUEST, "-o", "out"), FAILED, "got the first bytes"),
    "unknown layer": (("run", "data.h5ad", *REQUEST, "-o", "out", "--layer", "x"), USAGE, "there are no layers"),
    "rank too large": (("run", "data.h5ad", "-r", 99, "-k", 9, "-o", "out"), USAGE, "between 1 and 40"),
    "odd gene sets": (("run", "data.h5ad", *REQUEST, "-o", "out", "--gene-sets", "odd.gmt"), FAILED, "odd.gmt"),
    "odd name": (("run", "no\nfile.h5ad", *REQUEST, "-o", "out"), USAGE, r"'no\nfile.h5ad' does not exist"),
    "no such command": (("nothing",), USAGE, "nothing"),
    "not a number": (("run", "data.h5ad", "--rank", "many", "--genes", 9, "-o", "out"), USAGE, "whole number"),
    "unknown format": (("run", "sets.gmt", *REQUEST, "-o", "out"), USAGE, ".h5ad"),
    "no orientation": (("run", "table.csv", *REQUEST, "-o", "out"), USAGE, "--cells-in"),
    "odd orientation": (("run", "table.csv", *REQUEST, "-o", "out", "--cells-in", "up"), USAGE, "got 'up'"),
    "rank of zero": (("run", "data.h5ad", "-r", 0, "-k", 9, "-o", "out"), USAGE, "at least 1, got 0"),
    "too many left out": (("run", "data.h5ad", *REQUEST, "-o", "out", "--exclude-genes", "^g"), USAGE, "1 and 8"),
    "all left out": (("run", "data.h5ad", *REQUEST, "-o", "out", "--exclude-genes", ""), USAGE, "got none left"),
    "no expression": (("run", "data.h5ad", *REQUEST, "-o", "out", "--exclude-genes", "("), USAGE, "unterminated"),
    "negative values": (("run", "scaled.h5ad", *REQUEST, "-o", "out"), FAILED, "must not be negative"),
    "values in raw": (("run", "raw.h5ad", *REQUEST, "-o", "out"), USAGE, "--use-raw"),
    "unknown solver": (("run", "data.h5ad", *REQUEST, "-o", "out", "--solver", "x"), USAGE, "--solver must be"),
    "unknown preset": (("run", "data.h5ad", *REQUEST, "-o", "out", "--preset", "x"), USAGE, "preset must be"),
    "unknown method": (("run", "data.h5ad", *REQUEST, "-o", "out", "--method", "kmeans"), USAGE, "method must be"),
    "there already": (("run", "data.h5ad", *REQUEST, "-o", "results"), USAGE, "--force"),
    "foreign record": (("run", "--from", "foreign.json", "-o", "out"), FAILED, "foreign.json must be"),
    "unknown rule": (("run", "data.h5ad", *REQUEST, "-o", "out", "--label-rule", "x"), USAGE, "--label-rule must be"),
    "too little memory": (("run", "data.h5ad", *REQUEST, "-o", "out", "--memory", "1MB"), USAGE, "--memory must be at"),
    "missing genes": (("project", "fewer.h5ad", "-m", "results", "-o", "out"), USAGE, "--missing zero"),
    "other genes": (("project", "table.csv", "--cells-in", "rows", "-m", "results"), FAILED, "none of its 20"),
    "no model": (("project", "data.h5ad", "-m", "mine", "-o", "out"), FAILED, "must hold a model"),
    "no run": (("enrich", "mine", "--gene-sets", "sets.gmt"), USAGE, "must be the folder of a run"),
}


@pytest.fixture(scope="module")
def bad_place(place) -> Path:
    """The folder with files that cannot be used."""
    data = make_data()
    (place / "cut.h5ad").write_bytes((place / "data.h5ad").read_bytes()[:4000])
    (place / "text.h5ad").write_text("no HDF5")
    (place / "table.csv").write_text("name,x1,x2\nc1,1,2\nc2,3,4\n")
    (place / "odd.gmt").write_bytes(b"SET\tlatin\tg\xe9ne\n")
    (place / "foreign.json").write_text("{}")
    (place / "mine").mkdir()
    (place / "mine" / "thesis.txt").write_text("years of work")
    data[:, 9:].copy().write_h5ad(place / "fewer.h5ad")
    scaled = data.copy()
    scaled.X = scaled.X.toarray() - 2
    scaled.write_h5ad(place / "scaled.h5ad")
    scaled.raw = data
    scaled.write_h5ad(place / "raw.h5ad")
    return place


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_told_in_one_line(bad_place, name):
    arguments, code, says = BAD[name]
    before = tree(bad_place)
    result = (run_alone if name in ALONE else run)(*arguments, cwd=bad_place)
    assert result.returncode == code, result.stderr
    assert says in one_line(result.stderr)
    assert result.stdout == ""
    assert tree(bad_place) == before  # nothing new, nothing changed, nothing left behind


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("label_rule must be 'argmax', got 'x'", "--label-rule must be 'argmax', got 'x'"),
        ("clusters must not be given with no_clusters", "--clusters must not be given with --no-clusters"),
        ("known must be a column of obs", "--labels must be a column of obs"),
        ("out must be new; force=True replaces it", "out must be new; --force replaces it"),
        ("lacks 2 genes; missing='zero': not seen", "lacks 2 genes; --missing zero: not seen"),
        ("/data/max_iter/x.h5ad must be readable", "/data/max_iter/x.h5ad must be readable"),
    ],
)
def test_errors_name_the_flag_that_was_typed(message, told):
    assert in_flags(message) == told


def test_a_library_may_warn_while_it_is_imported(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "genesieve.workflow", None)  # which needs that library
    monkeypatch.setitem(sys.modules, "genesieve.workflow.provenance", None)
    with reporting():
        warnings.warn_explicit("it is old", UserWarning, "/lib/other/__init__.py", 1)
    assert "old" not in capsys.readouterr().err


def test_debug_shows_the_traceback(bad_place, monkeypatch, capsys):
    monkeypatch.setattr(
        sys, "argv", ["genesieve", "run", "--debug", str(bad_place / "text.h5ad"), *REQUEST, "-o", "out"]
    )
    monkeypatch.setattr("genesieve.cli._screen._state", {"debug": False})
    with pytest.raises(SystemExit):
        main()
    assert "Traceback" in capsys.readouterr().err


def test_a_full_disk_leaves_nothing_half_written(place, tmp_path):
    """A real one, where a small file system may be mounted; otherwise a writer that fails as on a full one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = (
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96k", "none", disk], capture_output=True).returncode == 0
    )
    try:
        if mounted:
            result = run("run", place / "data.h5ad", *REQUEST, "-o", disk / "out")
        else:
            code = (
                "import errno, sys, numpy, genesieve.cli as cli\n"
                "def full(*_, **__): raise OSError(errno.ENOSPC, 'No space left on device')\n"
                "numpy.savez_compressed = full\n"
                "sys.argv = ['genesieve', *sys.argv[1:]]; cli.main()"
            )
            arguments = ["run", str(place / "data.h5ad"), *REQUEST, "-o", str(disk / "out")]
            result = subprocess.run(
                [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
            )
        assert result.returncode == FAILED
        assert "No space left on device" in one_line(result.stderr)
        assert list(disk.iterdir()) == []
    finally:
        if mounted:
            subprocess.run(["umount", disk], check=True)


# ------------------------------------------------------------------------------------------------ Ctrl-C


def start(*arguments: object) -> subprocess.Popen[str]:
    """A command that hears signals even where the tests run in the background or under nohup, which ignore some."""
    return subprocess.Popen(
        command(*arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        preexec_fn=_hear,
    )


def _hear() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def wait_for(process: subprocess.Popen[str], words: str) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            return
    pytest.fail(f"the command ended without saying {words!r}")


@pytest.fixture(scope="module")
def slow(tmp_path_factory) -> tuple[object, ...]:
    """A run whose fit takes far longer than a signal."""
    path = tmp_path_factory.mktemp("slow") / "noise.h5ad"
    rng = np.random.default_rng(0)
    X, places = rng.random((400, 600), dtype=np.float32), rng.normal(size=(400, 2))
    ad.AnnData(X, obsm={"X_umap": places}).write_h5ad(path)
    return (
        "run",
        path,
        "-r",
        20,
        "-k",
        300,
        "--method",
        "onmf_l20",
        "--max-iter",
        5000,
        "--orthogonality",
        "0.001",
        "--no-figures",
    )


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_ends_the_fit_and_keeps_what_it_has(slow, tmp_path):
    process = start(*slow, "-o", tmp_path / "out")
    wait_for(process, "Ctrl-C ends the fit")
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=600)
    assert process.returncode == 0, stderr
    assert "stopped early" in stderr
    assert "stopped early" in stdout
    record = json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))
    assert record["status"] == "stopped early"
    assert (tmp_path / "out" / "report.html").exists()


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_second_ctrl_c_keeps_nothing(slow, tmp_path):
    process = start(*slow, "-o", tmp_path / "out")
    wait_for(process, "Ctrl-C ends the fit")
    process.send_signal(signal.SIGINT)
    wait_for(process, "Ctrl-C again")
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=600)
    assert process.returncode == 130
    assert stderr.splitlines()[-1] == "stopped: nothing was written"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGTERM, getattr(signal, "SIGHUP", None)])
def test_termination_leaves_nothing(slow, tmp_path, number):
    process = start(*slow, "-o", tmp_path / "out")
    wait_for(process, "Ctrl-C ends the fit")
    process.send_signal(number)
    process.communicate(timeout=600)
    assert process.returncode == 143
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_hang_up_that_is_ignored_stays_so():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with reporting():
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("number", "word", "code"), [(signal.SIGINT, "stopped", 130), (signal.SIGTERM, "terminated", 143)]
)
def test_a_stopped_reproduction_says_that_it_goes_on(tmp_path, number, word, code):
    process = start("reproduce", "fig3", "-o", tmp_path, "--jobs", 1)
    while not (done := list(tmp_path.glob("tasks/*.json"))):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=600)
    assert process.returncode == code
    assert stderr.strip() == f"{word}: what is done is kept, the same command goes on from there"
    assert all(file.exists() for file in done)
