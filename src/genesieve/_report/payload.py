"""Data for the page's script: JSON that no name can break out of, numbers as base64 of typed arrays."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import matplotlib as mpl
import numpy as np
from markupsafe import Markup
from matplotlib.colors import to_hex

from genesieve._report.findings import Findings, Grouping
from genesieve.pl._layout import Layout
from genesieve.pl._style import SEQUENTIAL
from genesieve.tl._tables import ALPHA

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


def make_payload(findings: Findings, shown: np.ndarray, layout: Layout, sets: list[list[Any]]) -> Markup:
    """All that the script needs."""
    return as_json(
        {
            "programs": {
                "names": findings.programs.names,
                "titles": [findings.programs.title(i, 60) for i in range(len(findings.programs))],
                "colors": findings.programs.colors,
                "sizes": np.bincount(findings.programs.of_cell, minlength=len(findings.programs)).tolist(),
            },
            "clusters": {**_names(findings.clusters), "same": findings.clusters_are_programs},
            "known": None if findings.known is None else _names(findings.known),
            "confidence": findings.confidence.title,
            "cells": _cells(findings, shown, layout),
            "genes": _genes(findings),
            "sets": sets,
            "alpha": ALPHA,
            "ramp": [to_hex(color) for color in mpl.colormaps[SEQUENTIAL](np.linspace(0, 1, RAMP_STOPS))],
        }
    )


def _names(groups: Grouping) -> dict[str, Any]:
    return {"title": groups.title, "names": groups.names, "colors": groups.colors, "sizes": groups.sizes.tolist()}


def _cells(findings: Findings, shown: np.ndarray, layout: Layout) -> dict[str, Any]:
    usages = findings.programs.usages[shown].T.astype(np.float64)  # (programs, cells shown)
    top = usages.max(axis=1, initial=0.0)
    x, y = _on_a_square(layout.places)
    return {
        "names": findings.cells[shown].tolist(),
        "x": pack(x, "uint16"),
        "y": pack(y, "uint16"),
        "cluster": pack(_codes(findings.clusters.of_cell[shown]), "uint16"),
        "program": None if findings.clusters_are_programs else pack(findings.programs.of_cell[shown], "uint16"),
        "known": None if findings.known is None else pack(_codes(findings.known.of_cell[shown]), "uint16"),
        "confidence": pack(np.rint(findings.confidence.values[shown] * TOP), "uint16"),
        "outliers": 0 if findings.outliers is None else int(findings.outliers.sum()),  # among all cells, as sizes are
        "total": len(findings.cells),
        "outlier": None if findings.outliers is None else pack(findings.outliers[shown], "uint8"),
        "usages": pack(np.rint(usages / np.where(top > 0, top, 1.0)[:, None] * TOP), "uint16"),
        "top": top.tolist(),
    }


def _genes(findings: Findings) -> dict[str, Any]:
    return {
        "names": findings.genes.tolist(),
        "weights": pack(findings.weights, "float32"),
        "scores": pack(findings.scores, "float32"),
        "standing": [np.flatnonzero(row).tolist() for row in findings.standing_out],
    }


def _codes(of_cell: np.ndarray) -> np.ndarray:
    return np.where(of_cell >= 0, of_cell, MISSING)


def _on_a_square(places: np.ndarray) -> np.ndarray:
    """Coordinates (2, cells) as whole numbers on a square, shape kept; cells without a place are marked."""
    places = places.astype(np.float64)  # a map that was kept and one that is new are alike
    there = np.isfinite(places).all(axis=1)
    if not there.any():
        return np.full(places.T.shape, MISSING)
    low, high = places[there].min(axis=0), places[there].max(axis=0)
    half = max((high / 2 - low / 2).max(), np.finfo(float).tiny)  # halved first: the largest numbers have no sum
    scaled = (np.where(there[:, None], places, low) - (low / 2 + high / 2)) / half  # -1 to 1 along the longer side
    return np.where(there[:, None], np.rint((scaled + 1) / 2 * TOP), MISSING).T
