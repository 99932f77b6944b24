"""Words of texts and their weights."""

import math

import numpy as np
import pytest

from dissensus.text.terms import weight_terms


def test_weights_are_those_of_the_formula() -> None:
    terms = weight_terms(["ape ape bee", "bee", "ape cat", "dog cat", "dog"], [1, 2, 2, 1, 2])
    assert terms.names == ("ape", "bee", "cat", "dog")
    assert terms.sizes.tolist() == [2, 1, 2, 2, 1]
    idf = 1 + math.log(6 / 3)
    raw = np.array([(1 + math.log(2)) * idf, idf])
    assert terms.values[:2] == pytest.approx(raw / np.linalg.norm(raw))


def test_words_of_a_single_author_are_left_out() -> None:
    terms = weight_terms(["Mallory picks locks", "Mallory locks doors", "open doors", "nothing"], [1, 1, 2, 3])
    assert terms.names == ("doors",)
    assert terms.sizes.tolist() == [0, 1, 1, 0]


def test_numbers_and_words_of_most_texts_are_left_out() -> None:
    terms = weight_terms(["call 555 0100 now", "CALL now 555", "call me", "Don’t"], [1, 2, 3, 1])
    assert terms.names == ("now",)


def test_texts_without_words_are_allowed() -> None:
    terms = weight_terms(["", "!!"], [1, 2])
    assert terms.names == ()
    assert terms.sizes.tolist() == [0, 0]
