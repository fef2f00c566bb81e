"""The methods, one row each. Given cells, the number of clusters and a seed, each labels every cell."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.harness.peers import Peer, packages
from benchmarks.quality.peers import cnmf, leiden, others, ours

OURS, SKLEARN = packages("genesieve", "numpy", "scipy", "scikit-learn"), packages("scikit-learn")
SCANPY = packages("scanpy", "igraph")


def published(name: str) -> partial[np.ndarray]:
    return partial(ours.published, name=name)


# Groups: genesieve as it is used, its peers, and parts of it that are measured for a goal alone.
PEERS: dict[str, Peer] = {
    "genesieve": Peer("genesieve", "genesieve", ours.ssnmf, OURS),
    "genesieve_kmeans": Peer("genesieve, k-means labels", "genesieve", partial(ours.ssnmf, labels="kmeans"), OURS),
    "genesieve_graph": Peer("genesieve, graph labels", "genesieve", partial(ours.ssnmf, labels="leiden"), OURS),
    "genesieve_clusters": Peer("genesieve, clusters beside programs", "genesieve", ours.clusters, OURS),
    "leiden_pca": Peer("Leiden on PCA", "peer", leiden.told_the_number, SCANPY),
    "leiden_default": Peer("Leiden on PCA, resolution 1", "peer", leiden.at_default, SCANPY),
    "kmeans": Peer("k-means", "peer", others.kmeans, SKLEARN),
    "kmeans_l0": Peer("sparse k-means (l0)", "peer", partial(ours.sparse_kmeans, penalty="l0"), OURS),
    "kmeans_l1": Peer("sparse k-means (l1)", "peer", partial(ours.sparse_kmeans, penalty="l1"), OURS),
    "sklearn_nmf": Peer("scikit-learn NMF", "peer", others.sklearn_nmf, SKLEARN),
    "cnmf": Peer("cNMF", "peer", cnmf.run, cnmf.versions),
    "nmf_l20": Peer("NMF_l20 (paper)", "peer", published("nmf_l20"), OURS),
    "onmf_l20": Peer("ONMF_l20 (paper)", "peer", published("onmf_l20"), OURS),
    "onmf_l20_rho": Peer("ONMF_l20 fixed rho (paper)", "peer", published("onmf_l20_rho"), OURS),
    "genesieve_single": Peer("genesieve, one start", "part", ours.single_start, OURS),
}


def of_group(*groups: str) -> list[str]:
    """Names of the methods of some groups, in order."""
    return [name for name, peer in PEERS.items() if peer.group in groups]
