"""Near duplicates: against all pairs, invariances, published probabilities, and invalid input."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.near_duplicates import firsts
from tests.strategies import quick

from dissensus.errors import InvalidInput
from dissensus.files.items import read_items
from dissensus.text.near_duplicates import (
    MAX_MISS_RATE,
    ShingledTexts,
    band_keys,
    banding,
    candidate_probability,
    near_duplicates,
    normalise_text,
)

WORDS = [f"word{number}" for number in range(400)]


def replace_words(rng: random.Random, text: list[str], n: int) -> list[str]:
    """Return a text with some of its words replaced by others."""
    result = list(text)
    for position in rng.sample(range(len(text)), n):
        result[position] = rng.choice(WORDS)
    return result


def corpus(seed: int, n: int) -> list[str]:
    """Return texts of sixty words, some of which repeat an earlier one with up to eight words replaced."""
    rng = random.Random(seed)
    texts = [[rng.choice(WORDS) for _ in range(60)]]
    for _ in range(n - 1):
        new = [rng.choice(WORDS) for _ in range(60)]
        texts.append(replace_words(rng, rng.choice(texts), rng.randrange(9)) if rng.random() < 0.5 else new)
    return [" ".join(text) for text in texts]


@pytest.mark.parametrize("threshold", [0.5, 0.7, 0.8, 0.95])
def test_groups_are_those_of_all_pairs(threshold: float) -> None:
    texts = corpus(1, 300)
    result = near_duplicates(texts, threshold=threshold)
    assert result.first.tolist() == firsts(texts, threshold)
    assert 10 < result.repeats.sum() < 290


@pytest.mark.parametrize("seed", range(3))
def test_results_do_not_depend_on_the_seed(seed: int) -> None:
    texts = corpus(2, 200)
    assert near_duplicates(texts, seed=seed).first.tolist() == firsts(texts, 0.8)


@pytest.mark.slow
def test_real_pairs_give_the_groups_of_all_pairs(real_data: Callable[[str], Path]) -> None:
    items = read_items(real_data("hh-rlhf/harmless-base-test.jsonl.gz")).items
    sample = [*items[:250], *items[len(items) // 2 :][:250]]
    texts = ["\n".join(turn.text for turn in item.conversation.turns) for item in sample]
    result = near_duplicates(texts, threshold=0.6)
    assert result.first.tolist() == firsts(texts, 0.6)
    assert result.repeats.sum() > 20


@given(st.permutations(range(30)), st.integers(0, 5))
@quick
def test_another_order_gives_the_same_groups(order: list[int], seed: int) -> None:
    texts = corpus(seed, 30)
    straight, shuffled = near_duplicates(texts), near_duplicates([texts[place] for place in order])
    assert {frozenset(np.flatnonzero(straight.first == first).tolist()) for first in straight.first} == {
        frozenset(order[place] for place in np.flatnonzero(shuffled.first == first)) for first in shuffled.first
    }
    assert (straight.first <= np.arange(30)).all()
    assert (straight.first[straight.first] == straight.first).all()


def test_bands_agree_as_often_as_the_formula_says() -> None:
    bands, rows = banding(0.8)
    sets = [[f"w{pair}x{word}" for word in range(100)] for pair in range(600)]
    texts = [" ".join(words) for both in sets for words in (both[:80], both[20:])]  # 60 of 100 are shared
    keys = band_keys(ShingledTexts.from_texts(texts, 1), np.random.default_rng(0), bands, rows)
    agree = keys[::2] == keys[1::2]
    # standard errors: 0.002 over 15,000 bands, 0.014 over 600 pairs
    assert agree.mean() == pytest.approx(0.6**rows, abs=0.008)
    assert agree.any(axis=1).mean() == pytest.approx(candidate_probability(0.6, bands, rows), abs=0.05)


@pytest.mark.parametrize(
    ("similarity", "published"),
    [(0.2, 0.006), (0.3, 0.047), (0.4, 0.186), (0.5, 0.470), (0.6, 0.802), (0.7, 0.975), (0.8, 0.9996)],
)
def test_published_probabilities(similarity: float, published: float) -> None:
    # Leskovec, Rajaraman and Ullman, Mining of Massive Datasets, figure 3.8: 20 bands of 5
    assert candidate_probability(similarity, 20, 5) == pytest.approx(published, abs=6e-4)


@given(st.floats(0.5, 1))
@quick
def test_few_pairs_at_the_threshold_are_missed(threshold: float) -> None:
    bands, rows = banding(threshold)
    assert 1 - candidate_probability(threshold, bands, rows) < MAX_MISS_RATE
    assert bands * rows <= 128


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Is it safe?", "is  it\n\tSAFE?"),
        ("Is it safe?", "Ｉｓ ｉｔ safe?"),
        ("Straße", "STRASSE"),
        ("caf\u00e9 \ufb01n", "cafe\u0301 fin"),
        ("", " \n\u00a0"),
        ("😀", "😀 "),
    ],
)
def test_exact_duplicates(first: str, second: str) -> None:
    result = near_duplicates([first, "Something else", second], threshold=1)
    assert (result.first.tolist(), result.exact.tolist()) == ([0, 1, 0], [False, False, True])
    assert normalise_text(normalise_text(first)) == normalise_text(second)


def test_punctuation_makes_near_duplicates_and_no_word_none() -> None:
    result = near_duplicates(["Is it safe?", "is it safe!", "?!", "!!", "", "..."])
    assert result.first.tolist() == [0, 0, 2, 3, 4, 5]
    assert not result.exact.any()


def test_the_threshold_itself_is_enough() -> None:
    words = [f"w{place}" for place in range(100)]
    for percent in range(50, 100):
        pair = [" ".join(words), " ".join(words[:percent])]
        at, above = (near_duplicates(pair, threshold=t / 100, words=1).repeats[1] for t in (percent, percent + 1))
        assert (at, above) == (True, False), percent


def test_chains_are_one_group() -> None:
    words = [f"w{place}" for place in range(40)]
    texts = [" ".join(["other"] * change + words[change:]) for change in (0, 2, 4, 6)]
    result = near_duplicates(texts, threshold=0.9, words=1)
    assert result.first.tolist() == [0, 0, 0, 0]
    assert near_duplicates([texts[0], texts[3]], threshold=0.9, words=1).first.tolist() == [0, 1]


def test_scripts_without_spaces() -> None:
    text = "この会話は安全ですか、それとも危険ですか。答えてください。"
    assert near_duplicates(
        [text, text.replace("危険", "危機"), "今日は良い天気です"], threshold=0.5
    ).first.tolist() == [0, 0, 2]


def test_few_texts() -> None:
    assert near_duplicates([]).first.tolist() == []
    assert near_duplicates([""]).first.tolist() == [0]
    assert near_duplicates(["a"] * 1000).first.tolist() == [0] * 1000


def test_hostile_texts() -> None:
    texts = ["a " * 2**19, "\ud800 half", "\ud800 half!", "x" * 2**20, "a " * 2**10, "\0\u202e" * 9]
    assert near_duplicates(texts).first.tolist() == [0, 1, 1, 3, 0, 5]


def test_results_do_not_depend_on_the_process() -> None:
    code = (
        "import json, sys; from dissensus.text.near_duplicates import near_duplicates;"
        "print(json.dumps(near_duplicates(json.load(sys.stdin)).first.tolist()))"
    )
    texts = corpus(4, 60)
    for seed in "01":  # of the hashes of Python
        env = {**os.environ, "PYTHONHASHSEED": seed}
        process = subprocess.run(
            [sys.executable, "-c", code], input=json.dumps(texts), capture_output=True, text=True, check=True, env=env
        )
        assert json.loads(process.stdout) == near_duplicates(texts).first.tolist()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"threshold": 0.4}, "threshold is 0.4; give a similarity from 0.5 to 1, such as 0.8."),
        ({"threshold": float("nan")}, "threshold is nan"),
        ({"words": 0}, "words is 0; give the number of words of a shingle"),
        ({"seed": -1}, "seed is -1; give a whole number, 0 or more."),
    ],
)
def test_invalid_settings_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidInput) as error:
        near_duplicates(["a"], **settings)  # type: ignore[arg-type]
    assert message in str(error.value)
