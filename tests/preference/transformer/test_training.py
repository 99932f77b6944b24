"""Transformers learn what depends on the conversation, from where they were interrupted too."""

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


def trained(pairs: list[Pair], plan: TransformerPlan, **more: Any) -> Transformer:
    return train_transformer(pairs, purpose="helpful", plan=plan, **more)


def weights(model: Transformer) -> dict[str, bytes]:
    return {name: held.numpy().tobytes() for name, held in model.network.state_dict().items()}


def test_what_fits_is_learned_by_any_base_and_not_from_words_alone(any_base: str) -> None:
    pairs = fitting(300)
    model = trained(pairs, TransformerPlan(base=any_base, **QUICK))
    held = model.card["held_out"]["accuracy"]
    assert held["n"] == 60
    assert held["ci_low"] > 0.8
    words = train(pairs, purpose="helpful").card["held_out"]["accuracy"]
    assert words["ci_low"] < 0.5


def test_the_card_tells_what_it_was_made_of(model: Transformer, base: str) -> None:
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
    """Of people who choose at random scores say next to nothing, however sure the network is."""
    rng = np.random.default_rng(1)
    pairs = [pair.swapped() if rng.random() < 0.5 else pair for pair in fitting(300)]
    noise = trained(pairs, TransformerPlan(base=base, **QUICK))
    assert noise.card["held_out"]["log_loss"] < 0.75


def test_same_seed_same_weights_whatever_the_order(base: str) -> None:
    pairs, plan = fitting(60), TransformerPlan(base=base, learning_rate=0.003)
    one, other, another = (
        trained(list(given), plan, seed=seed) for given, seed in ((pairs, 0), (pairs[::-1], 0), (pairs, 1))
    )
    assert weights(one) == weights(other) != weights(another)
    assert one.temperature == other.temperature


@pytest.mark.parametrize("lora", [None, 4])
def test_an_interrupted_training_goes_on_to_the_same_weights(base: str, tmp_path: Path, lora: int | None) -> None:
    """Interrupted after step 7 of 12, in the second epoch; steps 5 to 7 are done again."""
    pairs, shares = fitting(120), list[float]()
    plan = TransformerPlan(base=base, learning_rate=0.003, epochs=2, accumulate=2, batch=8, lora=lora)
    whole = trained(pairs, plan, progress=shares.append)
    assert len(shares) == 12
    kept = replace(plan, checkpoints=tmp_path / "partial", checkpoint_every=5)

    def interrupt(share: float) -> None:
        if share > 7 / 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trained(pairs, kept, progress=interrupt)
    with pytest.raises(Conflict, match="Go on with --resume, or delete it"):
        trained(pairs, kept)
    with pytest.raises(InvalidInput, match="other pairs, settings"):
        trained(pairs[1:], replace(kept, resume=True))
    with pytest.raises(InvalidInput, match="other pairs, settings"):
        trained(pairs, replace(kept, resume=True, batch=4))
    shares.clear()
    resumed = trained(pairs, replace(kept, resume=True), progress=shares.append)
    assert [round(share * 12) for share in shares] == [6, 7, 8, 9, 10, 11, 12]
    assert weights(resumed) == weights(whole)
    assert resumed.temperature == whole.temperature
    assert 0 < resumed.card["speed"]["n_tokens"] < whole.card["speed"]["n_tokens"]


def test_a_checkpoint_that_was_cut_is_passed_over(base: str, tmp_path: Path) -> None:
    pairs = fitting(60)
    plan = TransformerPlan(base=base, batch=8, checkpoints=tmp_path, checkpoint_every=2)
    whole = trained(pairs, plan)
    (tmp_path / "checkpoint-6" / "trainer_state.json").write_text("{")
    shares = list[float]()
    assert weights(trained(pairs, replace(plan, resume=True), progress=shares.append)) == weights(whole)
    assert len(shares) == 2


def test_a_folder_of_something_else_gets_no_checkpoints(base: str, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("ten years of work")
    with pytest.raises(InvalidInput, match=r"holds something else than checkpoints: 'thesis\.tex'"):
        trained(fitting(60), TransformerPlan(base=base, checkpoints=tmp_path))


def test_nothing_to_go_on_with(base: str, tmp_path: Path) -> None:
    plan = TransformerPlan(base=base, checkpoints=tmp_path / "nowhere", resume=True)
    with pytest.raises(NotFound, match="There is no training to go on with"):
        trained(fitting(60), plan)
    with pytest.raises(InvalidInput, match="no folder with checkpoints is named"):
        trained(fitting(60), replace(plan, checkpoints=None))
    (tmp_path / RUN).write_text("[")
    with pytest.raises(InvalidInput, match="other pairs, settings"):
        trained(fitting(60), replace(plan, checkpoints=tmp_path))


def test_lora_learns_and_leaves_a_plain_network(any_base: str) -> None:
    model = trained(fitting(300), TransformerPlan(base=any_base, lora=8, learning_rate=0.004, epochs=4, batch=8))
    assert model.card["held_out"]["accuracy"]["ci_low"] > 0.8
    assert type(model.network).__name__.endswith("ForSequenceClassification")
    assert not [name for name in model.network.state_dict() if "lora" in name]
    assert "peft" in model.card["versions"]


def test_accumulated_batches_are_one_batch(tmp_path: Path) -> None:
    """The last step has fewer pairs than the others, so the mean is over the pairs of a step and not of its batches."""
    pairs = fitting(70)
    plan = TransformerPlan(base=llama(tmp_path), batch=16, learning_rate=0.001)  # which draws nothing for dropout
    one, parts = trained(pairs, plan), trained(pairs, replace(plan, batch=4, accumulate=4))
    np.testing.assert_allclose(one.margins(pairs), parts.margins(pairs), rtol=1e-3)


def test_bfloat16_changes_little(base: str) -> None:
    pairs = fitting(300)
    model = trained(pairs, TransformerPlan(base=base, bf16=True, **QUICK))
    assert model.bf16
    assert model.network.dtype.itemsize == 4
    assert model.card["held_out"]["accuracy"]["ci_low"] > 0.8


def test_strength_and_soft_labels_count(base: str) -> None:
    """Most people want the wrong thing, weakly; the others want the right one, strongly."""
    right = [replace(pair, strength=3.0) for pair in fitting(150)]
    wrong = [replace(pair.swapped(), strength=0.1, rater="b") for pair in fitting(150)]
    plan = TransformerPlan(base=base, counting=Weighting(strength="weight"), **QUICK)
    assert (trained([*right, *wrong], plan).margins(right) > 0).mean() > 0.9
    split = [replace(pair, agreement=0.25) for pair in fitting(300)]
    soft = trained(split, replace(plan, counting=Weighting(soft=True)))
    assert (soft.margins(split) < 0).mean() > 0.9


def test_how_much_of_the_device_was_used(base: str) -> None:
    pairs = fitting(60)
    model = trained(pairs, TransformerPlan(base=base, peak_tflops=1.0, epochs=2))
    speed = model.card["speed"]
    n_weights = model.network.num_parameters(exclude_embeddings=True)
    assert (speed["device"], speed["n_processes"]) == ("cpu", 1)
    assert speed["tokens_per_second"] == speed["n_tokens"] / speed["seconds"]
    assert speed["model_flops_utilisation"] == pytest.approx(6 * n_weights * speed["tokens_per_second"] / 1e12)
    assert model.card["n_pairs"] * 2 * 2 * 10 < speed["n_tokens"] < model.card["n_pairs"] * 2 * 2 * 40


def test_training_that_diverges_says_so(base: str) -> None:
    with pytest.raises(UndefinedEstimate, match=r"Take a lower learning rate than 1e\+30"):
        trained(fitting(60), TransformerPlan(base=base, learning_rate=1e30, warm_up=0, epochs=4))
