from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from genesieve.interpret import genes, genesets, outliers, programs

seeds = st.integers(0, 2**32 - 1)


def draw_weights(seed: int, n_genes: int = 40, rank: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    W = rng.gamma(1.0, size=(n_genes, rank))
    W[rng.random(n_genes) < 0.5] = 0
    return W


# ------------------------------------------------------------------------------------------------ laws: programs


@given(seeds, st.permutations(range(4)))
def test_the_order_of_programs_does_not_depend_on_how_they_come(seed, shuffle):
    rng = np.random.default_rng(seed)
    H, W = rng.gamma(1.0, size=(30, 4)), draw_weights(seed, rank=4)
    order = programs.largest_first(H, W)
    assert (np.diff(H.sum(axis=0)[order]) <= 0).all()
    np.testing.assert_array_equal(np.array(shuffle)[programs.largest_first(H[:, shuffle], W[:, shuffle])], order)
    np.testing.assert_array_equal(programs.largest_first(1e-30 * H[::-1], W), order)


@given(seeds, st.permutations(range(3)))
def test_programs_of_one_size_go_by_their_heaviest_gene(seed, shuffle):
    rng = np.random.default_rng(seed)
    h = rng.gamma(1.0, size=(20, 1))
    H = np.hstack([h, h * (1 + 1e-12), h[rng.permutation(20)]])  # alike up to rounding
    W = np.eye(5)[:, [1, 2, 4]]
    order = programs.largest_first(H[:, shuffle], W[:, shuffle])
    np.testing.assert_array_equal(np.array(shuffle)[order], [0, 1, 2])


def test_empty_programs_come_last():
    np.testing.assert_array_equal(programs.largest_first(np.array([[0.0, 2, 1]]), np.eye(3)), [1, 2, 0])
    np.testing.assert_array_equal(programs.largest_first(np.zeros((2, 3)), np.zeros((4, 3))), [0, 1, 2])


# ------------------------------------------------------------------------------------------------ laws: genes


@given(seeds, st.floats(0.01, 100))
def test_z_scores_do_not_depend_on_the_gauge(seed, factor):
    W = draw_weights(seed)
    np.testing.assert_allclose(genes.z_scores(W), genes.z_scores(W * [factor, 1, 1 / factor]), atol=1e-9)
    np.testing.assert_allclose(genes.specificity(W), genes.specificity(W * [factor, 1, 1 / factor]), atol=1e-9)


@given(seeds)
def test_z_scores_are_those_of_the_selected_genes_alone(seed):
    W = draw_weights(seed)
    selected = genes.selected_genes(W)
    expected = stats.zscore(W[selected], axis=0, ddof=1)
    np.testing.assert_allclose(genes.z_scores(W)[selected], expected, atol=1e-9)
    assert not genes.z_scores(W)[~selected].any()


@given(seeds)
def test_a_gene_shares_itself_out_over_the_programs(seed):
    W = draw_weights(seed)
    totals = genes.specificity(W).sum(axis=1)
    np.testing.assert_allclose(totals, genes.selected_genes(W).astype(float))


@given(seeds)
def test_a_higher_threshold_keeps_fewer_genes(seed):
    W = draw_weights(seed)
    low, high = (genes.bicluster_genes(W, threshold=threshold) for threshold in (-0.5, 1.0))
    assert (low | ~high).all()
    assert not low[~genes.selected_genes(W)].any()


def test_the_threshold_is_strict():
    W = np.array([[0.0], [1.0], [2.0], [3.0]])  # z-scores of the selected: -1, 0, 1
    np.testing.assert_array_equal(genes.bicluster_genes(W, threshold=1.0), np.zeros((4, 1), dtype=bool))
    np.testing.assert_array_equal(genes.bicluster_genes(W, threshold=0.99)[:, 0], [False, False, False, True])


@pytest.mark.parametrize("W", [np.zeros((5, 2)), np.eye(5)[:, :1], np.ones((5, 2))])
def test_degenerate_weights_have_no_biclusters(W):
    assert np.isfinite(genes.z_scores(W)).all()
    assert not genes.bicluster_genes(W).any()


def test_duplicates_are_named_with_their_cosine():
    W = np.random.default_rng(0).random((50, 3))
    W = np.column_stack([W, 2 * W[:, 1]])
    assert [(a, b) for a, b, _ in programs.near_duplicates(W)] == [(1, 3)]
    assert programs.near_duplicates(W)[0][2] == pytest.approx(1.0)
    assert programs.near_duplicates(np.zeros((5, 3))) == []


# ------------------------------------------------------------------------------------------------ laws: cells


@given(seeds, st.floats(0.01, 100))
def test_outliers_do_not_depend_on_scale_gauge_or_order(seed, factor):
    rng = np.random.default_rng(seed)
    H, W = rng.gamma(2.0, size=(30, 3)), rng.random((20, 3))
    H[:5] *= 0.05
    gauge = np.array([factor, 1.0, 1 / factor])
    found = outliers.find_outliers(H, W.T @ W)
    other = outliers.find_outliers(H * gauge * 7.0, (W / gauge).T @ (W / gauge))
    order = rng.permutation(30)
    np.testing.assert_array_equal(found.flagged, other.flagged)
    np.testing.assert_allclose(found.score, other.score, atol=1e-9)
    np.testing.assert_array_equal(found.flagged[order], outliers.find_outliers(H[order], W.T @ W).flagged)


def test_a_separate_low_group_is_flagged_and_a_high_one_is_not():
    rng = np.random.default_rng(0)
    usage = np.concatenate([rng.normal(10, 0.5, 80), rng.normal(5, 0.5, 20)])
    few_low = outliers.find_outliers(usage[:, None], np.eye(1))
    np.testing.assert_array_equal(few_low.flagged, usage < 7.5)
    assert few_low.score[usage > 7.5].max() < 0.2 < few_low.score[usage < 7.5].min()
    few_high = outliers.find_outliers(15 - usage[:, None], np.eye(1))  # 80 low, 20 high
    assert not few_high.flagged.any()


ONE_GROUP = {
    "normal": lambda rng: rng.normal(10, 1, 500),
    "uniform": lambda rng: rng.uniform(8, 12, 500),
    "lognormal": lambda rng: rng.lognormal(2, 0.5, 500),
    "gamma": lambda rng: rng.gamma(5, size=500),
}


@pytest.mark.parametrize("draw", list(ONE_GROUP.values()), ids=list(ONE_GROUP))
def test_one_group_has_no_outliers(draw):
    usage = np.abs(draw(np.random.default_rng(0)))
    assert not outliers.find_outliers(usage[:, None], np.eye(1)).flagged.any()


def test_a_low_group_that_is_no_exception_is_a_part_of_the_data():
    rng = np.random.default_rng(0)
    for n_low, flagged in ((30, True), (200, False)):
        usage = np.concatenate([rng.normal(5.0, 0.1, n_low), rng.normal(10.0, 0.1, 1000 - n_low)])
        assert outliers.find_outliers(usage[:, None], np.eye(1)).flagged.any() == flagged


def test_low_cells_that_agree_on_a_program_are_a_type_and_no_outliers():
    H = np.zeros((100, 3))
    H[np.arange(100), np.arange(100) % 3] = np.linspace(9.5, 10.5, 100)
    one, spread = H.copy(), H.copy()
    one[0:60:3] /= 2.0  # twenty cells of the first program
    spread[:20] /= 2.0  # twenty of all three
    assert not outliers.find_outliers(one, np.eye(3)).flagged.any()
    np.testing.assert_array_equal(np.flatnonzero(outliers.find_outliers(spread, np.eye(3)).flagged), np.arange(20))


def test_cells_without_usage_are_outliers_always():
    H = np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 1.0]])
    found = outliers.find_outliers(H, np.eye(2))
    np.testing.assert_array_equal(found.flagged, [True, False, False])
    assert found.score[0] == 1.0
    assert outliers.find_outliers(np.zeros((3, 2)), np.eye(2)).flagged.all()
    assert not outliers.find_outliers(np.ones((3, 2)), np.eye(2)).flagged.any()


# ------------------------------------------------------------------------------------------------ gene sets

GENES = [f"g{i}" for i in range(100)]
SETS = {"low": GENES[:10], "spread": GENES[::9], "outside": ["x1", "x2"], "part": [*GENES[5:12], "x3"]}


@given(seeds)
def test_p_values_are_those_of_fisher_s_exact_test(seed):
    rng = np.random.default_rng(seed)
    drawn = rng.choice(GENES, size=rng.integers(1, 30), replace=False).tolist()
    tests = genesets.over_representation([drawn], SETS, GENES, min_size=1)
    assert tests.sets == ["low", "spread", "part"]
    for index, name in enumerate(tests.sets):
        both = set(drawn) & set(SETS[name])
        size = len(set(SETS[name]) & set(GENES))
        table = [[len(both), size - len(both)], [len(drawn) - len(both), 100 - size - len(drawn) + len(both)]]
        assert tests.p_value[0, index] == pytest.approx(stats.fisher_exact(table, alternative="greater").pvalue)
        assert set(tests.shared[0][index]) == both
    np.testing.assert_allclose(tests.p_adjusted[0], stats.false_discovery_control(tests.p_value[0]))


def test_every_tested_set_counts_in_the_adjustment():
    unrelated = {f"s{i}": GENES[50 + i : 60 + i] for i in range(20)}
    alone = genesets.over_representation([GENES[:5]], {"low": GENES[:10]}, GENES)
    among = genesets.over_representation([GENES[:5]], {"low": GENES[:10], **unrelated}, GENES)
    assert among.p_adjusted[0, 0] == pytest.approx(21 * alone.p_value[0, 0])


def test_genes_outside_the_background_and_repeats_do_not_count():
    plain = genesets.over_representation([GENES[:5]], {"a": GENES[:10]}, GENES)
    noisy = genesets.over_representation([[*GENES[:5], "x", "g0"]], {"a": [*GENES[:10], "y", "g0"]}, [*GENES, "g0"])
    np.testing.assert_array_equal(plain.p_value, noisy.p_value)
    np.testing.assert_array_equal(plain.fold, noisy.fold)
    assert plain.fold[0, 0] == pytest.approx(5 / (5 * 10 / 100))


def test_an_empty_list_has_nothing():
    tests = genesets.over_representation([[]], SETS, GENES, min_size=1)
    assert (tests.p_value == 1).all()
    assert (tests.fold == 0).all()


def test_set_sizes_within_the_background_decide_what_is_tested():
    assert genesets.over_representation([GENES], SETS, GENES, min_size=8, max_size=11).sets == ["low"]
    with pytest.raises(
        ValueError,
        match=r"sets must have 50 \(min_size\) to 500 \(max_size\) of the data's genes to be tested, got \d+ to",
    ):
        genesets.over_representation([GENES], SETS, GENES, min_size=50)


def test_names_of_another_kind_are_shown_on_both_sides():
    with pytest.raises(ValueError, match=r"names like 'TP53'.*like 'ENSG01'"):
        genesets.over_representation([["ENSG01"]], {"a": ["TP53"]}, ["ENSG01"])


def test_gmt_files_read_as_mappings_do(tmp_path):
    path = tmp_path / "sets.gmt"
    path.write_text("a\thttp://a\tg1\tg2\tg2\nb\t\tg3\t\n\n")
    assert genesets.read_gene_sets(path) == {"a": ["g1", "g2"], "b": ["g3"]}
    assert genesets.read_gene_sets(str(path)) == genesets.read_gene_sets({"a": ("g1", "g2"), "b": ["g3", "g3"]})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b c\n", r"sets.gmt, line 1 must be name, description and genes with tabs, got 'a b c'"),
        ("a\t\tg\na\t\tg\n", r"sets.gmt, line 2 must have a new name, got 'a' again"),
        ("", r"gene_sets must have at least one set, got none"),
    ],
)
def test_broken_gmt_files_are_refused(tmp_path, text, message):
    path = tmp_path / "sets.gmt"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        genesets.read_gene_sets(path)


def test_bad_gene_sets_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="which is no file"):
        genesets.read_gene_sets(tmp_path / "missing.gmt")
    with pytest.raises(TypeError, match="got a string for 'a'"):
        genesets.read_gene_sets({"a": "TP53"})


def test_gseapy_agrees():
    gseapy = pytest.importorskip("gseapy")
    rng = np.random.default_rng(0)
    sets = {f"s{i}": rng.choice(GENES, 15, replace=False).tolist() for i in range(30)}
    drawn = rng.choice(GENES, 20, replace=False).tolist()
    tests = genesets.over_representation([drawn], sets, GENES)
    theirs = gseapy.enrich(gene_list=drawn, gene_sets=sets, background=GENES, outdir=None).results
    theirs = theirs.set_index("Term")["P-value"].astype(float)
    ours = {name: p for name, p in zip(tests.sets, tests.p_value[0], strict=True) if name in theirs.index}
    np.testing.assert_allclose([ours[name] for name in theirs.index], theirs.to_numpy(), rtol=1e-6)


def test_thousands_of_sets_at_once_are_as_one_by_one():
    rng = np.random.default_rng(0)
    genes = [f"g{i}" for i in range(15_000)]
    sets = {f"s{i}": [genes[j] for j in rng.integers(0, 15_000, 80)] for i in range(5_000)}
    lists = [[genes[j] for j in rng.integers(0, 15_000, 200)] for _ in range(20)]
    together = genesets.over_representation(lists, sets, genes)
    assert together.p_value.shape == (20, 5_000)
    alone = genesets.over_representation([lists[7]], {"s123": sets["s123"]}, genes)
    assert together.p_value[7, together.sets.index("s123")] == pytest.approx(alone.p_value[0, 0])
