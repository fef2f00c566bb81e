"""Laws of the scores, their edge cases, and agreement with scikit-learn and with numbers worked by hand."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import completeness_score, homogeneity_score, normalized_mutual_info_score

from genesieve import metrics

pairs = st.integers(1, 30).flatmap(lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n)] * 2))
SCORES = {
    "nmi geometric": metrics.nmi,
    "nmi arithmetic": lambda t, p: metrics.nmi(t, p, average="arithmetic"),
    "purity": metrics.purity,
    "entropy given clusters": metrics.entropy,
    "entropy given classes": lambda t, p: metrics.entropy(t, p, given="classes"),
}
scores = pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)


@scores
@given(pair=pairs, names=st.permutations(["a", "bb", "c", 7, (1, 2)]), order=st.randoms())
def test_scores_do_not_depend_on_names_or_cell_order(score, pair, names, order):
    cells = list(zip(*pair, strict=True))
    order.shuffle(cells)
    renamed = [pd.Series([names[label] for label in labels], dtype=object) for labels in zip(*cells, strict=True)]
    assert score(*renamed) == pytest.approx(score(*pair), abs=1e-12)


@given(pairs)
def test_scores_stay_in_their_range(pair):
    for name, score in SCORES.items():
        value = score(*pair)
        assert value >= 0.0
        assert value <= 1.0 or name == "entropy given classes"
    assert metrics.purity(*pair) >= 1 / len(set(pair[0]))


@pytest.mark.parametrize("average", ["geometric", "arithmetic"])
@given(pairs)
def test_nmi_is_symmetric_and_agrees_with_scikit_learn(average, pair):
    value = metrics.nmi(*pair, average=average)
    assert value == pytest.approx(metrics.nmi(*pair[::-1], average=average), abs=1e-12)
    assert value == pytest.approx(normalized_mutual_info_score(*pair, average_method=average), abs=1e-9)


@given(pairs)
def test_geometric_nmi_is_at_least_the_arithmetic_one(pair):
    assert metrics.nmi(*pair) >= metrics.nmi(*pair, average="arithmetic") - 1e-12


@given(pairs)
def test_entropy_is_what_homogeneity_and_completeness_leave(pair):
    true, pred = pair
    if len(set(true)) == 1:
        return
    sizes, n = np.unique(true, return_counts=True)[1], len(true)
    class_entropy = -(sizes / n) @ np.log2(sizes / n) / np.log2(len(sizes))
    assert metrics.entropy(true, pred) == pytest.approx(class_entropy * (1 - homogeneity_score(true, pred)), abs=1e-9)
    sizes = np.unique(pred, return_counts=True)[1]
    cluster_entropy = -(sizes / n) @ np.log2(sizes / n) / np.log2(len(set(true)))
    split = cluster_entropy * (1 - completeness_score(true, pred))
    assert metrics.entropy(true, pred, given="classes") == pytest.approx(split, abs=1e-9)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30))
def test_the_true_partition_is_perfect(labels):
    assert metrics.nmi(labels, labels) == pytest.approx(1.0)
    assert metrics.purity(labels, labels) == 1.0
    assert metrics.entropy(labels, labels) == metrics.entropy(labels, labels, given="classes") == 0.0


def test_a_table_worked_by_hand():
    true = ["x"] * 4 + ["y"] * 4
    pred = [0, 0, 0, 1, 1, 1, 1, 1]  # cluster 0 holds xxx, cluster 1 holds xyyyy
    in_one = -(0.2 * np.log2(0.2) + 0.8 * np.log2(0.8))
    in_x = -(0.75 * np.log2(0.75) + 0.25 * np.log2(0.25))
    in_clusters = -(3 / 8 * np.log2(3 / 8) + 5 / 8 * np.log2(5 / 8))
    shared = 1 - 5 / 8 * in_one
    assert metrics.purity(true, pred) == 7 / 8
    assert metrics.entropy(true, pred) == pytest.approx(5 / 8 * in_one)
    assert metrics.entropy(true, pred, given="classes") == pytest.approx(in_x / 2)
    assert metrics.nmi(true, pred) == pytest.approx(shared / np.sqrt(in_clusters))
    assert metrics.nmi(true, pred, average="arithmetic") == pytest.approx(2 * shared / (1 + in_clusters))


def test_one_class():
    assert metrics.nmi([1, 1, 1], [0, 0, 1]) == 0.0
    assert metrics.nmi([1, 1, 1], ["a", "a", "a"]) == 1.0
    assert metrics.purity([1, 1, 1], [0, 0, 1]) == 1.0
    assert metrics.entropy([1, 1, 1], [0, 0, 1]) == 0.0
    assert metrics.entropy([1, 1, 1], [0, 0, 0], given="classes") == 0.0
    assert metrics.entropy([1, 1, 1], [0, 0, 1], given="classes") == np.inf


def test_one_cluster():
    true, pred = [0, 0, 1, 1, 2, 2], [5] * 6
    assert metrics.nmi(true, pred) == metrics.nmi(true, pred, average="arithmetic") == 0.0
    assert metrics.purity(true, pred) == pytest.approx(1 / 3)
    assert metrics.entropy(true, pred) == pytest.approx(1.0)
    assert metrics.entropy(true, pred, given="classes") == 0.0


def test_more_clusters_than_classes_can_pass_one_given_classes():
    assert metrics.entropy([0] * 4 + [1] * 4, [0, 1, 2, 3] * 2, given="classes") == pytest.approx(2.0)


def test_pandas_categoricals_with_unused_categories_and_any_index():
    true = pd.Series(pd.Categorical(["b", "a", "a"], categories=["a", "b", "unused"]), index=[9, 4, 2])
    assert metrics.nmi(true, pd.Categorical([2, 1, 1])) == pytest.approx(1.0)
    assert metrics.entropy(true, [0, 0, 0]) == pytest.approx(-(1 / 3 * np.log2(1 / 3) + 2 / 3 * np.log2(2 / 3)))


def test_a_number_and_its_spelling_are_two_labels():
    assert metrics.purity([1, "1"], [0, 0]) == 0.5


@scores
def test_bad_labels_are_named(score):
    with pytest.raises(ValueError, match=r"^labels_true and labels_pred must have the same length, got 3 and 4$"):
        score([1, 2, 3], [1, 2, 3, 4])
    with pytest.raises(ValueError, match=r"^labels_true must have at least one label, got none$"):
        score([], [])
    with pytest.raises(ValueError, match=r"^labels_pred must be one label a cell, got an array of shape \(2, 1\)$"):
        score([1, 2], [[1], [2]])


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT])
def test_missing_labels_are_refused(missing):
    with pytest.raises(ValueError, match=r"^labels_pred must have a label for every cell, got missing ones$"):
        metrics.nmi(["a", "b"], ["a", missing])


def test_bad_options_are_named():
    with pytest.raises(ValueError, match=r"^average must be 'geometric' or 'arithmetic', got 'max'$"):
        metrics.nmi([0], [0], average="max")
    with pytest.raises(ValueError, match=r"^given must be 'clusters' or 'classes', got 'cells'$"):
        metrics.entropy([0], [0], given="cells")


factors = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 8), st.integers(1, 4)),
    elements=st.floats(0, 100).map(lambda value: round(value, 3)),
)


@given(factors, st.lists(st.floats(0.01, 100), min_size=4, max_size=4), st.randoms())
def test_orthogonality_ignores_scale_and_order(H, scale, order):
    columns, cells = list(range(H.shape[1])), list(range(H.shape[0]))
    order.shuffle(columns)
    order.shuffle(cells)
    changed = (H * scale[: H.shape[1]])[cells][:, columns]
    assert metrics.orthogonality(changed) == pytest.approx(metrics.orthogonality(H), abs=1e-12)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=20), st.data())
def test_one_program_a_cell_is_orthogonal(labels, data):
    used, codes = np.unique(labels, return_inverse=True)
    values = data.draw(st.lists(st.floats(0.01, 100), min_size=len(labels), max_size=len(labels)))
    assert metrics.orthogonality(np.eye(len(used))[codes] * np.array(values)[:, None]) == pytest.approx(0, abs=1e-12)


def test_orthogonality_by_hand():
    assert metrics.orthogonality([[3.0, 1.0], [0.0, 1.0]]) == pytest.approx(np.sqrt(2 * 0.5) / 4)
    assert metrics.orthogonality([[2, 2], [2, 2]]) == pytest.approx(np.sqrt(2) / 4)


def test_a_dead_program_counts_as_one():
    assert metrics.orthogonality([[1.0, 0.0], [1.0, 0.0]]) == pytest.approx(1 / 4)
    assert metrics.orthogonality(np.zeros((5, 3))) == pytest.approx(np.sqrt(3) / 9)


def test_orthogonality_refuses_what_it_cannot_read():
    with pytest.raises(ValueError, match=r"^H must be a non-empty matrix of cells x rank, got shape \(3,\)$"):
        metrics.orthogonality([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"^H must be finite, got 1 infinite or missing entries$"):
        metrics.orthogonality([[1.0, np.nan]])


@pytest.mark.parametrize("method", ["NMF", "ONMF", "ONMF_L20", "ONMF_L20_rho", "NMF_L20", "NMF_CL0", "ONMF_L0"])
def test_nmi_of_the_reference_factors(reference, method):
    labels = reference.results[method].H.argmax(axis=1)
    score = metrics.nmi(reference.labels, labels, average="arithmetic")
    assert score == pytest.approx(reference.nmi[method][0], abs=1e-6)


def test_orthogonality_of_the_reference_factors(reference):
    # what the published continuation stops at
    assert metrics.orthogonality(reference.results["ONMF_L20"].H) <= 1e-3
    assert metrics.orthogonality(reference.results["NMF"].H) > 1e-1
