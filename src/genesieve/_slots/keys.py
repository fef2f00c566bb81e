"""Where results live in an AnnData: one frozen record of slot names, all derived from one key."""

from __future__ import annotations

from dataclasses import dataclass

KEPT = "genesieve_kept"
"""Column of ``var`` for the genes that `genesieve.pp.prepare` keeps of data outside memory."""

PREPARE = "genesieve_prepare"
"""``uns``: what `genesieve.pp.prepare` did."""


@dataclass(frozen=True)
class Keys:
    """Names of the slots of one fit, by its ``key_added``."""

    key: str = "ssnmf"

    @property
    def usages(self) -> str:
        """``obsm``: H (cells, rank)."""
        return f"X_{self.key}"

    @property
    def weights(self) -> str:
        """``varm``: W (genes, rank), zero for genes that were dropped."""
        return self.key

    @property
    def labels(self) -> str:
        """``obs``: the program that each cell uses most, categorical."""
        return self.key

    @property
    def confidence(self) -> str:
        """``obs``: how sure a cell's label is, 0 to 1."""
        return f"{self.key}_confidence"

    @property
    def cluster(self) -> str:
        """``obs``: the cluster of each cell on the graph, categorical."""
        return f"{self.key}_cluster"

    @property
    def cluster_confidence(self) -> str:
        """``obs``: how sure a cell's cluster is, 0 to 1."""
        return f"{self.key}_cluster_confidence"

    @property
    def directions(self) -> str:
        """``varm``: leading directions of the selected genes (genes, width), along which the graph looks at cells."""
        return f"{self.key}_directions"

    @property
    def selected(self) -> str:
        """``var``: genes that carry a weight."""
        return f"{self.key}_selected"

    @property
    def given(self) -> str:
        """``var``: genes that the model could choose from."""
        return f"{self.key}_given"

    @property
    def gene_weights(self) -> str:
        """``var``: weights of the genes in the fit, where there were any."""
        return f"{self.key}_gene_weight"

    @property
    def batch_scales(self) -> str:
        """``varm``: scales of the genes in every batch (genes, batches), where the fit knew any."""
        return f"{self.key}_batch_scales"

    @property
    def levels(self) -> str:
        """``var``: sums of the genes over those that programs predict, where the fit knew batches."""
        return f"{self.key}_level"

    @property
    def scores(self) -> str:
        """``varm``: how much every gene belongs to every program (genes, rank)."""
        return f"{self.key}_scores"

    @property
    def score_p_values(self) -> str:
        """``varm``: p-values of the scores (genes, rank)."""
        return f"{self.key}_score_p_values"

    @property
    def cell_map(self) -> str:
        """``obsm``: places of the cells on the map of the report (cells, 2), NaN for those that it does not show."""
        return f"X_{self.key}_map"

    @property
    def fit(self) -> str:
        """``uns``: params, objective, history, method and the programs' Gram matrix."""
        return self.key

    @property
    def top_genes(self) -> str:
        """``uns``: table of the programs' leading genes."""
        return f"{self.key}_top_genes"

    @property
    def markers(self) -> str:
        """``uns``: table of the genes with the highest scores."""
        return f"{self.key}_markers"

    @property
    def biclusters(self) -> str:
        """``uns``: table of the genes of every bicluster."""
        return f"{self.key}_biclusters"

    @property
    def bicluster_sizes(self) -> str:
        """``uns``: table of genes and cells in every bicluster."""
        return f"{self.key}_bicluster_sizes"

    @property
    def enrichment(self) -> str:
        """``uns``: table of gene sets over-represented in the programs."""
        return f"{self.key}_enrichment"

    @property
    def outlier(self) -> str:
        """``obs``: whether a cell uses no program much."""
        return f"{self.key}_outlier"

    @property
    def outlier_score(self) -> str:
        """``obs``: how far below the typical cell a cell's usage is."""
        return f"{self.key}_outlier_score"

    @property
    def outlier_rule(self) -> str:
        """``uns``: the rule and what it found."""
        return f"{self.key}_outlier_rule"

    @property
    def explained(self) -> str:
        """``obs``: the share of a new cell's expression that the programs reproduce."""
        return f"{self.key}_explained"

    @property
    def poor_fit(self) -> str:
        """``obs``: whether programs describe a new cell worse than those of the fit, or hardly those of its label."""
        return f"{self.key}_poor_fit"

    @property
    def panel(self) -> str:
        """``uns``: table of a panel's genes."""
        return f"{self.key}_panel"

    @property
    def panel_fit(self) -> str:
        """``uns``: how well the panel keeps the clusters."""
        return f"{self.key}_panel_fit"

    @property
    def path(self) -> str:
        """``uns``: table of fits with other budgets of genes."""
        return f"{self.key}_path"

    @property
    def select(self) -> str:
        """``uns``: how many programs and genes the data suggest, and why."""
        return f"{self.key}_select"

    @property
    def panel_curve(self) -> str:
        """``uns``: table of how well panels of growing size do."""
        return f"{self.key}_panel_curve"

    @property
    def panel_types(self) -> str:
        """``uns``: table of how well the panel recognises each type, and what it takes it for."""
        return f"{self.key}_panel_types"

    @property
    def panel_confusion(self) -> str:
        """``uns``: table of the types that cells of a type are taken for."""
        return f"{self.key}_panel_confusion"

    @property
    def compare(self) -> str:
        """``uns``: table of the programs' usage between groups."""
        return f"{self.key}_compare"

    @property
    def compare_samples(self) -> str:
        """``uns``: table of the programs' usage in every sample."""
        return f"{self.key}_compare_samples"

    @property
    def annotation(self) -> str:
        """``uns``: table of the names suggested for the programs, with their evidence."""
        return f"{self.key}_annotation"

    @property
    def coverage(self) -> str:
        """``uns``: table of the samples that have each program."""
        return f"{self.key}_coverage"

    @property
    def gene_confidence(self) -> str:
        """``uns``: table of the share of samples in which genes are raised."""
        return f"{self.key}_gene_confidence"

    @property
    def of_cells(self) -> tuple[str, ...]:
        """``obs``: all columns that are written."""
        own = (self.labels, self.confidence, self.cluster, self.cluster_confidence)
        return (*own, self.outlier, self.outlier_score, self.explained, self.poor_fit)

    @property
    def derived(self) -> tuple[str, ...]:
        """``uns``: everything that follows from a fit and goes when it is replaced."""
        return (
            self.top_genes,
            self.markers,
            self.biclusters,
            self.bicluster_sizes,
            self.enrichment,
            self.outlier_rule,
            self.panel,
            self.panel_fit,
            self.panel_curve,
            self.panel_types,
            self.panel_confusion,
            self.compare,
            self.compare_samples,
            self.annotation,
            self.coverage,
            self.gene_confidence,
        )
