"""Spoiled GMT, CSV and Matrix Market files, catalogues and lists of genes: refused in one line, or read as they are."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

import genesieve as gs
from genesieve.interpret.genesets import read_gene_sets
from genesieve.workflow.panel import read_genes

from .campaign import FaultError
from .mutation import spoiled_text

GMT = "".join(f"SET_{i}\tabout {i}\t" + "\t".join(f"G{j}" for j in range(i, i + 5)) + "\n" for i in range(8))
CSV = "cell," + ",".join(f"G{j}" for j in range(6)) + "\n"
CSV += "".join(f"c{i}," + ",".join(str((i * j) % 5) for j in range(6)) + "\n" for i in range(7))
PLACES = [(g, c, (g * c) % 4 + 1) for g in range(1, 7) for c in range(1, 8) if (g + c) % 2]
MTX = "%%MatrixMarket matrix coordinate integer general\n% made by hand\n" + f"6 7 {len(PLACES)}\n"
MTX += "".join(f"{g} {c} {v}\n" for g, c, v in PLACES)
FEATURES = "".join(f"ENS{i}\tG{i}\tGene Expression\n" for i in range(6))
CATALOGUE = CSV.replace(",", "\t")
GENES = "gene,cost\n" + "".join(f"G{j},{j}.5\n" for j in range(9))
BARCODES = "".join(f"c{i}\n" for i in range(7))


def texts(seed: int, folder: Path) -> str:
    """One spoiled file of one of the kinds."""
    rng = np.random.default_rng([seed, 31])
    return (_gmt, _csv, _mtx, _catalogue, _genes)[seed % 5](rng, folder)


def _gmt(rng: np.random.Generator, folder: Path) -> str:
    path, content = folder / "sets.gmt", spoiled_text(GMT, rng)
    path.write_bytes(content)
    try:
        sets = read_gene_sets(path)
    except (ValueError, OSError, TypeError) as error:
        return _refused(error, content)
    lines = [line.rstrip() for line in content.decode().splitlines()]
    expected = {}
    for line in lines:
        name, *rest = line.split("\t")
        if name:
            expected[name] = list(dict.fromkeys(gene.strip() for gene in rest[1:] if gene.strip()))
    if sets != expected:
        raise FaultError(f"gmt read as {sets}: {content!r}"[:900])
    return "gmt read"


def _csv(rng: np.random.Generator, folder: Path) -> str:
    path, content = folder / "table.csv", spoiled_text(CSV, rng)
    path.write_bytes(content)
    try:
        adata = gs.io.read(path, cells_in="rows")
    except (ValueError, OSError, TypeError) as error:
        return _refused(error, content)
    try:
        rows = [
            row
            for row in csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
            if "".join(row).strip()
        ]
        names = rows[0][len(rows[0]) - len(rows[1]) + 1 :] if len(rows[0]) < len(rows[1]) else rows[0][1:]
        values = np.array([[float(cell) for cell in row[1:]] for row in rows[1:]])
    except (ValueError, IndexError, csv.Error) as error:
        raise FaultError(f"csv was read, though {error}: {content!r}"[:900]) from None
    same = adata.shape == values.shape and np.array_equal(adata.X.toarray(), values, equal_nan=True)
    if not same or len(names) != adata.n_vars:
        raise FaultError(f"csv read as {adata.X.toarray().tolist()}: {content!r}"[:900])
    return "csv read"


def _mtx(rng: np.random.Generator, folder: Path) -> str:
    contents = {"matrix.mtx": MTX.encode(), "features.tsv": FEATURES.encode(), "barcodes.tsv": BARCODES.encode()}
    chosen = "matrix.mtx" if rng.random() < 0.7 else str(rng.choice(["features.tsv", "barcodes.tsv"]))
    contents[chosen] = spoiled_text(contents[chosen].decode(), rng)
    place = folder / "mtx"
    place.mkdir(exist_ok=True)
    for name, content in contents.items():
        (place / name).write_bytes(content)
    try:
        adata = gs.io.read(place)
    except (ValueError, OSError, TypeError) as error:
        return _refused(error, contents[chosen])
    values = adata.X.toarray()
    if chosen == "matrix.mtx":
        expected = _plain_mtx(contents[chosen])
        if not np.array_equal(values, expected, equal_nan=True):
            raise FaultError(f"mtx read as {values.tolist()}: {contents[chosen]!r}"[:900])
    elif len(set(adata.var_names)) != adata.n_vars or len(set(adata.obs_names)) != adata.n_obs:
        raise FaultError(f"names repeat: {contents[chosen]!r}"[:900])
    return "mtx read"


def _catalogue(rng: np.random.Generator, folder: Path) -> str:
    path, content = folder / "programs.tsv", spoiled_text(CATALOGUE, rng)
    path.write_bytes(content)
    try:
        table = gs.tl.read_catalogue(path)
    except (ValueError, OSError, TypeError) as error:
        return _refused(error, content)
    values = table.to_numpy()
    if not (np.isfinite(values).all() and (values >= 0).all() and table.index.is_unique and table.columns.is_unique):
        raise FaultError(f"a catalogue of {table}: {content!r}"[:900])
    text = content.decode("utf-8-sig")
    if not all(name in text.replace('""', '"') for name in [*table.index, *table.columns]):
        raise FaultError(f"names that are not in the file, {list(table.index)}, {list(table)}: {content!r}"[:900])
    return "catalogue read"


def _genes(rng: np.random.Generator, folder: Path) -> str:
    path, content = folder / "genes.csv", spoiled_text(GENES, rng)
    path.write_bytes(content)
    try:
        table = read_genes(path)
    except (ValueError, OSError, TypeError) as error:
        return _refused(error, content)
    text = content.decode("utf-8-sig").replace('""', '"')
    if not all(isinstance(gene, str) and gene in text for gene in table["gene"]):
        raise FaultError(f"genes that are not in the file, {list(table['gene'])}: {content!r}"[:900])
    return "genes read"


def _plain_mtx(content: bytes) -> np.ndarray:
    """Cells x genes of a coordinate file, read word by word; a fault where it is none."""
    lines = content.decode("utf-8", "replace").split("\n")
    about = lines[0].lower().split()
    body = [line.split() for line in lines[1:] if line.strip() and not line.lstrip().startswith("%")]
    try:
        if about[:3] != ["%%matrixmarket", "matrix", "coordinate"] or about[4] != "general":
            raise ValueError(f"the first line is {lines[0]!r}")
        rows, columns, count = map(int, body[0])
        if count != len(body) - 1:
            raise ValueError(f"{count} values must be {len(body) - 1}")
        values = np.zeros((rows, columns))
        for row, column, *value in body[1:]:
            if not (1 <= int(row) <= rows and 1 <= int(column) <= columns) or len(value) != (about[3] != "pattern"):
                raise ValueError(f"{row} {column} {value}")
            number = float(value[0]) if value else 1.0
            values[int(row) - 1, int(column) - 1] += number
    except (ValueError, IndexError) as error:
        raise FaultError(f"mtx was read, though {error}: {content!r}"[:900]) from None
    return values.T.astype(np.float32)


def _refused(error: Exception, content: bytes) -> str:
    if not str(error) or len(str(error).splitlines()) != 1 or len(str(error)) > 1000:
        raise FaultError(f"{error!r}: {content!r}"[:900])
    return "refused"
