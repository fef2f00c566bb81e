"""Reading a fit and what was found in it: what is missing is named, with the function that makes it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from genesieve._checks import choices, listing
from genesieve._slots.keys import PREPARE, Keys
from genesieve.core.objective import Penalty, unpack_penalty
from genesieve.interpret.genes import selected_genes
from genesieve.interpret.graph import Cells, Reference

if TYPE_CHECKING:
    from anndata import AnnData

MAKERS = {
    "annotation": "annotate",
    "cluster_confidence": "cluster",
    "compare_samples": "compare",
    "coverage": "metaprograms",
    "enrichment": "enrich",
    "gene_confidence": "metaprograms",
    "outlier": "outliers",
    "outlier_score": "outliers",
    "outlier_rule": "outliers",
    "scores": "gene_scores",
}
"""Functions of `genesieve.tl` by what they make, where the names differ."""


@dataclass(frozen=True)
class Projection:
    """What a fit and a projection both hold: programs as cells use them. Slots are read when they are asked for."""

    adata: AnnData
    key: str

    @cached_property
    def usages(self) -> np.ndarray:
        """H (cells, rank)."""
        return np.asarray(self.adata.obsm[Keys(self.key).usages])

    @cached_property
    def most_used(self) -> np.ndarray:
        """The program that each cell uses most."""
        return self.usages.argmax(axis=1)

    @property
    def rank(self) -> int:
        """How many programs there are."""
        return self.usages.shape[1]

    @property
    def record(self) -> dict[str, Any]:
        """What ``uns`` says of the fit: params, objective, history, method, ..."""
        return self.adata.uns.get(Keys(self.key).fit, {})

    @property
    def cell_map(self) -> np.ndarray | None:
        """Places of the cells on the map (cells, 2), NaN for those not shown; None where none was made."""
        slot = Keys(self.key).cell_map
        return np.asarray(self.adata.obsm[slot], dtype=np.float64) if slot in self.adata.obsm else None

    @property
    def centers(self) -> np.ndarray | None:
        """Mean usages of the clusters (clusters, rank); None where labels are programs."""
        centers = self.record.get("cluster_centers")
        return None if centers is None else np.asarray(centers)

    @property
    def gene_gram(self) -> np.ndarray:
        """``W^T W`` (rank, rank)."""
        if "gene_gram" not in self.record:
            raise KeyError(f"no fit {self.key!r} in adata.uns: run gs.tl.ssnmf or gs.tl.project first")
        return np.asarray(self.record["gene_gram"])

    @cached_property
    def categories(self) -> np.ndarray:
        """Which category of the labels each program is, -1 for one without cells or if labels are not programs."""
        codes = self.of_cells("labels").astype("category").cat.codes.to_numpy()
        category = np.full(self.rank, -1)
        category[self.most_used] = codes
        taken = category[category >= 0]
        matches = np.array_equal(category[self.most_used], codes) and len(np.unique(taken)) == len(taken)
        return category if matches else np.full(self.rank, -1)

    @property
    def names(self) -> list[str]:
        """Names of the programs: the categories of their labels, so that renaming those renames the programs.

        A program whose label is its number has the name that `genesieve.tl.annotate` suggests, if there is one.
        """
        labels, suggested = self.of_cells("labels").astype("category").cat.categories, self.suggested_names
        names = [str(labels[i]) if i >= 0 else str(program) for program, i in enumerate(self.categories)]
        taken = set(names)
        return [
            other if name == str(program) and other and other not in taken else name
            for program, (name, other) in enumerate(zip(names, suggested, strict=True))
        ]

    @property
    def suggested_names(self) -> list[str]:
        """The names that `genesieve.tl.annotate` found, empty where it found none."""
        slot = Keys(self.key).annotation
        if slot not in self.adata.uns:
            return [""] * self.rank
        found = self.found("annotation").set_index("program")["name"].astype(str)
        return [str(found.get(program, "")) for program in range(self.rank)]

    @cached_property
    def _obs(self) -> pd.DataFrame:
        return table_of(self.adata.obs)

    def of_cells(self, what: str) -> pd.Series:
        """A column of ``obs``: labels, confidence, outlier or outlier_score."""
        return self._read("obs", self._obs, what)

    def has(self, what: str) -> bool:
        """Whether a slot of ``obs`` or ``uns`` is there, by its name in `Keys`."""
        slot = getattr(Keys(self.key), what)
        return slot in self._obs or (slot != self.key and slot in self.adata.uns)

    def found(self, what: str) -> Any:
        """What was found in the fit, from ``uns``; the programs of a table are numbers."""
        value = self._read("uns", self.adata.uns, what)
        if "program" not in getattr(value, "columns", ()):
            return value
        return value.assign(program=value["program"].astype(str).astype(int))

    def _read(self, where: str, slots: Any, what: str) -> Any:
        slot = getattr(Keys(self.key), what)
        if slot not in slots:
            maker = "ssnmf" if slot == self.key else MAKERS.get(what, what)
            raise KeyError(f"adata.{where} has no {slot!r}, run gs.tl.{maker} first; {_contents(where, slots)}")
        return slots[slot]


@dataclass(frozen=True)
class Fit(Projection):
    """A fit: programs with their genes."""

    @cached_property
    def genes(self) -> np.ndarray:
        """Names of all genes."""
        return self.adata.var_names.astype(str).to_numpy()

    @cached_property
    def weights(self) -> np.ndarray:
        """W (genes, rank), public gauge."""
        return np.asarray(self.adata.varm[Keys(self.key).weights])

    @cached_property
    def selected(self) -> np.ndarray:
        """Mask of the genes that carry a weight."""
        return selected_genes(self.weights)

    @cached_property
    def _var(self) -> pd.DataFrame:
        return table_of(self.adata.var)

    @property
    def given(self) -> np.ndarray:
        """Mask of the genes that the model could choose from."""
        slot = Keys(self.key).given
        return self._var[slot].to_numpy(dtype=bool) if slot in self._var else np.ones(len(self.genes), dtype=bool)

    @property
    def gene_weights(self) -> np.ndarray | None:
        """Weights of the genes in the fit, where there were any."""
        slot = Keys(self.key).gene_weights
        return self._var[slot].to_numpy() if slot in self._var else None

    @property
    def batches(self) -> np.ndarray | None:
        """Names of the batches, where the fit knew any."""
        return np.asarray(self.record["batches"], dtype=str) if "batches" in self.record else None

    @property
    def batch_scales(self) -> np.ndarray:
        """Scales of the genes in the batches (genes, batches)."""
        return np.asarray(self._read("varm", self.adata.varm, "batch_scales"))

    @property
    def levels(self) -> np.ndarray:
        """Sums of the genes over those that programs predict (genes,)."""
        return self._read("var", self._var, "levels").to_numpy(dtype=np.float64)

    @property
    def scored(self) -> bool:
        """Whether genes have scores."""
        return Keys(self.key).scores in self.adata.varm

    @property
    def scores(self) -> np.ndarray:
        """How much every gene belongs to every program (genes, rank)."""
        return np.asarray(self._read("varm", self.adata.varm, "scores"))

    @property
    def score_p_values(self) -> np.ndarray | None:
        """P-values of the scores (genes, rank), where the method has them."""
        slot = Keys(self.key).score_p_values
        return np.asarray(self.adata.varm[slot]) if slot in self.adata.varm else None

    @property
    def params(self) -> dict[str, Any]:
        """Parameters of the estimator, and which values it saw."""
        return self.record.get("params", {})

    @property
    def stability(self) -> np.ndarray | None:
        """The share of the fits of a consensus that have each program (rank,); None without one."""
        stability = self.record.get("stability")
        return None if stability is None else np.asarray(stability)

    @property
    def values_from(self) -> dict[str, Any]:
        """Where the values came from, as `genesieve._anndata.read_values` takes it."""
        return {"layer": self.params.get("layer"), "use_raw": bool(self.params.get("use_raw", False))}

    @property
    def directions(self) -> np.ndarray:
        """Leading directions (genes, width) along which the graph of the clusters looks at cells."""
        return np.asarray(self._read("varm", self.adata.varm, "directions"), dtype=np.float64)

    @property
    def reference(self) -> Reference | None:
        """Cells with their clusters, which new ones follow; None for a fit without clusters on a graph."""
        kept = self.record.get("clusters")
        if kept is None or Keys(self.key).directions not in self.adata.varm:
            return None
        usages, scores, labels = (np.asarray(kept[name]) for name in ("usages", "scores", "labels"))
        count, of_same = int(kept["n_clusters"]), labels.shape == usages.shape[:1] == scores.shape[:1]
        numbers = labels.dtype.kind in "iu" and bool(((labels >= 0) & (labels < count)).all())
        if not (usages.ndim == scores.ndim == 2 and of_same and numbers):
            raise ValueError(
                f"adata.uns[{self.key!r}]['clusters'] must have usages, scores and labels of the same cells, labels"
                f" below {count}, got shapes {usages.shape}, {scores.shape} and {labels.shape}: run gs.tl.cluster again"
            )
        return Reference(Cells(usages, scores), labels, count)

    @property
    def scale(self) -> np.ndarray:
        """From the public gauge to the solver's (rank,)."""
        return np.asarray(self.params["gauge_scale"])

    @property
    def penalty(self) -> Penalty:
        """The penalty that usages were found with."""
        return unpack_penalty(self.params["penalty"])


def read_fit(adata: AnnData, key: str, *, name: str = "adata") -> Fit:
    """The fit under ``key``, or an error that lists the fits there are."""
    check_anndata(adata, name)
    if not _holds_fit(adata, key):
        fits = [other for other in adata.varm if _holds_fit(adata, other)]
        found = f"; fits found: {listing(fits)}" if fits else ""
        raise KeyError(f"no fit {key!r} in {name}: run gs.tl.ssnmf(..., key_added={key!r}) first{found}")
    return Fit(adata, key)


def _holds_fit(adata: AnnData, key: str) -> bool:
    keys = Keys(key)
    return keys.fit in adata.uns and keys.weights in adata.varm and keys.usages in adata.obsm


def read_projection(adata: AnnData, key: str) -> Projection:
    """The fit or projection under ``key``, or an error that lists what there is."""
    check_anndata(adata)
    slot = Keys(key).usages
    if slot not in adata.obsm:
        raise KeyError(f"no usages {slot!r}: run gs.tl.ssnmf or gs.tl.project first{choices('obsm', adata.obsm)}")
    return Projection(adata, key)


def read_selection(adata: AnnData, key: str) -> dict[str, Any]:
    """How many programs and genes are suggested, and the evidence."""
    return _found_before(adata, Keys(key).select, "select")


def read_path(adata: AnnData, key: str) -> pd.DataFrame:
    """How fits with other budgets of genes do."""
    return _found_before(adata, Keys(key).path, "path")


def _found_before(adata: AnnData, slot: str, function: str) -> Any:
    """What a function of `genesieve.tl` that needs no fit left in ``uns``."""
    check_anndata(adata)
    if slot not in adata.uns:
        raise KeyError(f"adata.uns has no {slot!r}, run gs.tl.{function} first; {_contents('uns', adata.uns)}")
    return adata.uns[slot]


def read_column(adata: AnnData, column: str, rule: str) -> pd.Series:
    """A column of ``obs`` that the caller names, by a ``rule`` such as ``"known must name a column"``."""
    columns = table_of(adata.obs)
    if column not in columns:
        raise KeyError(f"{rule} of adata.obs, got {column!r}; {_contents('obs', columns)}")
    return columns[column]


def read_colors(adata: AnnData, column: str) -> list[str]:
    """Colours of the categories of an ``obs`` column, where scanpy keeps them; none if it has not."""
    return [str(color) for color in adata.uns.get(f"{column}_colors", ())]


def read_preparation(adata: AnnData) -> dict[str, Any]:
    """What `genesieve.pp.prepare` did; nothing if it was not run."""
    return adata.uns.get(PREPARE, {})


def read_log_base(adata: AnnData) -> float:
    """The base of the logarithm that scanpy says it took; e where it says nothing."""
    return float(adata.uns.get("log1p", {}).get("base") or np.e)


def check_anndata(adata: object, name: str = "adata") -> None:
    """Raise unless it is an AnnData."""
    if not hasattr(adata, "obsm"):
        raise TypeError(f"{name} must be an AnnData, got {type(adata).__name__}")


def table_of(frame: Any) -> pd.DataFrame:
    """``obs`` or ``var``, also that of a lazy AnnData, as a table in memory."""
    return frame if isinstance(frame, pd.DataFrame) else frame.to_memory()


def _contents(where: str, slots: Any) -> str:
    return f"adata.{where} has {listing(list(slots)) or 'nothing'}"
