"""A fit as plain types in the slots of an AnnData, and back."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from genesieve._anndata import fit_of, table_of
from genesieve._slots.keys import Keys
from genesieve.core.objective import Penalty, gram_of, pack_penalty, unpack_penalty
from genesieve.estimators._parameters import RECORDED
from genesieve.estimators.ssnmf import SSNMF
from genesieve.interpret.labels import Labelling

if TYPE_CHECKING:
    from anndata import AnnData

BUDGETS = {"rows": "_l20", "columns": "_lc0", "entries": "_l0", None: ""}


@dataclass(frozen=True)
class Fit:
    """A fit read from its slots."""

    params: dict[str, Any]
    usages: np.ndarray  # H (cells, rank)
    weights: np.ndarray  # W (genes, rank), public gauge
    scale: np.ndarray  # (rank,), from the public gauge to the solver's
    penalty: Penalty
    given: np.ndarray  # mask of the genes that the model could choose from
    gene_weights: np.ndarray | None
    centers: np.ndarray | None  # of the clusters (clusters, rank); None where labels are programs

    @property
    def labels(self) -> np.ndarray:
        """The program that each cell uses most."""
        return self.usages.argmax(axis=1)


def read_fit(adata: AnnData, key: str, *, name: str = "adata") -> Fit:
    """The fit under ``key``."""
    keys, record = Keys(key), fit_of(adata, key, name=name)
    columns, params, centers = table_of(adata.var), record["params"], record.get("cluster_centers")
    return Fit(
        params=params,
        usages=np.asarray(adata.obsm[keys.usages]),
        weights=np.asarray(adata.varm[keys.weights]),
        scale=np.asarray(params["gauge_scale"]),
        penalty=unpack_penalty(params["penalty"]),
        given=columns[keys.given].to_numpy(dtype=bool) if keys.given in columns else np.ones(adata.n_vars, dtype=bool),
        gene_weights=columns[keys.gene_weights].to_numpy() if keys.gene_weights in columns else None,
        centers=None if centers is None else np.asarray(centers),
    )


def write_fit(adata: AnnData, key: str, model: SSNMF, H: np.ndarray, given: np.ndarray, source: dict[str, Any]) -> None:
    """Fill the slots of a fit; ``source`` says where the values came from. What an older fit led to is removed."""
    keys = Keys(key)
    _forget(adata, keys)
    weights = np.zeros((adata.n_vars, H.shape[1]), dtype=model.components_.dtype)
    weights[given] = model.components_.T
    adata.varm[keys.weights] = weights
    adata.var[keys.selected] = (weights != 0).any(axis=1)
    adata.var[keys.given] = given
    if model.gene_weights_ is not None:
        gene_weights = np.zeros(adata.n_vars)
        gene_weights[given] = model.gene_weights_
        adata.var[keys.gene_weights] = gene_weights
    write_usages(adata, keys, H, Labelling(model.labels_, model.confidence_, model.cluster_centers_))
    clusters = {} if model.cluster_centers_ is None else {"cluster_centers": model.cluster_centers_}
    adata.uns[keys.fit] = {
        **clusters,
        "params": {**_pack_params(model), **source},
        "objective": float(model.objective_),
        "history": {name: np.asarray(course) for name, course in model.history_.items()},
        "method": _method(model),
        "gene_gram": gram_of(model.components_.T),
        "converged": bool(model.converged_),
        "reconstruction_err": float(model.reconstruction_err_),
        "explained": float(model.explained_),
    }


def write_usages(adata: AnnData, keys: Keys, H: np.ndarray, found: Labelling) -> None:
    """Usages, and the labels that follow from them."""
    n_labels = H.shape[1] if found.centers is None else len(found.centers)
    adata.obsm[keys.usages] = H
    adata.obs[keys.labels] = pd.Categorical.from_codes(found.labels, categories=[str(i) for i in range(n_labels)])
    adata.obs[keys.confidence] = found.confidence


def _pack_params(model: SSNMF) -> dict[str, Any]:
    """Parameters that say what was fitted. None is written as no entry: not every file format has it."""
    params = {name: getattr(model, name) for name in RECORDED}
    if not isinstance(params["init"], str):
        params["init"] = "given"
    params["orthogonality"] = model.orthogonality_  # what "auto" stood for
    weighted, named = model.gene_weights_ is not None, isinstance(model.gene_weights, str)
    params["gene_weights"] = "none" if not weighted else "variation" if named else "given"
    if not isinstance(params["random_state"], Integral):
        params["random_state"] = None
    written = {name: value for name, value in params.items() if value is not None}
    return {**written, "gauge_scale": np.asarray(model.gauge_scale_), "penalty": pack_penalty(model.penalty_)}


def _method(model: SSNMF) -> str:
    """The model's name as the paper builds it: nmf, nmf_l20, onmf_l20, onmf_l20_rho and so on."""
    budget = BUDGETS[model.sparsity if model.n_genes is not None else None]
    if model.orthogonality_ == "exact":
        return f"onmf{budget}"
    return f"onmf{budget}_rho" if float(model.orthogonality_) > 0 else f"nmf{budget}"


def _forget(adata: AnnData, keys: Keys) -> None:
    """Remove what was derived from an older fit under the same key."""
    for name in keys.derived:
        adata.uns.pop(name, None)
    for frame, names in ((adata.obs, (keys.outlier, keys.outlier_score)), (adata.var, (keys.gene_weights,))):
        for name in names:
            if name in frame:
                del frame[name]
