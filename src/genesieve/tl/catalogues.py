"""Catalogues of programs in the reference format of starCAT: written from a fit, read, and scored in other cells.

The format is a tab-separated table of programs x genes: spectra on the scale of counts, each gene divided by its
standard deviation.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from genesieve._anndata import check_unique_genes, kind_of_values, log_base, own, read_fitted, read_part, read_values
from genesieve._checks import check_choice, check_integer, first_few
from genesieve._damage import check_text
from genesieve._files import write_whole
from genesieve._slots.read import Fit, read_fit
from genesieve._slots.write import write_catalogue_usages
from genesieve._spreadsheets import plain_name, without_formulas
from genesieve.core.cells.regression import cross_products
from genesieve.core.cells.streamed import as_source
from genesieve.core.nnls import nnls
from genesieve.core.objective import Overlap, gram_of
from genesieve.core.usages import score_cells
from genesieve.interpret.labels import label_cells
from genesieve.interpret.scores import Linear
from genesieve.io import FileError

if TYPE_CHECKING:
    from anndata import AnnData

SUFFIXES = (".tsv", ".txt")  # by which starCAT tells a file from the name of a catalogue
MILLION = 1e6
SAID_LETTERS = 200  # of what a library says about a file
MIN_GENES = 20  # of a catalogue that cells must have


def read_catalogue(path: str | PathLike[str]) -> pd.DataFrame:
    """Read a catalogue of programs in the reference format of starCAT: programs x genes, with tabs between.

    Parameters
    ----------
    path
        The file, say ``TCAT.V1.reference.tsv``.

    Returns
    -------
    pandas.DataFrame
        Programs x genes. Genes without a value for every program are left out, as starCAT does.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import genesieve as gs
    >>> adata = gs.datasets.demo()
    >>> gs.tl.ssnmf(adata, 4, 100)
    >>> with TemporaryDirectory() as folder:
    ...     gs.tl.write_catalogue(adata, f"{folder}/blood.reference.tsv")
    ...     gs.tl.read_catalogue(f"{folder}/blood.reference.tsv").shape
    (4, 100)
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path} must be a table of programs x genes, got no file there")
    try:
        values = _read_table(path)
    except (ValueError, OSError, EOFError) as error:
        said = (str(error) or type(error).__name__).splitlines()[0][:SAID_LETTERS]
        raise FileError(f"{path} must be a table of programs x genes with tabs: {said}") from None
    values = values.loc[:, values.notna().all()]
    if 0 in values.shape or not np.isfinite(values.to_numpy()).all() or (values.to_numpy() < 0).any():
        raise FileError(
            f"{path} must hold programs x genes, finite and not negative, got {values.shape[0]} x {values.shape[1]}"
        )
    if not (values.index.is_unique and values.columns.is_unique):
        raise FileError(f"{path} must name every program and gene once")
    return values


def _read_table(path: Path) -> pd.DataFrame:
    """Numbers with names in the first row and column, which stay as they are written, repeated or not."""
    form: dict[str, Any] = {"sep": "\t", "header": None, "encoding": "utf-8", "float_precision": "round_trip"}
    texts: dict[str, Any] = {"dtype": str, "keep_default_na": False, **form}
    heading = pd.read_csv(check_text(path), nrows=1, **texts).iloc[0].tolist()
    names = pd.read_csv(path, skiprows=1, usecols=[0], **texts)[0].tolist()
    values = pd.read_csv(path, skiprows=1, **form).iloc[:, 1:].astype(np.float64)
    if len(heading) - values.shape[1] not in (0, 1):  # R leaves the corner out
        raise ValueError(f"{len(heading)} names stand over {values.shape[1]} columns of numbers")
    values.columns = pd.Index([plain_name(name) for name in heading[-values.shape[1] :]])
    values.index = pd.Index([plain_name(name) for name in names])
    return values


def write_catalogue(adata: AnnData, path: str | PathLike[str], *, genes: str = "selected", key: str = "ssnmf") -> None:
    """Write the programs of a fit in the reference format of starCAT, so that they can be scored there in other cells.

    Programs are put on the scale of counts: expression without its logarithm is regressed on the usages, non-negative,
    every program brought to a million and every gene divided by its standard deviation, as starCAT's own references
    are.

    Parameters
    ----------
    adata
        Data with a fit and its values.
    path
        A file that ends in ``.tsv`` or ``.txt``, by which starCAT knows it.
    genes
        ``"selected"``, the genes of the budget, or ``"all"``.
    key
        Name of the fit.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import genesieve as gs
    >>> adata = gs.datasets.demo()
    >>> gs.tl.ssnmf(adata, 4, 100)
    >>> with TemporaryDirectory() as folder:
    ...     gs.tl.write_catalogue(adata, f"{folder}/blood.tsv", genes="all")
    """
    check_choice("genes", genes, ["selected", "all"])
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise ValueError(f"path must end in {' or '.join(SUFFIXES)}, as starCAT asks, got {str(path)!r}")
    fit = read_fit(adata, key)
    check_unique_genes(adata)
    chosen = fit.selected if genes == "selected" else np.ones(len(fit.genes), dtype=bool)
    spectra = _spectra(adata, fit)[:, chosen]
    table = pd.DataFrame(spectra, index=fit.names, columns=fit.genes[chosen])
    with write_whole(path) as file:
        file.write(without_formulas(table).to_csv(sep="\t", lineterminator="\n").encode(errors="replace"))


def score_catalogue(
    adata: AnnData,
    catalogue: pd.DataFrame | str | PathLike[str],
    *,
    layer: str | None = None,
    use_raw: bool = False,
    min_genes: int = MIN_GENES,
    key_added: str = "catalogue",
    n_jobs: int | None = None,
) -> pd.DataFrame:
    """Score cells with a catalogue of programs, as starCAT does: usages by non-negative least squares, as shares.

    Parameters
    ----------
    adata
        Cells: counts, as starCAT takes them, or logged values, whose logarithm is undone.
    catalogue
        A file in starCAT's reference format, or a table of programs x genes.
    layer, use_raw
        Which values to read, as in `genesieve.tl.ssnmf`; ``layer="raw"`` has the counts after `genesieve.pp.prepare`.
    min_genes
        Genes of the catalogue that ``adata`` must have.
    key_added
        Name of the slots: ``obsm["X_catalogue"]``, ``obs["catalogue"]`` (the program that each cell uses most) and
        ``obs["catalogue_confidence"]``; `genesieve.tl.compare` reads them with this key.
    n_jobs
        Threads; ``None`` or -1 uses every core there is.

    Returns
    -------
    pandas.DataFrame
        Cells x programs, each row adding up to one.

    References
    ----------
    The format and the scores are those of starCAT, `starcatpy <https://pypi.org/project/starcatpy>`__.

    Examples
    --------
    >>> import genesieve as gs
    >>> import pandas as pd
    >>> adata = gs.datasets.demo()
    >>> genes = adata.var_names[:50]
    >>> catalogue = pd.DataFrame([[1.0] * 25 + [0.0] * 25, [0.0] * 25 + [1.0] * 25], ["first", "second"], genes)
    >>> gs.tl.score_catalogue(adata, catalogue).shape
    (700, 2)
    """
    check_integer("min_genes", min_genes, 1)
    table = catalogue if isinstance(catalogue, pd.DataFrame) else read_catalogue(catalogue)
    adata = own(adata)
    check_unique_genes(adata)
    columns = pd.Index(table.columns.astype(str))
    shared = np.flatnonzero(adata.var_names.isin(columns))
    if len(shared) < min_genes:
        raise ValueError(
            f"adata must have at least {min_genes} genes of the catalogue (like {first_few(columns)}),"
            f" got {len(shared)}"
        )
    X = _linear(adata, shared, layer, use_raw)
    W = table.to_numpy(dtype=np.float64)[:, columns.get_indexer(adata.var_names[shared].astype(str))].T
    deviation = _deviations(X)
    X, W, deviation = X[:, deviation > 0], W[deviation > 0], deviation[deviation > 0, None]
    # The catalogue is on the scale of genes divided by their deviations: so are these cells under the weights.
    gene_weights, scale = 1.0 / deviation[:, 0], np.ones(W.shape[1])
    H = score_cells(X, W * deviation, scale=scale, penalty=Overlap(), gene_weights=gene_weights, n_jobs=n_jobs)
    shares = _shares(H)
    names = [str(name) for name in table.index]
    write_catalogue_usages(adata, key_added, shares, label_cells(shares, "argmax"), names, gram_of(W))
    return pd.DataFrame(shares, index=adata.obs_names, columns=names)


def _spectra(adata: AnnData, fit: Fit) -> np.ndarray:
    """Programs x genes on the scale of counts, every gene divided by its standard deviation."""
    X, shares = read_fitted(adata, fit), _shares(fit.usages)
    logged = fit.params.get("values", "log") == "log"
    change = Linear(float(np.log(log_base(adata))) if logged else None)
    cross, sums, squares = cross_products(as_source(X), shares, change)
    n_cells = len(shares)
    spectra = nnls(gram_of(shares), cross, np.zeros_like(cross))  # (genes, programs)
    deviation = np.sqrt(np.maximum(squares / n_cells - (sums / n_cells) ** 2, 0.0))
    totals = spectra.sum(axis=0)
    spectra = spectra * np.where(totals > 0, MILLION / np.where(totals > 0, totals, 1.0), 0.0)
    # Cells come to a million each, too, before the deviations are taken; where no cell has any value, none deviates.
    deviation *= MILLION * n_cells / (float(sums.sum()) or 1.0)
    return np.divide(spectra, deviation[:, None], out=np.zeros_like(spectra), where=deviation[:, None] > 0).T


def _linear(adata: AnnData, genes: np.ndarray, layer: str | None, use_raw: bool) -> Any:
    """Values of all cells on some genes, without their logarithm, in memory."""
    kind = kind_of_values(read_values(adata, layer=layer, use_raw=use_raw))
    X = read_part(adata, np.arange(adata.n_obs), genes, layer=layer, use_raw=use_raw).astype(np.float64)
    return Linear(float(np.log(log_base(adata))) if kind == "log" else None)(X)


def _deviations(X: Any) -> np.ndarray:
    """Standard deviation of every gene."""
    n_cells = X.shape[0]
    _, sums, squares = cross_products(as_source(X), np.zeros((n_cells, 1)), Linear(None))
    return np.asarray(np.sqrt(np.maximum(squares / n_cells - (sums / n_cells) ** 2, 0.0)))


def _shares(H: np.ndarray) -> np.ndarray:
    H = np.asarray(H, dtype=np.float64)
    totals = H.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(H, totals, out=np.zeros_like(H), where=totals > 0))
