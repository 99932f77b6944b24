"""Jury models: groups that react to different words, juries of them, held-out loss, files and refusals."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from tests.preference.encoders import Topics
from tests.preference.pairs import simulate_pairs
from tests.support.model_edits import arrays, edit_file, head
from tests.support.rated_texts import simulate_rated_texts

from dissensus.errors import DissensusError, InvalidInput, NotFound
from dissensus.files.items import read_items
from dissensus.files.models.folder import MODEL, WEIGHTS, load_any_model, load_jury_model, load_model, save_model
from dissensus.preference.fit.training import train
from dissensus.preference.jury.composition import seat_census, seat_groups, seat_mix
from dissensus.preference.jury.evaluation import JuryEvaluation, evaluate_jury
from dissensus.preference.jury.model import JuryModel
from dissensus.preference.jury.prediction import predict_opinions
from dissensus.preference.jury.texts import RatedText, read_rated_texts, text_of_turns
from dissensus.preference.jury.training import read_jury_ratings, train_jury
from dissensus.schema.jury import parse_seats
from dissensus.schema.ratings.table import Ratings

WOMEN, MEN = "rater_gender=Woman", "rater_gender=Man"
VILE, BLUNT, SOFT = (
    RatedText("Say something.", f"This is {word} talk of tea and rain and maps.")
    for word in ("vile soft", "kind blunt", "kind soft")
)


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return simulate_rated_texts()


@pytest.fixture(scope="module")
def model(ratings: Ratings) -> JuryModel:
    return train_jury(ratings, by=["gender"])


def predict(model: JuryModel, **seats: int) -> dict[tuple[str, str], Any]:
    """Predict the opinions about three texts by item and group, beside a jury with these seats."""
    jury = seat_groups(model, {f"rater_gender={group}": n for group, n in seats.items()})
    rows = predict_opinions(model, ["vile", "blunt", "soft"], [VILE, BLUNT, SOFT], jury=jury).rows
    return {(row.item_id, row.model): row for row in rows}


def test_groups_react_to_words_of_their_own(model: JuryModel) -> None:
    women, men = (model.distributions([VILE, BLUNT, SOFT], group)[:, -1] for group in (WOMEN, MEN))
    assert women[0] > 0.7
    assert men[0] > 0.7
    assert women[1] > 0.55 > 0.4 > men[1]
    assert max(women[2], men[2]) < 0.3
    everybody = model.distributions([BLUNT])
    assert everybody.sum() == pytest.approx(1)
    assert everybody[0, -1] == pytest.approx((women[1] + men[1]) / 2)


def test_the_seats_of_a_jury_decide_what_it_blocks_and_whom_it_overrules(model: JuryModel) -> None:
    of_women, of_men = predict(model, Woman=12), predict(model, Man=12)
    assert of_women["blunt", "jury"].score > 0.6 > 0.3 > of_men["blunt", "jury"].score
    assert of_women["blunt", MEN].overruled > of_women["blunt", WOMEN].overruled
    assert of_men["blunt", WOMEN].overruled > of_men["blunt", MEN].overruled
    assert of_men["soft", "jury"].differ < 0.1
    row = of_women["blunt", WOMEN]
    assert row.ci_low < row.score < row.ci_high
    assert 0.2 < predict(model, Woman=1)["blunt", "jury"].differ < 0.5  # Juries of one woman each, who are divided


def test_juries_are_drawn_from_a_census_or_a_mix(model: JuryModel) -> None:
    census = pl.DataFrame({"gender": ["Woman", "Man"], "count": [90, 10]})
    score: dict[str, Any] = {
        name: predict_opinions(model, ["b"], [BLUNT], jury=jury).rows[-1].score
        for name, jury in {
            "census": seat_census(model, census),
            "margins": seat_census(
                model, pl.DataFrame({"column": ["gender"] * 2, "level": ["Woman", "Man"], "count": [90, 10]})
            ),
            "mix": seat_mix(model, "gender"),
            "raters": seat_mix(model),
        }.items()
    }
    assert score["census"] == pytest.approx(score["margins"])
    assert score["mix"] == pytest.approx(score["raters"])  # As many women as men rated
    assert score["census"] > score["mix"]


def test_predictions_mark_items_of_the_training(model: JuryModel, ratings: Ratings, tmp_path: Path) -> None:
    save_model(model, tmp_path)
    loaded = load_jury_model(tmp_path)
    seen = read_rated_texts(ratings)[0]
    elsewhere = RatedText("In another conversation.", seen.response)
    rows = predict_opinions(loaded, ["seen", "elsewhere"], [seen, elsewhere], jury=seat_mix(loaded)).rows
    assert {(row.item_id, row.in_training) for row in rows} == {("seen", True), ("elsewhere", False)}


def test_it_abstains_from_texts_of_other_words(model: JuryModel) -> None:
    unknown = RatedText("", "Quantum chromodynamics baffles undergraduates everywhere")
    rows = predict_opinions(model, ["known", "unknown"], [SOFT, unknown], jury=seat_mix(model)).rows
    assert replace(model, least_known=0.0).abstains([SOFT, unknown]).tolist() == [False, True]
    assert {row.model: row.score is None for row in rows if row.item_id == "unknown"} == dict.fromkeys(
        ("all", MEN, WOMEN, "jury"), True
    )
    assert all(row.score is not None for row in rows if row.item_id == "known")
    alone, beside = (
        [row.ci_low for row in predict_opinions(model, ["a", "b"][: len(texts)], texts).rows[:3]]
        for texts in ([SOFT], [SOFT, VILE])
    )
    assert alone == pytest.approx(beside)  # No prediction depends on other items


@pytest.fixture(scope="module")
def evaluation(ratings: Ratings) -> JuryEvaluation:
    return evaluate_jury(ratings, by=["gender"], n_folds=3)


def test_it_beats_models_that_know_less_on_conversations_held_out(evaluation: JuryEvaluation) -> None:
    rows = list[Any](evaluation.rows)
    for row in rows:
        assert row.gains["item_blind"].ci_low > 0.05
        assert row.gains["plurality"].ci_low > 0
    assert rows[2].gains["pooled"].ci_low > 0  # Groups matter
    assert rows[0].calibration_error < 0.08
    assert evaluation.n_answered / evaluation.n_items > 0.9
    assert "3 of 3 against item-blind (0 worse)" in evaluation.verdict()


def test_it_says_that_texts_without_signal_tell_nothing() -> None:
    silent = evaluate_jury(simulate_rated_texts(signal=False), by=["gender"], n_folds=3)
    assert "0 of 3 against item-blind" in silent.verdict()
    assert all(abs(row.gains["item_blind"].estimate) < 0.02 for row in silent.rows)


def test_groups_and_labels_that_a_fold_cannot_teach_have_a_note_or_a_constant() -> None:
    rng = np.random.default_rng(0)
    rows = [
        {
            "item_id": str(item),
            "rater_id": str(rater),
            "rater_g": "AB"[rater // 6],
            "Q_a": "Yes" if rng.random() < 0.1 else "No",  # The plurality calls no item unsafe
            "Q_b": "Yes",
        }
        for item in range(40)
        for rater in range(12)
    ]
    alone = [{"item_id": "3", "rater_id": f"c{n}", "rater_g": "C", "Q_a": "Yes", "Q_b": "No"} for n in range(5)]
    silent = [{"item_id": "3", "rater_id": f"d{n}", "rater_g": "D", "Q_a": None, "Q_b": "No"} for n in range(5)]
    table = pl.DataFrame([*rows, *alone, *silent], infer_schema_length=None)
    texts = [f"a {'vile' if item % 2 else 'fine'} text" for item in range(40)]
    contexts = [f"\n\nHuman: question {item}\n\nAssistant: yes\n\nHuman: go on" for item in range(40)]
    items = pl.DataFrame({"item_id": [str(item) for item in range(40)], "context": contexts, "response": texts})
    read = Ratings.from_frame(table, questions=["Q_a", "Q_b"]).with_items(items)
    evaluation = evaluate_jury(read, question="Q_a", by=["g"], n_folds=2)
    assert [row.group for row in evaluation.rows] == [None, "A", "B"]
    assert evaluation.notes[0] == "Groups of rater_g with fewer than 5 raters are not learned: D (0)."
    assert evaluation.notes[1].startswith("rater_g=C is left out: all its answers are in one fold, so that none")
    assert '"log_loss"' in evaluation.to_json()


def test_a_context_is_read_alike_in_training_and_in_prediction() -> None:
    forms = (
        "\n\nHuman: hi\n\nAssistant: hello\n\nHuman: more",
        "User: hi\nBot: hello\nUser: more",
        "Well?",
        "[1] x",
        "",
    )
    items = pl.DataFrame({"item_id": list("abcde"), "context": forms, "response": ["bad"] * 5})
    rated = pl.DataFrame({"item_id": list("abcde"), "rater_id": ["r"] * 5, "Q_overall": ["No", "Yes"] * 2 + ["No"]})
    trained = read_rated_texts(Ratings.from_frame(rated).with_items(items))
    assert trained == [text_of_turns(item.conversation.turns) for item in read_items(items).items]
    assert [text.opening for text in trained] == ["hi", "hi", "Well?", "[1] x", "bad"]


def test_counts_without_raters_have_a_pooled_model(ratings: Ratings) -> None:
    frame = ratings.answers.select(item_id=pl.col("item").cast(pl.String), Q_overall="Q_overall")
    pooled = Ratings.from_frame(frame.with_columns(pl.col("Q_overall").cast(pl.String)), rater=None)
    items = pl.DataFrame(
        {"item_id": [str(n) for n in range(ratings.n_items)], "response": ratings.items["response"].to_list()}
    )
    model = train_jury(pooled.with_items(items))
    assert model.axes == {}
    assert model.card["n_raters"] is None
    vile, soft = model.distributions([VILE, SOFT])[:, -1]
    assert vile > 0.6 > 0.4 > soft


def test_vectors_of_an_encoder_are_features_too(ratings: Ratings, tmp_path: Path) -> None:
    encoder = Topics()
    model = train_jury(ratings, by=["gender"], encoder=encoder)
    assert len(model.features.blocks) == len(model.model.weights[0])
    save_model(model, tmp_path)
    loaded = load_jury_model(tmp_path, encoder=encoder)
    assert loaded.score_texts([VILE]) == pytest.approx(model.score_texts([VILE]), abs=1e-4)


def test_a_saved_model_predicts_the_same_and_is_no_preference_model(model: JuryModel, tmp_path: Path) -> None:
    save_model(model, tmp_path / "jury")
    loaded = load_jury_model(tmp_path / "jury")
    assert loaded.distributions([VILE, BLUNT], WOMEN) == pytest.approx(
        model.distributions([VILE, BLUNT], WOMEN), abs=1e-4
    )
    assert (loaded.axes, loaded.card, loaded.question) == (model.axes, model.card, "Q_overall")
    save_model(loaded, tmp_path / "copy")
    assert (tmp_path / "copy" / "SHA256SUMS").read_text() == (tmp_path / "jury" / "SHA256SUMS").read_text()
    with pytest.raises(InvalidInput, match="holds a jury model, and a preference model is needed"):
        load_model(tmp_path / "jury")
    written = (tmp_path / "jury" / "model.json").read_text()
    (tmp_path / "jury" / "model.json").write_text(written.replace("Unsure", "Maybe"))
    with pytest.raises(InvalidInput, match=r"the SHA-256 of model\.json is not"):
        load_jury_model(tmp_path / "jury")


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        (MODEL, head(lambda values: values.update(schema_version=2)), "version 2 is not supported"),
        (MODEL, head(lambda values: values.update(rater_variance=-1)), "invalid values"),
        (MODEL, head(lambda values: values.update(choice_scale=0)), "invalid values"),
        (MODEL, head(lambda values: values["thresholds"].reverse()), "invalid values"),
        (MODEL, head(lambda values: values["answers"].pop()), "invalid answers"),
        (MODEL, head(lambda values: values.update(unsafe=[])), "and unsafe ()"),
        (MODEL, head(lambda values: values["axes"]["rater_gender"].append("x")), "its groups do not fit together"),
        (MODEL, head(lambda values: values.update(purpose="happy")), "its purpose is happy"),
        (WEIGHTS, arrays(cells=lambda cells: cells.astype(np.int8)), "its groups do not fit together"),
        (WEIGHTS, arrays(n_raters=lambda n_raters: 0 * n_raters), "its groups have no raters"),
        (WEIGHTS, arrays(trained=lambda trained: trained.astype(np.int64)), "its hashes of texts are not numbers"),
    ],
)
def test_a_damaged_jury_is_refused(
    model: JuryModel, tmp_path: Path, name: str, change: Callable[[bytes], bytes], message: str
) -> None:
    save_model(model, tmp_path / "jury")
    edit_file(tmp_path / "jury", name, change)
    with pytest.raises(InvalidInput, match="is not a valid model") as error:
        load_jury_model(tmp_path / "jury")
    assert message in str(error.value)


def test_an_incomplete_jury_is_refused(model: JuryModel, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"There is no folder .*dissensus jury train"):
        load_any_model(tmp_path / "jury")
    save_model(model, tmp_path / "jury")
    (tmp_path / "jury" / WEIGHTS).unlink()
    with pytest.raises(NotFound, match=rf"'{WEIGHTS}' is missing. Copy it again"):
        load_any_model(tmp_path / "jury")
    (tmp_path / "jury" / "notes.txt").write_text("mine")
    with pytest.raises(InvalidInput, match=r"holds other files than a model: 'notes\.txt'"):
        save_model(model, tmp_path / "jury")
    with pytest.raises(InvalidInput, match="cannot be a folder"):
        save_model(model, tmp_path / "jury" / "notes.txt")


def test_another_model_is_refused(tmp_path: Path) -> None:
    save_model(train(simulate_pairs(60)[0], purpose="harmless"), tmp_path)
    with pytest.raises(InvalidInput, match="holds a preference model, and a jury model is needed"):
        load_jury_model(tmp_path)


@pytest.mark.parametrize(
    ("compose", "error", "message"),
    [
        (lambda model: seat_groups(model, {}), InvalidInput, "The jury has 0 seats. Give 1 to"),
        (lambda model: seat_mix(model, n_seats=0), InvalidInput, "The jury has 0 seats"),
        (lambda model: seat_groups(model, {"rater_gender=Girl": 3}), NotFound, "no group 'Girl' of rater_gender"),
        (lambda model: seat_mix(model, "town"), NotFound, "no axis 'town'"),
        (
            lambda model: replace(model, n_raters=0 * model.n_raters).people(WOMEN),
            InvalidInput,
            "No rater of rater_gender=Woman answered in training",
        ),
        (
            lambda model: seat_groups(model, cast("Any", "rater_gender=Woman:6")),
            InvalidInput,
            "The seats are 'rater_gender=Woman:6'",
        ),
        (lambda model: parse_seats("a=b:" + "9" * 5000), InvalidInput, "is not like rater_gender=Woman:6"),
        (lambda model: parse_seats("women"), InvalidInput, "'women' is not like rater_gender=Woman:6"),
        (lambda model: parse_seats("a=b:6,"), InvalidInput, "'a=b:6,' is not like rater_gender=Woman:6"),
        (lambda model: seat_groups(model, {WOMEN: 2, "rater_town=Kiel": 0}), NotFound, "rater_town"),
        (
            lambda model: seat_census(model, pl.DataFrame({"gender": ["Girl"], "count": [1]})),
            InvalidInput,
            "has 'Girl' in rater_gender",
        ),
        (lambda model: seat_census(model, pl.DataFrame({"count": [1]})), InvalidInput, "has no column rater_gender"),
        (
            lambda model: predict_opinions(model, ["7"], [RatedText("", " ")]),
            InvalidInput,
            "Item '7' has an empty text",
        ),
    ],
)
def test_bad_juries_are_refused(
    model: JuryModel, compose: Callable[[JuryModel], object], error: type[DissensusError], message: str
) -> None:
    with pytest.raises(error, match=message):
        compose(model)


def test_ratings_that_teach_nothing_are_refused(ratings: Ratings) -> None:
    without = Ratings.from_frame(
        pl.DataFrame({"item_id": ["1"] * 2, "rater_id": ["a", "b"], "Q_overall": ["No", "Yes"]})
    )
    with pytest.raises(InvalidInput, match="1 items were rated, and a jury model needs 20"):
        train_jury(without)
    with pytest.raises(InvalidInput, match="No group of rater_town has 20 raters"):
        train_jury(ratings, by=["town"], min_raters=20)
    read = read_jury_ratings(ratings, by=["town"])
    assert read.axes == {"rater_town": ("Bonn", "Kiel")}
    assert read.notes == ("Groups of rater_town with fewer than 5 raters are not learned: Ulm (1).",)
    with pytest.raises(InvalidInput, match="Ask for 2 folds or more"):
        evaluate_jury(ratings, n_folds=1000)
    many = pl.DataFrame({"item_id": ["1", "2"], "rater_id": ["a", "a"], "Q_overall": ["0", "1"]})
    with pytest.raises(InvalidInput, match="Q_overall has 200 answers, and a jury model takes up to 100"):
        train_jury(Ratings.from_frame(many, categories=[str(n) for n in range(200)]))
    silent = ratings.select_items(pl.Series(np.ones(ratings.n_items, bool)))
    bare = Ratings(silent.answers, silent.raters, silent.items.select("item_id"), silent.repeats)
    with pytest.raises(InvalidInput, match="Items have no texts"):
        train_jury(bare)
