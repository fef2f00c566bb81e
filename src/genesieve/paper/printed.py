"""What the paper prints, and the published numbers behind its figure 3.

Tables are in per cent, as printed. Misprints are resolved in the text of the reports, never in these numbers.
"""

from __future__ import annotations

from typing import NamedTuple

# Our names for the paper's methods, and how the paper writes them, in the order of its table 2.
NAMES = {
    "nmf_l20": "NMF_l20",
    "onmf_l20_rho": "ONMF_l20_rho",
    "onmf_l20": "ONMF_l20",
    "onmf_lc0": "ONMF_lc0",
    "onmf_l0": "ONMF_l0",
    "nmf_l0": "NMF_l0",
    "nmf_lc0": "NMF_lc0",
    "onmf": "ONMF",
    "nmf": "NMF",
    "kmeans": "Kmeans",
    "kmeans_l0": "Kmeans_l0",
    "kmeans_l1": "Kmeans_l1",
}


class Score(NamedTuple):
    """A mean over ten starts and their standard deviation."""

    mean: float
    sd: float


class Row(NamedTuple):
    """A row of table 2, in per cent."""

    genes: str
    nmi: Score
    purity: Score
    entropy: Score


def _row(genes: str, *numbers: float) -> Row:
    return Row(genes, Score(*numbers[0:2]), Score(*numbers[2:4]), Score(*numbers[4:6]))


# NMI, arithmetic mean of the entropies: the numbers behind the bars, which the paper shows without values.
FIG3 = {
    "onmf_l20": Score(0.8595, 0.0207),
    "onmf_l20_rho": Score(0.8437, 0.0124),
    "nmf_l20": Score(0.8366, 0.0100),
    "kmeans": Score(0.8095, 0.1169),
    "onmf": Score(0.7951, 0.0943),
    "kmeans_l0": Score(0.7494, 0.1309),
    "onmf_lc0": Score(0.7445, 0.0530),
    "nmf": Score(0.6692, 0.0271),
    "nmf_lc0": Score(0.6574, 0.0239),
    "kmeans_l1": Score(0.4975, 0.0350),
    "nmf_l0": Score(0.4880, 0.0607),
    "onmf_l0": Score(0.4587, 0.0608),
}

# Mean and sd of NMI, purity and entropy. NMF is not in the table.
TABLE2 = {
    "pollen": {
        "nmf_l20": _row("2000", 85.87, 1.29, 91.86, 0.23, 19.10, 0.97),
        "onmf_l20_rho": _row("2000", 84.96, 0.86, 91.69, 0.16, 19.79, 0.61),
        "onmf_l20": _row("2000", 80.71, 3.56, 89.30, 2.76, 24.34, 4.30),
        "onmf_lc0": _row("*", 81.62, 0.32, 90.73, 0.11, 22.28, 0.22),
        "onmf_l0": _row("*", 51.67, 4.58, 67.08, 5.65, 27.56, 1.92),
        "nmf_l0": _row("*", 54.46, 6.86, 67.34, 5.78, 24.97, 5.59),
        "nmf_lc0": _row("*", 81.45, 0.88, 91.89, 0.17, 21.28, 0.69),
        "onmf": _row("all", 83.70, 2.81, 91.23, 2.52, 20.52, 4.07),
        "kmeans": _row("all", 71.39, 7.89, 82.52, 5.27, 31.37, 5.17),
        "kmeans_l0": _row("2000", 72.36, 7.30, 81.40, 8.25, 29.48, 7.92),
        "kmeans_l1": _row("2039", 78.09, 9.60, 88.54, 7.01, 21.45, 5.43),
    },
    "camp1": {
        "nmf_l20": _row("2000", 89.94, 1.30, 96.07, 0.39, 9.88, 0.88),
        "onmf_l20_rho": _row("2000", 89.32, 3.16, 92.40, 8.13, 10.96, 3.68),
        "onmf_l20": _row("2000", 71.00, 9.25, 72.12, 5.54, 29.04, 6.15),
        "onmf_lc0": _row("*", 47.31, 8.06, 44.35, 5.13, 10.25, 3.95),
        "onmf_l0": _row("*", 18.57, 18.69, 34.14, 7.56, 5.85, 4.99),
        "nmf_l0": _row("*", 12.41, 17.04, 31.25, 6.72, 5.94, 6.38),
        "nmf_lc0": _row("*", 85.54, 5.20, 91.67, 2.74, 17.27, 4.10),
        "onmf": _row("all", 78.98, 9.88, 78.31, 9.89, 23.19, 8.71),
        "kmeans": _row("all", 78.06, 1.18, 79.72, 5.76, 24.09, 4.16),
        "kmeans_l0": _row("2000", 73.13, 5.36, 71.62, 7.18, 28.67, 4.58),
        "kmeans_l1": _row("2005", 71.96, 1.32, 79.11, 1.10, 28.07, 1.33),
    },
    "lake": {
        "nmf_l20": _row("2000", 72.43, 2.15, 76.73, 2.25, 28.88, 2.86),
        "onmf_l20_rho": _row("2000", 71.99, 2.19, 76.23, 2.49, 29.60, 2.60),
        "onmf_l20": _row("2000", 57.19, 4.16, 63.92, 4.30, 42.67, 5.01),
        "onmf_lc0": _row("*", 10.23, 10.54, 36.97, 2.42, 8.33, 8.70),
        "onmf_l0": _row("*", 0.92, 0.64, 35.01, 0.21, 1.53, 1.42),
        "nmf_l0": _row("*", 17.08, 14.82, 41.30, 6.59, 11.05, 11.93),
        "nmf_lc0": _row("*", 66.35, 2.20, 72.00, 1.95, 34.61, 3.22),
        "onmf": _row("all", 61.44, 3.84, 67.08, 4.00, 40.20, 4.43),
        "kmeans": _row("all", 59.96, 1.31, 68.43, 1.68, 42.10, 1.59),
        "kmeans_l0": _row("2000", 62.05, 2.67, 68.93, 2.62, 40.01, 2.91),
        "kmeans_l1": _row("2270", 70.73, 1.34, 77.62, 2.12, 32.32, 1.28),
    },
}

TABLE3_BUDGETS = (500, 1000, 2000, 3000, 4000, 5000)
TABLE3_METHODS = ("nmf_l20", "onmf_l20", "onmf_l20_rho", "kmeans_l0")
# NMI in per cent by the budgets above.
TABLE3 = {
    "pollen": {
        "nmf_l20": (81.77, 84.46, 85.87, 85.70, 85.04, 85.04),
        "onmf_l20": (69.36, 73.06, 80.71, 84.27, 84.65, 84.34),
        "onmf_l20_rho": (82.35, 84.09, 84.96, 86.02, 85.21, 85.04),
        "kmeans_l0": (80.79, 76.98, 72.36, 71.04, 71.57, 69.49),
    },
    "camp1": {
        "nmf_l20": (91.56, 91.84, 89.94, 90.11, 90.28, 90.28),
        "onmf_l20": (62.57, 63.93, 71.00, 72.54, 77.34, 80.77),
        "onmf_l20_rho": (90.59, 90.80, 89.32, 89.21, 89.24, 89.03),
        "kmeans_l0": (74.26, 73.41, 73.13, 76.28, 75.31, 74.23),
    },
    "lake": {
        "nmf_l20": (72.96, 72.88, 72.43, 72.34, 72.29, 72.23),
        "onmf_l20": (52.94, 55.67, 57.19, 58.64, 59.95, 61.44),
        "onmf_l20_rho": (72.48, 72.37, 71.99, 71.67, 71.55, 71.52),
        "kmeans_l0": (70.83, 69.25, 62.05, 58.83, 56.17, 55.65),
    },
}

# Genes after the paper's filter, of which the budgets choose.
GENES_KEPT = {"pollen": 8747, "camp1": 8058, "lake": 5000}


class Bicluster(NamedTuple):
    """A bicluster of section 5.4: its genes, and its cells by class, under the names that the data may use."""

    genes: int
    cells: dict[str, int]


Z_THRESHOLDS = {"pollen": 1.5, "camp1": 1.2}
BICLUSTERS = {
    "pollen": (
        Bicluster(170, {"blood": 68}),
        Bicluster(136, {"dermal": 99}),
        Bicluster(191, {"neural": 65}),
        Bicluster(71, {"blood": 45, "pluripotent": 24}),
    ),
    "camp1": (
        Bicluster(227, {"MH": 73}),
        Bicluster(65, {"iPS": 80, "not named": 1}),
        Bicluster(166, {"DE": 67}),
        Bicluster(111, {"IH": 77, "MH": 5}),
        Bicluster(205, {"HE": 113, "DE": 3, "IH": 4, "MH": 2}),
    ),
}
GENES_IN_ANY = {"pollen": 329, "camp1": 443}
GENES_IN_ALL = {"pollen": 27}

# KEGG pathways that the text names: adjusted p by bicluster (counted from 0 as above).
PATHWAYS = {
    "pollen": {
        ("KEGG_PARKINSONS_DISEASE", 0): 7.5e-14,
        ("KEGG_ALZHEIMERS_DISEASE", 0): 3.9e-11,
        ("KEGG_PROTEASOME", 1): 1.2e-3,
        ("KEGG_LEUKOCYTE_TRANSENDOTHELIAL_MIGRATION", 1): 1.2e-3,
        ("KEGG_REGULATION_OF_ACTIN_CYTOSKELETON", 1): 1.2e-3,
        ("KEGG_FOCAL_ADHESION", 1): 1.4e-3,
    },
    "camp1": {
        ("KEGG_OXIDATIVE_PHOSPHORYLATION", 0): 7.6e-13,
        ("KEGG_GLYCOLYSIS_GLUCONEOGENESIS", 1): 6.2e-5,
    },
}
