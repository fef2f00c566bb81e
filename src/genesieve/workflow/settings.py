"""What a run is asked to do: one record, from which the command line, the fit and run.json all read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from genesieve.io import RequestError


def _of_fit(default: Any, keyword: str) -> Any:
    """A setting that is passed to `genesieve.tl.ssnmf` under ``keyword``, unless it is None."""
    return field(default=default, metadata={"keyword": keyword})


@dataclass(frozen=True)
class Settings:
    """Everything that decides a run's result, besides the data and the gene sets."""

    rank: int = _of_fit(None, "n_components")
    genes: int = _of_fit(None, "n_genes")
    cells_in: str | None = None  # rows or columns, of a csv or tsv table
    layer: str | None = None
    use_raw: bool = False
    values: str = "auto"
    min_cells: float | None = None
    preset: str | None = None
    labels: str | None = None  # column of obs with the known types
    method: str | None = None  # one of the paper's factorisations
    orthogonality: str | None = _of_fit(None, "orthogonality")
    sparsity: str | None = _of_fit(None, "sparsity")
    solver: str | None = _of_fit(None, "solver")
    gene_weights: str | None = _of_fit(None, "gene_weights")
    label_rule: str | None = _of_fit(None, "labels")
    clusters: int | None = _of_fit(None, "n_clusters")
    exclude_genes: str | None = _of_fit(None, "exclude_genes")
    restarts: int | None = _of_fit(None, "n_restarts")
    max_iter: int | None = _of_fit(None, "max_iter")
    seed: int = _of_fit(0, "random_state")
    jobs: int | None = _of_fit(None, "n_jobs")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Settings:
        """The settings that `as_dict` wrote."""
        names = {item.name for item in fields(cls)}
        unknown = sorted(set(values) - names)
        if unknown:
            raise RequestError(f"settings must be among {', '.join(sorted(names))}, got {', '.join(unknown)}")
        return cls(**values)

    def as_dict(self) -> dict[str, Any]:
        """Plain types, for run.json."""
        return asdict(self)

    def changed(self, **values: Any) -> Settings:
        """The same with other values."""
        return replace(self, **values)

    def fit_keywords(self) -> dict[str, Any]:
        """Arguments for `genesieve.tl.ssnmf`: those of the method, then those set one by one."""
        chosen = {item.metadata["keyword"]: getattr(self, item.name) for item in fields(self) if item.metadata}
        keywords = {**_of_method(self.method), **{name: value for name, value in chosen.items() if value is not None}}
        if "orthogonality" in keywords:
            keywords["orthogonality"] = _orthogonality(keywords["orthogonality"])
        if keywords.get("gene_weights") == "none":
            keywords["gene_weights"] = None
        return keywords


@dataclass(frozen=True)
class Resources:
    """What a run may use, which has no say in its result."""

    memory: str | None = None  # read the data from their file, within so much memory
    dask: str | None = None  # address of a Dask scheduler
    checkpoint: str | None = None  # file to keep the fit in as it goes

    def fit_keywords(self) -> dict[str, Any]:
        """Arguments for `genesieve.tl.ssnmf`."""
        return {"memory": self.memory, "checkpoint": self.checkpoint}


def _of_method(name: str | None) -> dict[str, Any]:
    """Keywords of a factorisation of the paper."""
    from genesieve.estimators.methods import METHODS, Factorisation

    if name is None:
        return {}
    factorisations = {known: recipe for known, recipe in METHODS.items() if isinstance(recipe, Factorisation)}
    if name not in factorisations:
        raise RequestError(f"method must be one of {', '.join(factorisations)}, got {name!r}")
    model = factorisations[name](2).get_params()
    return {keyword: model[keyword] for keyword in ("sparsity", "orthogonality", "init", "solver", "gauge")}


def _orthogonality(value: float | str) -> float | str:
    try:
        return value if value in ("exact", "auto") else float(value)
    except ValueError:
        raise RequestError(f"orthogonality must be a number, 'exact' or 'auto', got {value!r}") from None
