"""What tells batches apart, taken out before programs are counted."""

from __future__ import annotations

from typing import Any

import numpy as np

from genesieve.core.batches import BatchSums
from genesieve.core.cells.scaled import Scaled
from genesieve.core.cells.sources import InMemory

# A prior as weak as this leaves nothing of the batches to stand out; what it takes of the noise does not either.
PRIOR_CELLS = 3.0


def without_batches(values: Any, batch: np.ndarray) -> Any:
    """Cells x genes with every gene of every batch on a scale that makes its sum what the batch's size lets expect.

    A fit finds scales that leave differences between batches whose cells are of other kinds (`core.batches`), but needs
    to know how many programs there are. To count them, these do: scales of genes add no direction to what programs make
    of the cells of a batch, and on planted programs nothing of the batches stands out after them.
    """
    numbers, source = np.unique(batch, return_inverse=True)[1].ravel(), InMemory(values)
    sums = BatchSums.of(source, numbers, int(numbers.max()) + 1)
    scales = sums.scales(np.outer(sums.sizes / sums.sizes.sum(), sums.values.sum(axis=0)), PRIOR_CELLS)
    return Scaled(source, numbers, scales).rows(np.arange(len(batch)))
