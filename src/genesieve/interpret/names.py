"""Names for programs from sets of marker genes, each with its evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from genesieve.interpret.genesets import over_representation, rank_enrichment

MIN_SIZE = 2  # of a marker set: published ones have few genes
LONGEST_COUNT = 1000  # programs that could share a name


@dataclass(frozen=True)
class Suggestion:
    """The set that fits a program best, and the next."""

    name: str  # empty where no set passes
    term: str  # the set, whether it passes or not
    p_value: float
    p_adjusted: float
    auc: float  # chance that a gene of the set scores above another
    set_size: int
    shared: list[str]  # genes of the set among the program's markers
    runner_up: str  # empty if there is one set only
    runner_up_p_adjusted: float


def suggest_names(
    scores: np.ndarray,
    markers: Sequence[Sequence[str]],
    gene_sets: Mapping[str, Sequence[str]],
    genes: Sequence[str],
    *,
    fdr: float,
    min_size: int = MIN_SIZE,
    max_size: int | None = None,
) -> list[Suggestion]:
    """The set whose genes score highest in every program, by scores (genes, programs); its name if it passes the rate.

    ``markers`` are the leading genes of every program. A set has to share one to give its name, so sets that do come
    first; they are ranked by the rank-sum test, equals by how many markers they share. Programs with the same name are
    told apart by the leading gene of each.
    """
    ranked = rank_enrichment(scores, gene_sets, genes, min_size=min_size, max_size=max_size)
    overlap = over_representation(markers, gene_sets, genes, min_size=min_size, max_size=max_size)
    found = []
    for program in range(scores.shape[1]):
        n_shared = overlap.overlap[program]
        order = np.lexsort((-ranked.auc[program], -n_shared, ranked.p_value[program], n_shared == 0))
        best, others = int(order[0]), order[1:2]
        adjusted, shared = float(ranked.p_adjusted[program, best]), overlap.shared[program][best]
        passes = adjusted <= fdr and ranked.auc[program, best] > 0.5 and len(shared) > 0
        found.append(
            Suggestion(
                name=ranked.sets[best] if passes else "",
                term=ranked.sets[best],
                p_value=float(ranked.p_value[program, best]),
                p_adjusted=adjusted,
                auc=float(ranked.auc[program, best]),
                set_size=int(ranked.set_sizes[best]),
                shared=shared,
                runner_up="".join(ranked.sets[other] for other in others),
                runner_up_p_adjusted=float(ranked.p_adjusted[program, others[0]]) if len(others) else 1.0,
            )
        )
    return found


def told_apart(names: Sequence[str], markers: Sequence[Sequence[str]]) -> list[str]:
    """Names without repeats: those that several programs have are followed by the program's leading gene, or a number.

    An empty name stays empty.
    """
    counts = Counter(name for name in names if name)
    apart: list[str] = []
    for name, genes in zip(names, markers, strict=True):
        choices = [name] if not name or counts[name] == 1 else [f"{name} ({gene})" for gene in genes]
        choices += [f"{name} ({number})" for number in range(2, LONGEST_COUNT)]
        taken = {*apart, *(other for other in counts if other != name)} - {""}
        apart.append(next(choice for choice in choices if choice not in taken))
    return apart
