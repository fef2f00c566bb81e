"""The door of a panel: which genes may be in it and under which limits, checked before any work."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd

from genesieve._anndata import find_genes, unknown_genes
from genesieve._checks import check_integer, check_number
from genesieve.interpret.panels import Limit, Rules
from genesieve.tl.fit import given_genes

if TYPE_CHECKING:
    from anndata import AnnData

GENE, COST = "gene", "cost"  # columns of a table of allowed genes
Allowed: TypeAlias = Sequence[str] | pd.Series | pd.DataFrame | None


@dataclass(frozen=True)
class Limits:
    """Limits on the genes of a panel, as the caller gave them."""

    max_cost: float | None = None
    expression: tuple[float, float] | None = None
    max_expression: float | None = None
    min_per_program: int = 0

    def check(self) -> None:
        """Raise about limits that no panel could meet."""
        for name in ("max_cost", "max_expression"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name))
        check_integer("min_per_program", self.min_per_program, 0)
        if self.expression is None:
            return
        bounds = np.asarray(self.expression, dtype=np.float64)
        if bounds.shape != (2,) or not 0 <= bounds[0] <= bounds[1]:
            raise ValueError(f"expression must be two numbers, 0 <= least <= largest, got {self.expression!r}")


@dataclass(frozen=True)
class Request:
    """What a panel is asked to be; masks go by the genes of the object."""

    n_genes: int
    given: np.ndarray  # genes that it may be chosen from, and those to include
    included: np.ndarray
    costs: np.ndarray
    limits: Limits

    @classmethod
    def of(
        cls,
        adata: AnnData,
        given: np.ndarray | None,
        n_genes: int,
        include_genes: Sequence[str] | None,
        exclude_genes: str | Sequence[str] | None,
        allowed: Allowed,
        limits: Limits | None = None,
    ) -> Request:
        """Check what was asked for against the genes given to the fit (a mask), or all that there are."""
        limits = limits or Limits()
        limits.check()
        included = np.zeros(adata.n_vars, dtype=bool)
        if include_genes is not None:
            included = find_genes(adata, include_genes, "include_genes")
        _warn_unknown(adata, exclude_genes)
        costs = _costs(adata, allowed)
        if limits.max_cost is not None and allowed is None:
            raise ValueError(f"max_cost must come with allowed genes and their costs, got {limits.max_cost} alone")
        there = ~np.isnan(costs) if given is None else given & ~np.isnan(costs)
        given = given_genes(adata, there, exclude_genes, included)
        usable = "allowed ones" if allowed is not None or exclude_genes is not None else "genes given"
        why = f"the genes to include and the {usable}"
        check_integer("n_genes", n_genes, max(int(included.sum()), 1), int(given.sum()), why=why)
        return cls(n_genes, given, included, np.where(np.isnan(costs), 0.0, costs), limits)

    def rules(self, programs: np.ndarray, expression: np.ndarray, rank: int) -> Rules:
        """The rules for the genes given, or an error that says which limit is in the way."""
        limits, required = self.limits, self.included[self.given]
        least, largest = limits.expression or (0.0, np.inf)
        allowed = ((expression >= least) & (expression <= largest)) | required
        if allowed.sum() < self.n_genes:
            raise ValueError(
                f"expression must leave {self.n_genes} genes to choose from, got {int(allowed.sum())} of"
                f" {len(allowed)} between {least:g} and {largest:g}"
            )
        sums = {
            "max_cost": (self.costs[self.given], limits.max_cost),
            "max_expression": (expression, limits.max_expression),
        }
        bounds = [Limit(name, values, most) for name, (values, most) in sums.items() if most is not None]
        rules = Rules(allowed, required, programs, limits.min_per_program, bounds)
        self._check_possible(rules, rank)
        return rules

    def _check_possible(self, rules: Rules, rank: int) -> None:
        free = rules.allowed & ~rules.required
        for limit in rules.limits:
            places = self.n_genes - int(rules.required.sum())
            least = limit.values[rules.required].sum() + np.sort(limit.values[free])[:places].sum()
            if least > limit.most * (1 + 1e-9):
                raise ValueError(
                    f"{limit.name} must be at least {least:.4g} for {self.n_genes} genes, those to include among them,"
                    f" got {limit.most:g}"
                )
        wanted = rules.min_per_program
        there = np.bincount(rules.programs[rules.allowed], minlength=rank)
        if (there < wanted).any():
            program = int(there.argmin())
            raise ValueError(
                f"min_per_program must be at most {there[program]}, the allowed genes that speak for program {program},"
                f" got {wanted}"
            )
        already = np.bincount(rules.programs[rules.required], minlength=rank)
        needed = int(np.maximum(wanted - already, 0).sum() + rules.required.sum())
        if needed > self.n_genes:
            raise ValueError(
                f"n_genes must be at least {needed} for {wanted} genes in each of {rank} programs and those to include,"
                f" got {self.n_genes}"
            )


def _warn_unknown(adata: AnnData, exclude_genes: str | Sequence[str] | None) -> None:
    """Lists of genes to leave out are often longer than the data, so names that they lack are told, not refused."""
    if exclude_genes is None or isinstance(exclude_genes, str):
        return
    unknown = unknown_genes(adata, exclude_genes)
    if unknown:
        warnings.warn(f"exclude_genes has {unknown}", stacklevel=2)


def check_request(
    adata: AnnData,
    n_genes: int,
    *,
    include_genes: Sequence[str] | None = None,
    exclude_genes: str | Sequence[str] | None = None,
    allowed: Allowed = None,
    **limits: Any,
) -> None:
    """Raise about what could not be had from these genes, before there is a fit."""
    Request.of(adata, None, n_genes, include_genes, exclude_genes, allowed, Limits(**limits))


def _costs(adata: AnnData, allowed: Allowed) -> np.ndarray:
    """The cost of every gene of the object, NaN for one that is not allowed; 1 where no costs are told."""
    if allowed is None:
        return np.ones(adata.n_vars)
    costs = _as_series(allowed)
    if costs.index.has_duplicates:
        repeated = costs.index[costs.index.duplicated()][0]
        raise ValueError(f"allowed must name each gene once, got {repeated!r} more than once")
    numbers = pd.to_numeric(costs, errors="coerce").astype(float)
    if numbers.isna().any() or (numbers < 0).any():
        gene = costs.index[(numbers.isna() | (numbers < 0)).to_numpy()][0]
        raise ValueError(f"allowed must have costs that are numbers >= 0, got {costs[gene]!r} for {gene!r}")
    found = numbers.reindex(adata.var_names.astype(str)).to_numpy(copy=True)
    if np.isnan(found).all():
        raise ValueError(
            f"allowed must name genes of adata, got none of them: names like {list(costs.index[:3])}, adata has names"
            f" like {list(adata.var_names[:3])}"
        )
    return np.asarray(found)


def _as_series(allowed: Any) -> pd.Series:
    if isinstance(allowed, pd.DataFrame):
        genes = allowed[GENE] if GENE in allowed else pd.Series(allowed.index)
        costs = allowed[COST].to_numpy() if COST in allowed else np.ones(len(allowed))
        return pd.Series(costs, index=genes.astype(str).to_numpy())
    if isinstance(allowed, pd.Series) and allowed.dtype.kind in "biuf":
        return pd.Series(allowed.to_numpy(), index=allowed.index.astype(str))
    if isinstance(allowed, str):
        raise TypeError(f"allowed must be names, a series of costs or a table, got the string {allowed!r}")
    names = list(dict.fromkeys(str(gene) for gene in allowed))
    return pd.Series(np.ones(len(names)), index=names)
