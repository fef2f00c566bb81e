"""``genesieve methods``: the paper's methods by name."""

from __future__ import annotations

from genesieve.cli._screen import LEFT, Json, print_json, table

# In the order of `genesieve.METHODS`, which is not imported for it: a list should come at once.
EXPLAINED = {
    "nmf": "plain NMF: programs on all genes",
    "nmf_l20": "a budget of genes in all: a gene is in for every program or out",
    "nmf_lc0": "a budget of genes for each program",
    "nmf_l0": "a budget of weights, shared between programs as the fit sees best",
    "onmf": "orthogonal NMF: each cell in one program, on all genes",
    "onmf_l20": "one program a cell, and a budget of genes in all (the paper's main method)",
    "onmf_l20_rho": "as onmf_l20, with a fixed penalty: programs may share some cells",
    "onmf_lc0": "one program a cell, and a budget of genes for each program",
    "onmf_l0": "one program a cell, and a budget of weights",
    "kmeans": "k-means on all genes, the baseline (Python only)",
    "kmeans_l0": "sparse k-means on a budget of genes (Python only)",
    "kmeans_l1": "sparse k-means with a bound on the genes' weights (Python only)",
}


def methods(as_json: Json = False) -> None:
    """List the paper's methods by name."""
    if as_json:
        print_json(EXPLAINED)
    else:
        table("Methods of the paper", {"name": LEFT, "what it does": LEFT}, [[*pair] for pair in EXPLAINED.items()])
