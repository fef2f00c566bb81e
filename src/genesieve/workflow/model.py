"""A fit on disk: JSON and plain arrays, nothing that runs code when it is read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from genesieve._slots.read import read_fit, read_preparation
from genesieve._slots.write import bare_fit, write_batch_scales, write_directions, write_gene_weights, write_preparation
from genesieve.io import FileError

if TYPE_CHECKING:
    from anndata import AnnData

DESCRIPTION = "model.json"
ARRAYS = "arrays.npz"
FORMAT = 1


def save_model(adata: AnnData, folder: Path, *, key: str = "ssnmf") -> None:
    """Write what is needed to score new cells: the selected genes, their weights, the parameters and the recipe."""
    fit = read_fit(adata, key)
    arrays = {"weights": fit.weights[fit.selected]}
    if fit.gene_weights is not None:
        arrays["gene_weights"] = fit.gene_weights[fit.selected]
    if fit.reference is not None:
        arrays["directions"] = fit.directions[fit.selected].astype(np.float32)
    if fit.batches is not None:
        arrays |= {"batch_scales": fit.batch_scales[fit.selected], "levels": fit.levels[fit.selected]}
    plain = _pull_arrays({name: value for name, value in fit.record.items() if name != "history"}, arrays, "fit")
    description = {
        "format": FORMAT,
        "key": key,
        "genes": fit.genes[fit.selected].tolist(),
        "prepare": _pull_arrays(dict(read_preparation(adata)), arrays, "prepare"),
        "fit": plain,
    }
    folder.mkdir(parents=True)
    text = json.dumps(description, indent=1, ensure_ascii=False, sort_keys=True)  # files of a repeated run are the same
    (folder / DESCRIPTION).write_text(text + "\n", encoding="utf-8")
    with (folder / ARRAYS).open("wb") as file:
        np.savez_compressed(file, **arrays)


def load_model(folder: Path) -> AnnData:
    """The fit as an AnnData without cells, ready for `genesieve.tl.project`.

    Parameters
    ----------
    folder
        The folder of a run, or the ``model`` in it.
    """
    folder = folder / "model" if (folder / "model").is_dir() else folder
    description, arrays = _read(folder)
    key, weights = description["key"], arrays["weights"]
    if weights.ndim != 2 or len(weights) != len(description["genes"]):
        raise FileError(
            f"{folder} must hold a model, got {len(description['genes'])} genes and weights of shape {weights.shape}"
        )
    no_usages = np.zeros((0, weights.shape[1]), dtype=weights.dtype)
    adata = bare_fit(key, description["genes"], weights, no_usages, _put_arrays(description["fit"], arrays, "fit"))
    if "gene_weights" in arrays:
        write_gene_weights(adata, key, arrays["gene_weights"])
    if "directions" in arrays:
        write_directions(adata, key, arrays["directions"])
    if "batch_scales" in arrays:
        write_batch_scales(adata, key, arrays["batch_scales"], arrays["levels"])
    write_preparation(adata, _put_arrays(description["prepare"], arrays, "prepare"))
    return adata


def _read(folder: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    try:
        description = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        with np.load(folder / ARRAYS, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        if description["format"] != FORMAT or not {"key", "genes", "prepare", "fit"} <= set(description):
            raise FileError(f"{folder} must hold a model of format {FORMAT}, got {description['format']!r}")
        return description, {"weights": arrays.pop("weights"), **arrays}
    except FileNotFoundError as error:
        raise FileError(f"{folder} must hold a model ({DESCRIPTION}, {ARRAYS}), got no {error.filename}") from None
    except FileError:
        raise
    except Exception as error:  # a damaged archive has many ways to fail
        raise FileError(
            f"{folder} must hold a model ({DESCRIPTION}, {ARRAYS}), got files in disorder: {error}"
        ) from None


def _pull_arrays(tree: dict[str, Any], arrays: dict[str, np.ndarray], place: str) -> dict[str, Any]:
    """The tree without its arrays, as plain types; the arrays go by their place in it."""
    plain: dict[str, Any] = {}
    for name, value in tree.items():
        if isinstance(value, dict):
            plain[name] = _pull_arrays(value, arrays, f"{place}/{name}")
        elif isinstance(value, np.ndarray) and value.ndim:
            arrays[f"{place}/{name}"] = value.astype(str) if value.dtype.kind in "OT" else value  # words from a file
        else:
            plain[name] = value.item() if isinstance(value, np.generic | np.ndarray) else value
    return plain


def _put_arrays(plain: dict[str, Any], arrays: dict[str, np.ndarray], place: str) -> dict[str, Any]:
    """The tree with its arrays again."""
    tree = {
        name: _put_arrays(value, arrays, f"{place}/{name}") if isinstance(value, dict) else value
        for name, value in plain.items()
    }
    return {**tree, **{place_of.rpartition("/")[2]: array for place_of, array in _directly_in(arrays, place)}}


def _directly_in(arrays: dict[str, np.ndarray], place: str) -> Iterator[tuple[str, np.ndarray]]:
    return ((name, array) for name, array in arrays.items() if name.rpartition("/")[0] == place)
