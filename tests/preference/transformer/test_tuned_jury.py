"""Jury models with a transformer, on texts of the same words in another order."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.special import ndtr

from dissensus.errors import InvalidInput
from dissensus.files.models.folder import SUMS, load_jury_model, save_model
from dissensus.preference.jury.evaluation import evaluate_jury
from dissensus.preference.jury.model import JuryModel
from dissensus.preference.jury.prediction import predict_opinions
from dissensus.preference.jury.texts import RatedText, hash_texts
from dissensus.preference.jury.training import fit_jury, read_jury_ratings
from dissensus.preference.jury.transformer import fit_transformer_jury, train_transformer_jury, tune_encoder
from dissensus.preference.transformer.base import open_base
from dissensus.preference.transformer.encoder import TunedEncoder
from dissensus.preference.transformer.inference import encode_rows, find_head, run_network
from dissensus.preference.transformer.plan import TransformerPlan
from dissensus.schema.ratings.table import Ratings

pytestmark = pytest.mark.ml

WORDS = ("tea", "hat")
N_RATERS = 12


def simulate_orders(n_items: int, seed: int = 0) -> Ratings:
    """Rate texts that are unsafe if tea is named before the hat, with other words around both."""
    rng = np.random.default_rng(seed)
    is_unsafe = rng.random(n_items) < 0.5
    fill = ("very", "much", "and", "then")
    texts = [
        " ".join([rng.choice(fill), first, *rng.choice(fill, 2), second, rng.choice(fill)])
        for first, second in (WORDS if unsafe else WORDS[::-1] for unsafe in is_unsafe)
    ]
    items, raters = np.divmod(np.arange(n_items * N_RATERS), N_RATERS)
    location = np.where(is_unsafe, 1.0, -1.0)[items] + rng.normal(size=len(items))
    table = pl.DataFrame(
        {
            "item_id": items.astype(str),
            "rater_id": raters.astype(str),
            "rater_gender": np.where(raters % 2, "Woman", "Man"),
            "Q_overall": np.array(["No", "Unsure", "Yes"])[np.digitize(location, [-0.2, 0.2])],
        }
    )
    context = [f"USER: Number {item}." for item in range(n_items)]
    columns = {"item_id": [str(item) for item in range(n_items)], "context": context, "response": texts}
    return Ratings.from_frame(table).with_items(pl.DataFrame(columns))


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return simulate_orders(240)


@pytest.fixture
def plan(base: str) -> TransformerPlan:
    return TransformerPlan(base=base, epochs=6, batch=8, learning_rate=0.004)


@pytest.fixture(scope="module")
def tuned(ratings: Ratings, base: str) -> JuryModel:
    plan = TransformerPlan(base=base, epochs=6, batch=8, learning_rate=0.004)
    return train_transformer_jury(ratings, plan, by=["gender"])


def test_an_order_of_words_is_learned_unlike_by_words(ratings: Ratings, plan: TransformerPlan) -> None:
    of_words = evaluate_jury(ratings, by=["gender"], n_folds=2)
    of_order = evaluate_jury(ratings, by=["gender"], n_folds=2, plan=plan)
    assert set(of_order.rivals) == set(of_words.rivals)
    for words, order in zip(of_words.rows, of_order.rows, strict=True):
        assert order.rival_losses["item_blind"] == words.rival_losses["item_blind"]
        assert order.log_loss < words.log_loss - 0.1
        assert order.gains["item_blind"].ci_low is not None
        assert order.gains["item_blind"].ci_low > 0


def test_a_model_is_read_as_it_was_written_and_keeps_its_vectors(
    ratings: Ratings, tuned: JuryModel, tmp_path: Path
) -> None:
    texts = read_jury_ratings(ratings).texts[:40]
    save_model(tuned, tmp_path / "first")
    loaded = load_jury_model(tmp_path / "first")
    assert isinstance(loaded.features.encoder, TunedEncoder)
    np.testing.assert_allclose(loaded.distributions(texts), tuned.distributions(texts), atol=1e-5)
    assert loaded.card == tuned.card
    save_model(loaded, tmp_path / "second")
    assert (tmp_path / "second" / SUMS).read_bytes() == (tmp_path / "first" / SUMS).read_bytes()
    (tmp_path / "second" / "adapter_config.json").write_text("{}")
    with pytest.raises(InvalidInput, match=r"it holds 'adapter_config\.json' too"):
        load_jury_model(tmp_path / "second")
    (tmp_path / "first" / "model.safetensors").write_bytes(b"")
    with pytest.raises(InvalidInput, match=r"SHA-256 of model\.safetensors"):
        load_jury_model(tmp_path / "first")


def test_a_folder_holds_a_model_of_either_kind(ratings: Ratings, tuned: JuryModel, tmp_path: Path) -> None:
    words = fit_jury(read_jury_ratings(ratings))
    for model in (tuned, words, tuned):
        save_model(model, tmp_path)
        loaded = load_jury_model(tmp_path).features.encoder
        assert (loaded is None) == (model.features.encoder is None)


def test_the_model_is_fitted_to_conversations_that_the_transformer_has_not_read(
    ratings: Ratings, tuned: JuryModel, plan: TransformerPlan
) -> None:
    checked = read_jury_ratings(ratings, by=["gender"])
    encoder, texts, rest = tune_encoder(checked, plan, seed=0)
    fitted = [checked.texts[item] for item in np.unique(rest.items)]
    assert not {text.opening for text in texts} & {text.opening for text in fitted}
    assert len(texts) + len(fitted) == len(checked.texts)
    assert tuned.card["n_items"] == len(fitted)
    assert tuned.card["tuning"]["n_items"] == len(texts)
    np.testing.assert_array_equal(tuned.trained, np.unique(hash_texts(checked.texts)))
    assert tuned.features.encoder is not None
    assert encoder.sha256 == tuned.features.encoder.sha256


def test_intervals_cover_unlike_those_of_a_fit_to_the_texts_of_the_tuning(plan: TransformerPlan) -> None:
    texts = read_jury_ratings(simulate_orders(60, seed=99)).texts
    is_unsafe = np.array([text.response.index("tea") < text.response.index("hat") for text in texts])
    shares = ndtr(np.where(is_unsafe, 1.0, -1.0) - 0.2)
    covered = []
    for seed in range(4):
        checked = read_jury_ratings(simulate_orders(240, seed))
        encoder, _, rest = tune_encoder(checked, plan, seed=seed)
        same = checked.select(~np.isin(np.arange(len(checked.texts)), rest.items))
        models = (fit_jury(half, encoder=encoder) for half in (rest, same))
        covered.append([_coverage(model, texts, shares) for model in models])
    of_rest, of_same = np.mean(covered, axis=0)
    assert of_rest > 0.9
    assert of_same < 0.8


def test_weights_depend_on_the_seed_and_not_on_the_order(base: str) -> None:
    plan, ratings = TransformerPlan(base=base), simulate_orders(60)
    backwards = Ratings.from_frame(_frame(ratings).reverse()).with_items(ratings.items)
    first, reordered, reseeded = (
        tune_encoder(read_jury_ratings(table), plan, seed=seed).encoder.sha256
        for table, seed in ((ratings, 0), (backwards, 0), (ratings, 1))
    )
    assert first == reordered != reseeded


def test_vectors_are_what_the_output_reads(any_base: str) -> None:
    base = open_base(any_base)
    rows = base.reader.read(["tea", "so very much tea and then a hat", "hat then tea"]).rows
    vectors = encode_rows(base.network, rows, pad=base.reader.pad)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    head = find_head(base.network)
    bias = 0.0 if head.bias is None else float(head.bias.detach())
    scores = run_network(base.network, rows, pad=base.reader.pad, bf16=False) - bias
    norms = scores / (vectors @ head.weight.detach().numpy()[0])
    alone = np.concatenate([encode_rows(base.network, [row], pad=base.reader.pad) for row in rows])
    assert (norms > 0).all()
    np.testing.assert_allclose(vectors, alone, atol=1e-5)


def test_what_cannot_be_split_is_refused(plan: TransformerPlan) -> None:
    few = read_jury_ratings(simulate_orders(30))
    with pytest.raises(InvalidInput, match=r"One half of the 30 conversations has 15 items, .* Give more items"):
        tune_encoder(few, plan, seed=0)
    with pytest.raises(InvalidInput, match="has no checkpoints"):
        tune_encoder(few, replace(plan, resume=True), seed=0)
    ratings = simulate_orders(60)
    with pytest.raises(InvalidInput, match="Leave out pairs and encoder, or the plan"):
        evaluate_jury(ratings, [], plan=plan)
    frame = _frame(ratings).with_columns(
        rater_gender=pl.when(pl.col("item_id") == "0").then(pl.lit("Other")).otherwise("rater_gender"),
        rater_id=pl.when(pl.col("item_id") == "0").then("o" + pl.col("rater_id")).otherwise("rater_id"),
    )
    checked = read_jury_ratings(Ratings.from_frame(frame).with_items(ratings.items), by=["gender"])
    seed = next(seed for seed in range(9) if checked.texts[0] in tune_encoder(checked, plan, seed=seed).texts)
    with pytest.raises(InvalidInput, match=r"Other of rater_gender rated none .* Raise --min-raters"):
        fit_transformer_jury(checked, plan, seed=seed)


def _coverage(model: JuryModel, texts: Sequence[RatedText], shares: np.ndarray) -> float:
    ids = [str(number) for number in range(len(texts))]
    rows = [row for row in predict_opinions(model, ids, texts).rows if row.model == "all"]
    bounds = np.array([(row.ci_low, row.ci_high) for row in rows], np.float64)
    return float(((bounds[:, 0] <= shares) & (shares <= bounds[:, 1])).mean())


def _frame(ratings: Ratings) -> pl.DataFrame:
    answers = ratings.answers
    return answers.select(
        "Q_overall",
        item_id=ratings.items["item_id"].gather(answers["item"]),
        rater_id=ratings.raters["rater_id"].gather(answers["rater"]),
        rater_gender=ratings.raters["rater_gender"].gather(answers["rater"]).cast(pl.String),
    )
