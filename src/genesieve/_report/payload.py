"""Data for the page's script: JSON that no name can break out of, numbers as base64 of typed arrays."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import matplotlib as mpl
import numpy as np
from markupsafe import Markup
from matplotlib.colors import to_hex

from genesieve._report.layout import Layout
from genesieve._report.source import Grouping, Source
from genesieve.interpret.genes import specificity, z_scores
from genesieve.pl._style import SEQUENTIAL

MISSING = 65535  # a place or a group that a cell does not have
TOP = 65534  # the largest value that is one
RAMP_STOPS = 33  # colours of the scale; the script draws straight lines between them

# What could end the script element or a string of an old script engine.
UNSAFE = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


def as_json(data: Any) -> Markup:
    """JSON that is safe inside a script element."""
    return Markup(json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(UNSAFE))


def pack(values: np.ndarray, dtype: str) -> dict[str, str]:
    """An array as its type and base64 of its little-endian bytes."""
    array = np.ascontiguousarray(values).astype(np.dtype(dtype).newbyteorder("<"))
    return {"type": dtype, "data": b64encode(array.tobytes()).decode()}


def make_payload(source: Source, shown: np.ndarray, layout: Layout, sets: list[list[Any]]) -> Markup:
    """All that the script needs."""
    return as_json(
        {
            "programs": {
                "names": source.programs.names,
                "titles": [source.programs.title(i, 60) for i in range(len(source.programs))],
                "colors": source.programs.colors,
            },
            "clusters": {**_names(source.clusters), "same": source.same},
            "known": None if source.known is None else _names(source.known),
            "confidence": source.confidence.title,
            "cells": _cells(source, shown, layout),
            "genes": _genes(source),
            "sets": sets,
            "ramp": [to_hex(color) for color in mpl.colormaps[SEQUENTIAL](np.linspace(0, 1, RAMP_STOPS))],
        }
    )


def _names(groups: Grouping) -> dict[str, Any]:
    return {"title": groups.title, "names": groups.names, "colors": groups.colors, "sizes": groups.sizes.tolist()}


def _cells(source: Source, shown: np.ndarray, layout: Layout) -> dict[str, Any]:
    usages = source.programs.usages[shown].T.astype(np.float64)  # (programs, cells shown)
    top = usages.max(axis=1, initial=0.0)
    x, y = _on_a_square(layout.places)
    return {
        "names": source.cells[shown].tolist(),
        "x": pack(x, "uint16"),
        "y": pack(y, "uint16"),
        "cluster": pack(_codes(source.clusters.of_cell[shown]), "uint16"),
        "known": None if source.known is None else pack(_codes(source.known.of_cell[shown]), "uint16"),
        "confidence": pack(np.rint(source.confidence.values[shown] * TOP), "uint16"),
        "outliers": 0 if source.outliers is None else int(source.outliers.sum()),  # among all cells, as sizes are
        "total": len(source.cells),
        "outlier": None if source.outliers is None else pack(source.outliers[shown], "uint8"),
        "usages": pack(np.rint(usages / np.where(top > 0, top, 1.0)[:, None] * TOP), "uint16"),
        "top": top.tolist(),
    }


def _genes(source: Source) -> dict[str, Any]:
    owner = source.weights.argmax(axis=1) if len(source.genes) else np.zeros(0, dtype=int)
    rows = np.arange(len(owner))
    return {
        "names": source.genes.tolist(),
        "weights": pack(source.weights, "float32"),
        "owner": pack(owner, "uint16"),
        "z": pack(z_scores(source.weights)[rows, owner], "float32"),
        "specificity": pack(specificity(source.weights)[rows, owner], "float32"),
        "standing": [np.flatnonzero(row).tolist() for row in source.standing_out],
    }


def _codes(of_cell: np.ndarray) -> np.ndarray:
    return np.where(of_cell >= 0, of_cell, MISSING)


def _on_a_square(places: np.ndarray) -> np.ndarray:
    """Coordinates (2, cells) as whole numbers on a square, shape kept; cells without a place are marked."""
    there = np.isfinite(places).all(axis=1)
    if not there.any():
        return np.full(places.T.shape, MISSING)
    low, high = places[there].min(axis=0), places[there].max(axis=0)
    half = max((high - low).max() / 2, np.finfo(float).tiny)
    scaled = (places - (low + high) / 2) / half  # from -1 to 1 along the longer side
    return np.where(there[:, None], np.rint((np.nan_to_num(scaled) + 1) / 2 * TOP), MISSING).T
