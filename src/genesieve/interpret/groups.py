"""Rows and groups of them: small things that labels and clusters share."""

from __future__ import annotations

import numpy as np

# Usages this far from 1, as some are without a gauge, have squares that leave single precision.
FAR = 1e15


def margin(H: np.ndarray) -> np.ndarray:
    """By how much of itself the largest of a row exceeds the second."""
    if H.shape[1] == 1:
        return np.ones(len(H))
    second, first = np.partition(H.astype(np.float64), -2, axis=1)[:, -2:].T
    return np.asarray(1.0 - np.divide(second, first, out=np.ones_like(first), where=first > 0))


def by_size(labels: np.ndarray) -> np.ndarray:
    """The same clusters, the largest first."""
    return np.asarray(places_by_size(labels)[labels])


def places_by_size(labels: np.ndarray, n_clusters: int = 0) -> np.ndarray:
    """Where every cluster stands, 0 for the largest; ``n_clusters`` counts those without cells, too."""
    order = np.argsort(-np.bincount(labels, minlength=n_clusters), kind="stable")
    return np.asarray(np.argsort(order, kind="stable"))


def centers_of(points: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Mean of the points of every cluster (clusters, dimensions)."""
    return np.array([points[labels == cluster].mean(axis=0) for cluster in range(labels.max() + 1)])


def directions(H: np.ndarray) -> np.ndarray:
    """Rows at unit length; empty ones stay so."""
    largest = float(np.abs(H).max(initial=0.0))
    if largest > 0 and not 1 / FAR < largest < FAR:
        H = H / largest
    lengths = np.linalg.norm(H, axis=1, keepdims=True)
    return np.asarray(np.divide(H, lengths, out=np.zeros_like(H), where=lengths > 0))
