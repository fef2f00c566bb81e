"""Run by the Python that has starcatpy and cnmf: reads a file for each sample, writes scores.csv and samples.csv."""

import json
import sys
from pathlib import Path

import matplotlib as mpl
import pandas as pd

mpl.use("Agg")
# The builder passes its separator by place, which pandas 3 asks to be named.
ORIGINAL = pd.DataFrame.to_csv


def to_csv(table, path=None, *rest, **named):  # type: ignore[no-untyped-def]
    return ORIGINAL(table, path, **({"sep": rest[0]} if rest else {}), **named)


pd.DataFrame.to_csv = to_csv
from cnmf import cNMF  # type: ignore[import-not-found]  # noqa: E402
from starcat import BuildConsensusReference  # type: ignore[import-not-found]  # noqa: E402

RESTARTS = 20
THRESHOLD = 2.0  # keeps the programs of all restarts


def main(folder: Path, n_genes: int, seed: int) -> None:
    ranks = json.loads((folder / "ranks.json").read_text())
    for sample, rank in ranks.items():
        model = cNMF(output_dir=str(folder), name=sample)
        model.prepare(
            str(folder / f"{sample}.h5ad"), components=[rank], n_iter=RESTARTS, seed=seed, num_highvar_genes=n_genes
        )
        model.factorize(worker_i=0, total_workers=1)
        model.combine()
        model.consensus(rank, density_threshold=THRESHOLD, show_clustering=False, build_ref=True)
    builder = BuildConsensusReference(
        [str(folder / sample) for sample in ranks],
        output_dir=str(folder),
        ks=list(ranks.values()),
        density_thresholds=[THRESHOLD] * len(ranks),
    )
    groups, _, scores, *_ = builder.cluster_cnmf_results()
    scores.to_csv(folder / "scores.csv")
    groups.notna().sum(axis=1).to_csv(folder / "samples.csv")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
