"""All matrices of an AnnData: AnnData cuts them along with X, so that a damaged one must not get that far."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from genesieve.core.cells.intact import as_compiled_code_takes, check_intact

if TYPE_CHECKING:
    from anndata import AnnData

ALIGNED = ("layers", "obsm", "varm", "obsp", "varp")


def check_all_intact(adata: AnnData, name: str = "adata", *, mend: bool = False) -> None:
    """Raise if a sparse matrix in memory is damaged; of a view, those of the object that it is cut from.

    ``mend`` brings indices of other byte orders or sizes, as files may have them, to a type that all code takes.
    """
    for place, matrix in _matrices(adata._adata_ref if adata.is_view else adata):
        if mend:
            as_compiled_code_takes(matrix)
        check_intact(matrix, f"{name}.{place}" if name == "adata" else f"{place} of {name}")


def _matrices(adata: AnnData) -> Iterator[tuple[str, Any]]:
    yield "X", adata.X
    if adata.raw is not None:
        yield "raw.X", adata.raw.X
    for slot in ALIGNED:
        for key, matrix in dict(getattr(adata, slot)).items():
            if key is None:  # how newer versions of anndata list X among the layers
                continue
            yield f"{slot}[{key!r}]", matrix
