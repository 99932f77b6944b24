"""Text features against a slow count."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.preference.data.features import CHARACTERS, Vocabulary, count_features
from dissensus.stats.sparse import SparseRows

texts = st.lists(st.text(alphabet="ab é\n,ß🙂", max_size=14), min_size=1, max_size=4)


def runs(text: str) -> Counter[str]:
    """Count the character n-grams of each word with its surrounding spaces."""
    low, high = CHARACTERS
    counts: Counter[str] = Counter()
    for word in text.casefold().split():
        spaced = f" {word} "
        counts.update(
            spaced[begin : begin + size] for size in range(low, high + 1) for begin in range(len(spaced) - size + 1)
        )
    return counts


def dense(rows: SparseRows) -> np.ndarray:
    out = np.zeros((len(rows), rows.width))
    for row in range(len(rows)):
        entries = slice(rows.ends[row], rows.ends[row + 1])
        out[row, rows.columns[entries]] = rows.values[entries]
    return out


@quick
@given(texts)
def test_runs_of_characters_are_those_within_words(given_texts: list[str]) -> None:
    rows = count_features(given_texts, "characters")
    for row, text in enumerate(given_texts):
        counts = rows.values[rows.ends[row] : rows.ends[row + 1]]
        assert sorted(counts.tolist()) == sorted(map(float, runs(text).values()))


def test_texts_with_common_words_share_features() -> None:
    first, second = (
        set(count_features([text], "words").columns.tolist()) for text in ("Do no HARM!", "no  harm, ever")
    )
    assert len(first) == len(second) == 5  # three words and two runs of two
    assert len(first & second) == 3  # no, harm, no harm


@quick
@given(texts, texts)
def test_each_text_is_counted_alone(first: list[str], second: list[str]) -> None:
    together, alone = count_features(first + second, "words"), count_features(second, "words")
    assert together.values[together.ends[len(first)] :].tolist() == alone.values.tolist()
    assert together.columns[together.ends[len(first)] :].tolist() == alone.columns.tolist()


def test_rows_have_length_one_and_rare_features_weigh_more() -> None:
    counts = count_features(["the cat", "the dog", "the road", "nothing"], "words")
    vocabulary = Vocabulary.learn(counts.take(np.arange(3)))
    rows = vocabulary.weigh(counts)
    assert np.square(rows.values[: rows.ends[1]]).sum() == pytest.approx(1, rel=1e-6)
    assert rows.ends[4] == rows.ends[3]  # not in training
    assert sorted(vocabulary.idf.round(3).tolist())[0] == 1.0  # "the", in all of them


@quick
@given(texts, st.integers(0, 5))
def test_sparse_rows_equal_dense_rows(given_texts: list[str], seed: int) -> None:
    counts = count_features([*given_texts, *given_texts[::-1]], "characters")
    rows = Vocabulary.learn(counts).weigh(counts)
    rng, full = np.random.default_rng(seed), dense(rows)
    vector, weight = rng.normal(size=rows.width), rng.normal(size=len(rows))
    assert np.allclose(rows @ vector, full @ vector)
    assert np.allclose(rows.transposed_times(weight), full.T @ weight)
    assert np.allclose(dense(rows.differences()), full[0::2] - full[1::2])
    order = rng.permutation(len(rows))
    assert np.array_equal(dense(rows.take(order)), full[order])
    assert np.array_equal(dense(rows.hstack(rows)), np.hstack([full, full]))
