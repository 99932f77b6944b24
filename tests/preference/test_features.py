"""What a model sees of a text, against a slow and obvious count."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.preference.data.features import CHARACTERS, Vocabulary, count_features
from dissensus.preference.data.sparse import FeatureRows

texts = st.lists(st.text(alphabet="ab é\n,ß🙂", max_size=14), min_size=1, max_size=4)


def runs(text: str) -> Counter[str]:
    """Return the runs of characters of each word between its spaces."""
    low, high = CHARACTERS
    found: Counter[str] = Counter()
    for word in text.casefold().split():
        spaced = f" {word} "
        found.update(
            spaced[begin : begin + size] for size in range(low, high + 1) for begin in range(len(spaced) - size + 1)
        )
    return found


def dense(rows: FeatureRows) -> np.ndarray:
    out = np.zeros((len(rows), rows.width))
    for row in range(len(rows)):
        places = slice(rows.ends[row], rows.ends[row + 1])
        out[row, rows.columns[places]] = rows.values[places]
    return out


@quick
@given(texts)
def test_runs_of_characters_are_those_within_words(given_texts: list[str]) -> None:
    rows = count_features(given_texts, "characters")
    for row, text in enumerate(given_texts):
        counts = rows.values[rows.ends[row] : rows.ends[row + 1]]
        assert sorted(counts.tolist()) == sorted(map(float, runs(text).values()))


def test_texts_share_the_features_that_they_share() -> None:
    first, second = (
        set(count_features([text], "words").columns.tolist()) for text in ("Do no HARM!", "no  harm, ever")
    )
    assert len(first) == len(second) == 5  # three words and two runs of two
    assert len(first & second) == 3  # no, harm, no harm


@quick
@given(texts, texts)
def test_each_text_is_counted_alone(some: list[str], others: list[str]) -> None:
    together, apart = count_features(some + others, "words"), count_features(others, "words")
    assert together.values[together.ends[len(some)] :].tolist() == apart.values.tolist()
    assert together.columns[together.ends[len(some)] :].tolist() == apart.columns.tolist()


def test_rows_have_length_one_and_rare_features_tell_more() -> None:
    counts = count_features(["the cat", "the dog", "the road", "nothing"], "words")
    known = Vocabulary.learn(counts.take(np.arange(3)))
    rows = known.weigh(counts)
    assert np.square(rows.values[: rows.ends[1]]).sum() == np.float32(1.0) or np.isclose(
        np.square(rows.values[: rows.ends[1]]).sum(), 1
    )
    assert rows.ends[4] == rows.ends[3]  # what training did not have
    assert sorted(known.idf.round(3).tolist())[0] == 1.0  # "the", in all of them


@quick
@given(texts, st.integers(0, 5))
def test_sparse_rows_do_what_dense_ones_do(given_texts: list[str], seed: int) -> None:
    counts = count_features([*given_texts, *given_texts[::-1]], "characters")
    rows = Vocabulary.learn(counts).weigh(counts)
    rng, full = np.random.default_rng(seed), dense(rows)
    vector, weight = rng.normal(size=rows.width), rng.normal(size=len(rows))
    assert np.allclose(rows @ vector, full @ vector)
    assert np.allclose(rows.transposed_times(weight), full.T @ weight)
    assert np.allclose(dense(rows.differences()), full[0::2] - full[1::2])
    order = rng.permutation(len(rows))
    assert np.array_equal(dense(rows.take(order)), full[order])
    assert np.array_equal(dense(rows.beside(rows)), np.hstack([full, full]))
