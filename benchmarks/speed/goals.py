"""The goals of speed: every row is a ratio of measurements of one run of the suite."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.harness.goals import NEVER, Found, Goal, verdict
from benchmarks.harness.peers import Missing
from benchmarks.harness.results import Record, Results
from benchmarks.speed.results import best, curve, default_runs, points, time_to

COMMAND = "python -m benchmarks.speed --fresh --only"
CLOSE = 1.001  # within 0.1%
ATLAS, GROWTH = "atlas-20k", "measures/scale"
OURS, OURS_L20 = f"{ATLAS}/genesieve_nmf", f"{ATLAS}/genesieve_l20"

Reader = Callable[..., tuple[str, float]]
"""From the records of some jobs to a text and a ratio."""


@dataclass(frozen=True)
class Ratio:
    """A ratio that is read from the records of some jobs, and its bound."""

    bound: float
    read: Reader
    jobs: tuple[str, ...]
    at_least: bool  # or at most

    def __call__(self, results: Results) -> Found:
        try:
            records = results.get(*self.jobs)
        except Missing as reason:
            raise Missing(f"not measured ({reason})") from None
        measured, value = self.read(*records)
        return measured, verdict(value, self.bound, self.at_least)


def at_least(bound: float, read: Reader, *jobs: str) -> Ratio:
    return Ratio(bound, read, jobs, at_least=True)


def at_most(bound: float, read: Reader, *jobs: str) -> Ratio:
    return Ratio(bound, read, jobs, at_least=False)


def ratio(work: str, goal: str, read: Ratio) -> Goal:
    return Goal(goal, read, f"{COMMAND} {' '.join(read.jobs)}", work)


def against_sklearn(ours: Record, sklearn: Record) -> tuple[str, float]:
    """Time to scikit-learn's last objective, of every seed, and to within 0.1% of it."""
    course = curve(sklearn, "cd")
    last = points(sklearn, "cd")[-1]
    texts, ratio = _race(ours, "seed", last["seconds"], last["objective"])
    near = last["objective"] * CLOSE
    near_texts, near_ratio = _race(ours, "default", time_to(course, near) or NEVER, near)
    text = (
        f"scikit-learn: {last['seconds']:.1f} s for {last['iterations']} iterations, objective"
        f" {_big(last['objective'])}. genesieve to it: {texts}; ratio of the median {_times(ratio)}. To within 0.1% of"
        f" it, with default settings: scikit-learn {time_to(course, near):.1f} s, genesieve {near_texts};"
        f" {_times(near_ratio)}"
    )
    return text, ratio


def against_rcppml(ours: Record, rcppml: Record, iterations: int = 20) -> tuple[str, float]:
    """Time to RcppML's objective after some iterations."""
    looks = [point for point in points(rcppml, "RcppML") if point["iterations"] <= iterations]
    texts, ratio = _race(ours, "default", looks[-1]["seconds"], looks[-1]["objective"])
    text = (
        f"RcppML with {rcppml['threads']} threads: {looks[-1]['seconds']:.1f} s for {looks[-1]['iterations']}"
        f" iterations, objective {_big(looks[-1]['objective'])}. genesieve to it, with default settings: {texts};"
        f" ratio of the median {_times(ratio)}"
    )
    return text, ratio


def _race(ours: Record, runs: str, seconds: float, target: float) -> tuple[str, float]:
    """How long each seed took to a target, and how many times faster than ``seconds`` the median is.

    ``runs`` is how their names begin: "seed" for long courses, "default" for fits as they come.
    """
    names = sorted({point["run"] for point in ours["points"] if point["run"].startswith(runs)})
    times = [time_to(curve(ours, name), target) for name in names]
    texts = [
        f"never (ends {100 * (best(ours, name) / target - 1):.3f}% above)" if time is None else f"{time:.2f} s"
        for name, time in zip(names, times, strict=True)
    ]
    median = statistics.median(NEVER if time is None else time for time in times)
    return ", ".join(texts), seconds / median


def against_palm(ours: Record, palm: Record) -> tuple[str, float]:
    """Time to palm's last objective from the same start, whose cost both carry."""
    run = "same start"
    last, end = points(palm, run)[-1], points(ours, run)[-1]
    seconds = time_to(curve(ours, run), last["objective"])
    if seconds is None:
        return f"never reaches palm's {_big(last['objective'])}, ends at {_big(end['objective'])}", 0.0
    alone = (last["seconds"] - last["start_seconds"]) / (seconds - end["start_seconds"])
    ratio = last["seconds"] / seconds
    text = (
        f"palm: {last['seconds']:.1f} s for {last['iterations']} iterations, objective {_big(last['objective'])};"
        f" genesieve to it {seconds:.2f} s, {_times(ratio)}. Both include the start ({last['start_seconds']:.2f} s and"
        f" {end['start_seconds']:.2f} s); without it {_times(alone)}. genesieve ends at {_big(end['objective'])},"
        f" {100 * (1 - end['objective'] / last['objective']):.2f}% lower"
    )
    return text, ratio if end["objective"] < last["objective"] else 0.0


def dense(record: Record) -> tuple[str, float]:
    """To convergence on dense data."""
    ours, palm, fine = (record[name] for name in ("genesieve", "palm", "palm, fine"))
    ratio = palm["seconds"] / ours["seconds"]
    reached = statistics.median(NEVER if seconds is None else seconds for seconds in record["to palm's end"])
    text = (
        f"genesieve from random: {ours['seconds']:.3f} s, objectives {_range(ours['objectives'])}; palm from NMF at the"
        f" paper's tolerance 1e-3: {palm['seconds']:.3f} s, objectives {_range(palm['objectives'])}, {_times(ratio)};"
        f" genesieve is as low as that after {reached:.3f} s, {_times(palm['seconds'] / reached)}."
        f" palm at 1e-6 ({fine['iterations'][0]} iterations): {fine['seconds']:.2f} s, {_range(fine['objectives'])},"
        f" {_times(fine['seconds'] / ours['seconds'])}"
    )
    return text, ratio


def one_pass(record: Record) -> tuple[str, float]:
    """A pass against its products."""
    text = (
        f"pass {1000 * record['pass']:.1f} ms, products {1000 * record['products']:.1f} ms"
        f" ({1e9 * record['products'] / record['values']:.1f} ns a stored value), median ratio {record['ratio']:.2f}"
    )
    return text, record["ratio"]


def passes(ours: Record, l20: Record, scale: Record) -> tuple[str, float]:
    """Passes of all default fits, at the smallest and the largest size."""
    seeds = {"NMF": default_runs(ours), "l20": default_runs(l20)}
    first = [f"{name} {', '.join(str(point['passes']) for point in fits)}" for name, fits in seeds.items()]
    most = max(fit["cells"] for fit in scale["fits"])
    last = [f"{fit['model']} {fit['passes']}" for fit in scale["fits"] if fit["cells"] == most]
    counts = [point["passes"] for fits in seeds.values() for point in fits]
    counts += [fit["passes"] for fit in scale["fits"]]
    cells = f"{ours['shape'][0]:,}"
    return f"at {cells} cells (by seed): {'; '.join(first)}. At {most:,}: {'; '.join(last)}", max(counts)


def growth(scale: Record) -> tuple[str, float]:
    """Time a cell at the largest size over that at the smallest (mean of before and after), the worse model."""
    ratios, texts = [], []
    for model in ("nmf", "l20"):
        rates = _rates(scale, model)
        few, many = min(rates), max(rates)
        ratios.append(rates[many] / rates[few])
        texts.append(f"{model} {1e6 * rates[few]:.0f} us a cell at {few:,}, {1e6 * rates[many]:.0f} us at {many:,}")
    return f"{'; '.join(texts)}: ratios {', '.join(f'{ratio:.2f}' for ratio in ratios)}", max(ratios)


def _rates(scale: Record, model: str) -> dict[int, float]:
    """Seconds a cell by number of cells."""
    fits = [fit for fit in scale["fits"] if fit["model"] == model]
    return {
        cells: statistics.mean(fit["seconds"] / cells for fit in fits if fit["cells"] == cells)
        for cells in {fit["cells"] for fit in fits}
    }


def memory(scale: Record) -> tuple[str, float]:
    """Peak above the input, over the size of X and both factors, of the worst default fit."""
    fits = [fit for fit in scale["fits"] if fit["peak"] is not None]
    if not fits:
        return "this system does not tell a process's peak memory", float("nan")
    ratios = [fit["peak"] / (fit["input"] + fit["factors"]) for fit in fits]
    texts = [
        f"{fit['model']} {fit['cells']:,} cells: {fit['peak'] / 2**20:.0f} MiB over"
        f" {(fit['input'] + fit['factors']) / 2**20:.0f} ({ratio:.2f})"
        for fit, ratio in zip(fits, ratios, strict=True)
    ]
    return "; ".join(dict.fromkeys(texts)), max(ratios)


def imports(record: Record) -> tuple[str, float]:
    """Import time."""
    seconds, heavy = record["seconds"], record["heavy"]
    ratio = seconds["genesieve"] / seconds["sklearn"]
    text = (
        f"{seconds['genesieve']:.3f} s against {seconds['sklearn']:.3f} s: {ratio:.2f}; with the estimator loaded"
        f" (`from genesieve import SSNMF`) {seconds['estimator']:.3f} s:"
        f" {seconds['estimator'] / seconds['sklearn']:.2f}. `import genesieve` loads"
        f" {', '.join(heavy) if heavy else 'neither plotting, AnnData nor Dask'}"
    )
    return text, NEVER if heavy else ratio


def _big(value: float) -> str:
    return f"{value:,.0f}"


def _range(values: list[float]) -> str:
    low, high = _big(min(values)), _big(max(values))
    return low if low == high else f"{low} to {high}"


def _times(ratio: float) -> str:
    return "not faster, as it is never reached" if ratio == 0.0 else f"{ratio:.1f}x"


GOALS = (
    ratio(
        "plain NMF, sparse 20k x 15k, rank 12: time to the objective of scikit-learn `cd` after 200 iterations",
        "20x faster than scikit-learn",
        at_least(20.0, against_sklearn, OURS, f"{ATLAS}/sklearn_cd"),
    ),
    ratio(
        "same: time to RcppML's objective after 20 iterations, on as many threads",
        "4x faster than RcppML",
        at_least(4.0, against_rcppml, OURS, f"{ATLAS}/rcppml"),
    ),
    ratio(
        "NMF_l20, k = 2000, same data: time to palm's objective after 100 iterations, same products and start",
        "30x faster than palm, and the final objective lower",
        at_least(30.0, against_palm, OURS_L20, f"{ATLAS}/palm"),
    ),
    ratio(
        "Pollen dense, NMF_l20 k = 2000 to convergence, from a random start",
        "20x faster than palm started from NMF",
        at_least(20.0, dense, "measures/dense"),
    ),
    ratio(
        "one pass over X",
        "at most 1.4 times its two SciPy products",
        at_most(1.4, one_pass, "measures/one_pass"),
    ),
    ratio(
        "passes over the full X at default tolerance",
        "at most 12, at 20k and at 400k cells alike",
        at_most(12.0, passes, OURS, OURS_L20, GROWTH),
    ),
    ratio(
        "growth from 20k to 400k cells",
        "time a cell at 400k at most 1.1 times that at 20k",
        at_most(1.1, growth, GROWTH),
    ),
    ratio(
        "peak memory above the input, CSR input",
        "at most 0.3 times the size of X plus the factors",
        at_most(0.3, memory, GROWTH),
    ),
    ratio(
        "`import genesieve`",
        "under 1.5 times `import sklearn.decomposition`; plotting, AnnData and Dask only when used",
        at_most(1.5, imports, "measures/imports"),
    ),
)
