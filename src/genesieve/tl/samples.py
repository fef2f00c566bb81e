"""Programs of several samples: those that they share, from a fit of each."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from genesieve._anndata import check_unique_genes, kind_of_values, own, read_part, read_values, select_genes
from genesieve._checks import check_integer, listing
from genesieve._random import as_generator
from genesieve._slots.write import write_fit, write_found
from genesieve.core.cells.blocks import Blocks
from genesieve.core.cells.streamed import as_source
from genesieve.core.cells.threads import available_threads, side_by_side
from genesieve.core.constraints import largest
from genesieve.core.objective import gram_of, half_squared_residual
from genesieve.core.weights import variation_weights
from genesieve.estimators._progress import watched_fits
from genesieve.estimators.ssnmf import SSNMF
from genesieve.interpret.labels import label_cells
from genesieve.interpret.metaprograms import (
    LEAST_RANKS,
    SAME_PROGRAM,
    Found,
    MetaProgram,
    meta_programs,
    profiles_of,
)
from genesieve.interpret.scores import score_genes
from genesieve.tl._samples import Samples, read_samples
from genesieve.tl._tables import FDR, TOP_NAMES
from genesieve.tl.fit import given_genes

if TYPE_CHECKING:
    from anndata import AnnData

RANKS = tuple(range(5, 11))
N_GENES = 2000
MIN_CELLS = 50  # of a sample that is fitted
MIN_SAMPLES = 2  # that have a shared program


def metaprograms(
    adata: AnnData,
    sample_key: str,
    n_components: int | Sequence[int] = RANKS,
    n_genes: int | None = N_GENES,
    *,
    min_samples: int = MIN_SAMPLES,
    min_similarity: float = SAME_PROGRAM,
    min_ranks: float = LEAST_RANKS,
    min_cells: int = MIN_CELLS,
    layer: str | None = None,
    use_raw: bool = False,
    mask_var: str | Sequence[bool] | np.ndarray | None = None,
    exclude_genes: str | Sequence[str] | None = None,
    key_added: str = "ssnmf_metaprograms",
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: bool | None = None,
    **solver_options: Any,
) -> pd.DataFrame:
    """Programs that several samples share: each sample is fitted by itself, at several ranks, and its programs grouped.

    What differs between samples as a whole, a batch effect, is no part of any of these fits. Programs are compared by
    the genes that they raise, in standard deviations within their sample and as far as these are beyond their errors.
    Those of a sample's ranks that are alike become one, then those of different samples, at most one of each. A shared
    program is the mean over its samples; together they keep the gene budget, and all cells are scored with them.

    Parameters
    ----------
    adata
        Logged expression, say from `genesieve.pp.prepare`.
    sample_key
        Column of ``obs`` with the samples, say donors.
    n_components
        Numbers of programs to fit in every sample. The highest should be above what a sample holds: with too few, two
        programs become one, and that would be found in every sample too.
    n_genes
        Gene budget, of every fit and of the shared programs together; where there are fewer genes, all.
    min_samples
        Samples that a shared program is found in, at least.
    min_similarity
        Correlation over the genes from which on programs are the same.
    min_ranks
        Share of a sample's ranks that have to find a program.
    min_cells
        Samples with fewer cells are not fitted, with a warning; their cells are scored as all others.
    layer, use_raw, mask_var, exclude_genes
        Which values and genes to take, as in `genesieve.tl.ssnmf`.
    key_added
        Name of all slots together.
    random_state
        Seed of the fits.
    n_jobs
        Threads, each with one sample at a time; ``None`` or -1 uses every core there is.
    verbose
        Show a bar; ``None``: where it takes more than some seconds, on a terminal or in a notebook.
    **solver_options
        Further options of `genesieve.SSNMF`.

    Returns
    -------
    pandas.DataFrame
        One row a program, most widely spread first: ``program``, ``shared``, ``n_samples``, ``coverage`` (share of the
        samples fitted), ``samples`` (with ";" between), ``agreement`` (mean correlation between its samples),
        ``recurrence`` (share of their ranks that found it), ``n_genes`` (raised, over its samples) and ``genes`` (the
        leading ones). Private programs, which are not shared, come last. Also in
        ``uns["ssnmf_metaprograms_coverage"]``; ``uns["ssnmf_metaprograms_gene_confidence"]`` has the share of
        its samples in which a gene is raised, for every program and gene. The shared programs are a fit of their own,
        with all slots of `genesieve.tl.ssnmf` under ``key_added``:
        ``gs.tl.markers(adata, key="ssnmf_metaprograms")``, and so on.

    References
    ----------
    The idea, with plain NMF: Gavish et al. (2023), `doi:10.1038/s41586-023-06130-4
    <https://doi.org/10.1038/s41586-023-06130-4>`__.

    Examples
    --------
    >>> import genesieve as gs
    >>> adata = gs.datasets.demo()
    >>> adata.obs["donor"] = [f"donor {number % 3}" for number in range(adata.n_obs)]
    >>> table = gs.tl.metaprograms(adata, "donor", (4, 5, 6), 200)
    >>> bool((table.loc[table["shared"], "n_samples"] >= 2).all())
    True
    >>> adata.obsm["X_ssnmf_metaprograms"].shape == (700, int(table["shared"].sum()))
    True
    """
    ranks = _read_ranks(n_components)
    check_integer("min_samples", min_samples, 1)
    check_integer("min_cells", min_cells, max(ranks))
    adata = own(adata)
    check_unique_genes(adata)
    samples = read_samples(adata, sample_key, min_cells=min_cells)
    _check_samples(samples, sample_key, min_cells)
    given = given_genes(adata, mask_var, exclude_genes, None)
    budget = int(given.sum()) if n_genes is None else min(int(n_genes), int(given.sum()))
    check_integer("n_genes", budget, 1)
    place: dict[str, Any] = {"layer": layer, "use_raw": use_raw}
    work = _Fits(adata, samples, np.flatnonzero(given), ranks, budget, place, solver_options)
    seeds = [int(seed) for seed in as_generator(random_state).integers(2**31, size=len(samples.table))]
    with watched_fits(len(seeds) * len(ranks), verbose) as tell:
        found, models = work.all(seeds, n_jobs, tell)
    metas = meta_programs(found, FDR, min_similarity=min_similarity, min_ranks=min_ranks)
    shared = [meta for meta in metas if len(meta.samples) >= min_samples]
    if not shared:
        raise ValueError(
            f"no program is in {min_samples} of the {len(found)} samples: lower min_samples or min_similarity, or try"
            " other n_components"
        )
    X = read_values(adata, **place)
    values = kind_of_values(X)
    X = X if given.all() else select_genes(X, given)
    model, H = _consensus(X, shared, budget, models[0], n_jobs)
    source = {name: value for name, value in place.items() if value is not None}
    write_fit(adata, key_added, model, H, given, {**source, "values": values, "sample_key": sample_key})
    genes, names = adata.var_names[given].astype(str).to_numpy(), samples.table["sample"].to_numpy(dtype=object)
    ordered = shared + [meta for meta in metas if len(meta.samples) < min_samples]
    table = _coverage(ordered, len(shared), names, genes)
    write_found(adata, key_added, coverage=table, gene_confidence=_confidence(ordered, genes))
    return table


@dataclass(frozen=True)
class _Fits:
    """Fits of every sample at every rank."""

    adata: AnnData
    samples: Samples
    genes: np.ndarray  # numbers of the genes given
    ranks: list[int]
    n_genes: int
    place: dict[str, Any]
    options: dict[str, Any]

    def all(self, seeds: list[int], n_jobs: int | None, tell: Callable[[str], None]) -> tuple[list[Found], list[SSNMF]]:
        """What every sample shows, and a model of each."""
        with warnings.catch_warnings():
            # Of too many programs for a sample some are empty, and ranks that do not settle find little that recurs.
            warnings.simplefilter("ignore")
            done = side_by_side(
                lambda item: self._sample(*item, tell), list(enumerate(seeds)), available_threads(n_jobs)
            )
        return [found for found, _ in done], [model for _, model in done]

    def _sample(self, number: int, seed: int, tell: Callable[[str], None]) -> tuple[Found, SSNMF]:
        X = read_part(self.adata, np.flatnonzero(self.samples.of_cell == number), self.genes, **self.place)
        parts: list[Found] = []
        for rank in self.ranks:
            tell(f"fitting sample {self.samples.table['sample'][number]}, {rank} programs")
            model = SSNMF(rank, n_genes=self.n_genes, random_state=seed, **{"n_jobs": 1, **self.options})
            scores = score_genes(X, model.fit_transform(X), n_jobs=1)
            profiles = profiles_of(scores.score, scores.error).T
            parts.append(Found(profiles, np.asarray(model.components_), scores.p_value.T, np.full(rank, rank)))
        columns = (np.concatenate([getattr(part, name) for part in parts]) for name in Found.__dataclass_fields__)
        return Found(*columns), model


def _consensus(
    X: Any, shared: list[MetaProgram], n_genes: int, like: SSNMF, n_jobs: int | None
) -> tuple[SSNMF, np.ndarray]:
    """A model of the shared programs within the gene budget, and the usages of all cells; options as those of a fit."""
    model = SSNMF(**{**like.get_params(), "n_components": len(shared), "n_genes": n_genes, "n_jobs": n_jobs})
    blocks = Blocks(as_source(X, n_jobs=n_jobs), n_jobs=n_jobs)
    weights = None if like.gene_weights_ is None else variation_weights(*blocks.moments(), baseline=like.baseline_)
    W = np.stack([meta.weights for meta in shared], axis=1)  # (genes, rank)
    rows = np.linalg.norm(W if weights is None else W * weights[:, None], axis=1)
    W = np.where(largest(rows, n_genes)[:, None], W, 0.0)
    W /= np.maximum(np.linalg.norm(W, axis=0), np.finfo(float).tiny)
    solved = W if weights is None else W * weights[:, None]
    H = blocks.weighted(weights).usages(solved, like.penalty_.cell_step(gram_of(solved)))
    _publish(model, like, weights, W.astype(blocks.value_dtype), H.astype(blocks.value_dtype), blocks)
    return model, H.astype(blocks.value_dtype)


def _publish(
    model: SSNMF, like: SSNMF, weights: np.ndarray | None, W: np.ndarray, H: np.ndarray, blocks: Blocks
) -> None:
    """Set the fitted attributes of a model that was not fitted itself, where they differ from those of the other."""
    for name, value in vars(like).items():
        if name.endswith("_"):
            setattr(model, name, value)
    cross = blocks.gene_products(H)[0]
    residual = 2.0 * max(half_squared_residual(blocks.plain_norm, W, cross, gram_of(H)), 0.0)
    model.gene_weights_, model.gauge_scale_ = weights, np.ones(W.shape[1])
    model.components_ = np.ascontiguousarray(W.T)
    model.labels_, model.confidence_, model.cluster_centers_ = label_cells(H, "argmax")
    model.objective_, model.converged_ = residual / 2.0, True
    model.reconstruction_err_ = float(np.sqrt(residual))
    model.explained_ = 1.0 - residual / blocks.plain_norm if blocks.plain_norm > 0 else 0.0
    model.history_ = {"objective": np.array([residual / 2.0]), "seconds": np.zeros(1), "passes": np.ones(1)}


def _coverage(metas: list[MetaProgram], n_shared: int, names: np.ndarray, genes: np.ndarray) -> pd.DataFrame:
    """One row a program."""
    leading = [genes[_leading(meta)[:TOP_NAMES]] for meta in metas]
    return pd.DataFrame(
        {
            "program": np.arange(len(metas)),
            "shared": np.arange(len(metas)) < n_shared,
            "n_samples": [len(meta.samples) for meta in metas],
            "coverage": [len(meta.samples) / len(names) for meta in metas],
            "samples": [";".join(str(names[number]) for number in meta.samples) for meta in metas],
            "agreement": [meta.agreement for meta in metas],
            "recurrence": [meta.recurrence for meta in metas],
            "n_genes": [int(meta.raised.sum()) for meta in metas],
            "genes": [";".join(names_of) for names_of in leading],
        }
    )


def _confidence(metas: list[MetaProgram], genes: np.ndarray) -> pd.DataFrame:
    """One row a program and gene that any of its samples raises, the surest first."""
    rows = []
    for number, meta in enumerate(metas):
        chosen = _leading(meta)
        columns = {
            "program": number,
            "gene": genes[chosen],
            "confidence": meta.confidence[chosen],
            "profile": meta.profile[chosen],
            "weight": meta.weights[chosen],
        }
        rows.append(pd.DataFrame(columns))
    return pd.concat(rows, ignore_index=True)


def _leading(meta: MetaProgram) -> np.ndarray:
    """Genes that any sample raises, by how many do and then by how far."""
    order = np.lexsort((-meta.profile, -meta.confidence))
    return np.asarray(order[meta.confidence[order] > 0])


def _read_ranks(n_components: int | Sequence[int]) -> list[int]:
    ranks = [n_components] if isinstance(n_components, int | np.integer) else list(n_components)
    if not ranks:
        raise ValueError("n_components must be a number or several, got none")
    for rank in ranks:
        check_integer("n_components", rank, 2)
    return sorted({int(rank) for rank in ranks})


def _check_samples(samples: Samples, sample_key: str, min_cells: int) -> None:
    if len(samples.table) < 2:
        there = listing(list(samples.table["sample"])) or "none"
        raise ValueError(f"{sample_key} must have at least two samples of {min_cells} cells, got {there}")
