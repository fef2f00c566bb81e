"""What a panel may hold: genes that must or must not be in it, limits on sums over its genes, genes a program."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np


@dataclass(frozen=True)
class Limit:
    """A sum over the genes of a panel that must not exceed ``most``."""

    name: str  # of the argument that sets it
    values: np.ndarray  # (genes,)
    most: float

    def room_for(self, used: float, free: np.ndarray, places: int) -> np.ndarray:
        """Mask of the genes that leave room for the cheapest others in the places after them."""
        cheapest = np.sort(self.values[free])[: max(places - 1, 0)].sum()
        return np.asarray(self.values <= self.most - used - cheapest + 1e-9 * abs(self.most))


@dataclass(frozen=True)
class Rules:
    """Which genes may come next; masks and numbers go by gene."""

    allowed: np.ndarray  # (genes,)
    required: np.ndarray  # (genes,): come first
    programs: np.ndarray  # (genes,): the program that a gene speaks for
    min_per_program: int = 0
    limits: list[Limit] = field(default_factory=list)

    def pool(self, gains: np.ndarray, most: int) -> np.ndarray:
        """Genes (indices) worth looking at: those that gain most alone; where sums are limited, all that may be in."""
        usable = np.flatnonzero(self.allowed | self.required)
        if self.limits or self.min_per_program or len(usable) <= most:
            return usable
        best = usable[np.argsort(-gains[usable], kind="stable")[:most]]
        return np.union1d(best, np.flatnonzero(self.required))

    def of(self, genes: np.ndarray) -> Rules:
        """The same for some of the genes."""
        by_gene = {name: getattr(self, name)[genes] for name in ("allowed", "required", "programs")}
        limits = [replace(limit, values=limit.values[genes]) for limit in self.limits]
        return replace(self, **by_gene, limits=limits)

    def candidates(self, chosen: list[int], places: int) -> np.ndarray:
        """Mask of the genes that may follow those chosen, with so many places left."""
        free = self.allowed | self.required
        free[chosen] = False
        if (free & self.required).any():
            return np.asarray(free & self.required)
        may = free.copy()
        for limit in self.limits:
            may &= limit.room_for(float(limit.values[chosen].sum()), free, places)
        lacking = self._lacking(chosen)
        wanted = may & np.isin(self.programs, lacking)
        return np.asarray(wanted if wanted.any() else may)

    def _lacking(self, chosen: list[int]) -> np.ndarray:
        """Programs with fewer genes than asked for."""
        counts = np.bincount(self.programs[chosen], minlength=int(self.programs.max(initial=0)) + 1)
        return np.asarray(np.flatnonzero(counts < self.min_per_program))
