"""Training of transformers: context, calibration, checkpoints, LoRA and options."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.preference.transformer.bases import llama
from tests.preference.transformer.conversations import fitting

from dissensus.errors import Conflict, InvalidInput, NotFound, UndefinedEstimate
from dissensus.preference.data.pairs import Pair, digest
from dissensus.preference.data.weighting import Weighting
from dissensus.preference.fit.training import train
from dissensus.preference.transformer.checkpoints import RUN
from dissensus.preference.transformer.model import Transformer
from dissensus.preference.transformer.plan import TransformerPlan
from dissensus.preference.transformer.training import train_transformer

pytestmark = pytest.mark.ml

QUICK: dict[str, Any] = {"learning_rate": 0.004, "epochs": 4, "batch": 8}


def train_helpful(pairs: list[Pair], plan: TransformerPlan, **options: Any) -> Transformer:
    return train_transformer(pairs, purpose="helpful", plan=plan, **options)


def weights(model: Transformer) -> dict[str, bytes]:
    return {name: tensor.numpy().tobytes() for name, tensor in model.network.state_dict().items()}


def test_any_base_learns_from_context_unlike_words_alone(any_base: str) -> None:
    pairs = fitting(300)
    model = train_helpful(pairs, TransformerPlan(base=any_base, **QUICK))
    accuracy = model.card["held_out"]["accuracy"]
    assert accuracy["n"] == 60
    assert accuracy["ci_low"] > 0.8
    words = train(pairs, purpose="helpful").card["held_out"]["accuracy"]
    assert words["ci_low"] < 0.5


def test_the_card_describes_data_base_and_versions(model: Transformer, base: str) -> None:
    card, pairs = model.card, fitting(400)
    assert card["data_sha256"] == digest(pairs)
    assert (card["n_pairs_given"], card["n_pairs"], card["n_pairs_calibration"]) == (400, 288, 32)
    assert card["held_out"]["accuracy"]["n"] == 80
    assert card["base"] == {"name": Path(base).name, "revision": None, "n_weights": model.network.num_parameters()}
    assert card["cut"] == {"n_pairs": 0, "max_length": 128}
    assert card["settings"]["learning_rate"] == 0.004
    assert set(card["versions"]) == {"python", "dissensus", "torch", "transformers", "tokenizers"}
    assert str(Path(base).parent) not in str(card)


def test_temperature_makes_scores_of_unknown_dialogues_log_odds(base: str) -> None:
    """Scores of random choices are calibrated to be uninformative, however confident the network is."""
    rng = np.random.default_rng(1)
    pairs = [pair.swapped() if rng.random() < 0.5 else pair for pair in fitting(300)]
    noise = train_helpful(pairs, TransformerPlan(base=base, **QUICK))
    assert noise.card["held_out"]["log_loss"] < 0.75


def test_weights_depend_on_the_seed_and_not_on_the_order(base: str) -> None:
    pairs, plan = fitting(60), TransformerPlan(base=base, learning_rate=0.003)
    first, reordered, reseeded = (
        train_helpful(list(order), plan, seed=seed) for order, seed in ((pairs, 0), (pairs[::-1], 0), (pairs, 1))
    )
    assert weights(first) == weights(reordered) != weights(reseeded)
    assert first.temperature == reordered.temperature


@pytest.mark.parametrize("lora", [None, 4])
def test_an_interrupted_training_goes_on_to_the_same_weights(base: str, tmp_path: Path, lora: int | None) -> None:
    """Interrupted after step 7 of 12, in the second epoch; steps 6 and 7 are repeated."""
    pairs, shares = fitting(120), list[float]()
    plan = TransformerPlan(base=base, learning_rate=0.003, epochs=2, accumulate=2, batch=8, lora=lora)
    uninterrupted = train_helpful(pairs, plan, progress=shares.append)
    assert len(shares) == 12
    with_checkpoints = replace(plan, checkpoints=tmp_path / "partial", checkpoint_every=5)

    def interrupt(share: float) -> None:
        if share > 7 / 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_helpful(pairs, with_checkpoints, progress=interrupt)
    with pytest.raises(Conflict, match="Resume it with --resume, or delete it"):
        train_helpful(pairs, with_checkpoints)
    with pytest.raises(InvalidInput, match="other pairs, settings"):
        train_helpful(pairs[1:], replace(with_checkpoints, resume=True))
    with pytest.raises(InvalidInput, match="other pairs, settings"):
        train_helpful(pairs, replace(with_checkpoints, resume=True, batch=4))
    shares.clear()
    resumed = train_helpful(pairs, replace(with_checkpoints, resume=True), progress=shares.append)
    assert [round(share * 12) for share in shares] == [6, 7, 8, 9, 10, 11, 12]
    assert weights(resumed) == weights(uninterrupted)
    assert resumed.temperature == uninterrupted.temperature
    assert 0 < resumed.card["speed"]["n_tokens"] < uninterrupted.card["speed"]["n_tokens"]


def test_an_incomplete_checkpoint_is_skipped(base: str, tmp_path: Path) -> None:
    pairs = fitting(60)
    plan = TransformerPlan(base=base, batch=8, checkpoints=tmp_path, checkpoint_every=2)
    complete = train_helpful(pairs, plan)
    (tmp_path / "checkpoint-6" / "trainer_state.json").write_text("{")
    shares = list[float]()
    assert weights(train_helpful(pairs, replace(plan, resume=True), progress=shares.append)) == weights(complete)
    assert len(shares) == 2


def test_a_folder_of_something_else_gets_no_checkpoints(base: str, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("ten years of work")
    with pytest.raises(InvalidInput, match=r"holds other files than checkpoints: 'thesis\.tex'"):
        train_helpful(fitting(60), TransformerPlan(base=base, checkpoints=tmp_path))


def test_nothing_to_resume(base: str, tmp_path: Path) -> None:
    plan = TransformerPlan(base=base, checkpoints=tmp_path / "nowhere", resume=True)
    with pytest.raises(NotFound, match="There is no training to resume"):
        train_helpful(fitting(60), plan)
    with pytest.raises(InvalidInput, match="no folder with checkpoints to resume"):
        train_helpful(fitting(60), replace(plan, checkpoints=None))
    (tmp_path / RUN).write_text("[")
    with pytest.raises(InvalidInput, match="other pairs, settings"):
        train_helpful(fitting(60), replace(plan, checkpoints=tmp_path))


def test_lora_learns_and_leaves_a_plain_network(any_base: str) -> None:
    model = train_helpful(fitting(300), TransformerPlan(base=any_base, lora=8, learning_rate=0.004, epochs=4, batch=8))
    assert model.card["held_out"]["accuracy"]["ci_low"] > 0.8
    assert type(model.network).__name__.endswith("ForSequenceClassification")
    assert not [name for name in model.network.state_dict() if "lora" in name]
    assert "peft" in model.card["versions"]


def test_accumulated_batches_equal_one_batch(tmp_path: Path) -> None:
    """The last step has fewer pairs than the others, so the mean is over the pairs of a step, not over its batches."""
    pairs = fitting(70)
    plan = TransformerPlan(base=llama(tmp_path), batch=16, learning_rate=0.001)  # Without dropout
    one_batch, accumulated = train_helpful(pairs, plan), train_helpful(pairs, replace(plan, batch=4, accumulate=4))
    np.testing.assert_allclose(one_batch.margins(pairs), accumulated.margins(pairs), rtol=1e-3)


def test_bfloat16_changes_little(base: str) -> None:
    pairs = fitting(300)
    model = train_helpful(pairs, TransformerPlan(base=base, bf16=True, **QUICK))
    assert model.bf16
    assert model.network.dtype.itemsize == 4
    assert model.card["held_out"]["accuracy"]["ci_low"] > 0.8


def test_strength_and_soft_labels_count(base: str) -> None:
    """Most people want the wrong thing, weakly; the others want the right one, strongly."""
    right = [replace(pair, strength=3.0) for pair in fitting(150)]
    mislabelled = [replace(pair.swapped(), strength=0.1, rater="b") for pair in fitting(150)]
    plan = TransformerPlan(base=base, weighting=Weighting(strength="weight"), **QUICK)
    assert (train_helpful([*right, *mislabelled], plan).margins(right) > 0).mean() > 0.9
    split = [replace(pair, agreement=0.25) for pair in fitting(300)]
    soft = train_helpful(split, replace(plan, weighting=Weighting(soft=True)))
    assert (soft.margins(split) < 0).mean() > 0.9


def test_device_utilisation(base: str) -> None:
    pairs = fitting(60)
    model = train_helpful(pairs, TransformerPlan(base=base, peak_tflops=1.0, epochs=2))
    speed = model.card["speed"]
    n_weights = model.network.num_parameters(exclude_embeddings=True)
    assert (speed["device"], speed["n_processes"]) == ("cpu", 1)
    assert speed["tokens_per_second"] == speed["n_tokens"] / speed["seconds"]
    assert speed["model_flops_utilisation"] == pytest.approx(6 * n_weights * speed["tokens_per_second"] / 1e12)
    assert model.card["n_pairs"] * 2 * 2 * 10 < speed["n_tokens"] < model.card["n_pairs"] * 2 * 2 * 40


def test_training_that_diverges_says_so(base: str) -> None:
    with pytest.raises(UndefinedEstimate, match=r"Use a learning rate below 1e\+30"):
        train_helpful(fitting(60), TransformerPlan(base=base, learning_rate=1e30, warm_up=0, epochs=4))
