"""How many genes the steps of a fit with a budget look at: to try starts on, to find programs with, to be sure of."""

from __future__ import annotations

# A first fit chooses so many genes for each program, and at least so many, and starts are tried on these alone: among
# all genes, noise hides programs of few genes from most starts. On planted programs, 500 of them led nine of ten starts
# to the minimum with all programs; of ten on 1,000, three showed it, and weakly.
CHOSEN_GENES_EACH = 40
CHOSEN_GENES = 500
# Before the last step genes are chosen anew, from usages on this share of the budget, its best genes: one at the edge
# draws usages to itself once it is in, and so would stay in, or out, as it was by chance (docs/programs.md). From too
# few genes usages are of noise: these are at least so many, and so many for each program.
CORE_GENES = 0.15
LEAST_CORE_GENES = 100
CORE_GENES_EACH = 20
# Below so many genes all of a budget is too few to choose by: programs are found with a wider one, of so many genes, or
# of this share of all genes where that is less, and the genes that they explain best are the budget. It is left alone
# where the wider one would not be so many times as wide (docs/genes.md).
SMALL_BUDGET = 500
WIDER_BUDGET = 2000
WIDEST_SHARE = 0.25
LEAST_WIDENING = 2


def chosen(rank: int) -> int:
    """So many genes are chosen to try starts on."""
    return max(CHOSEN_GENES, CHOSEN_GENES_EACH * rank)


def wider(n_genes: int, n_all: int) -> int:
    """The budget that programs are found with, where ``n_genes`` of ``n_all`` are asked for."""
    found_with = min(WIDER_BUDGET, int(WIDEST_SHARE * n_all))
    return found_with if n_genes < SMALL_BUDGET and found_with >= LEAST_WIDENING * n_genes else n_genes


def core(n_genes: int, rank: int) -> int:
    """So many of the budget's best genes are sure enough to choose the others by; all, where it has no more."""
    return min(max(round(CORE_GENES * n_genes), LEAST_CORE_GENES, CORE_GENES_EACH * rank), n_genes)
