"""Linear model: recovery of known preferences, invariances, cards and folders."""

import hashlib
import io
import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from tests.files.damage import DAMAGES, check_refused
from tests.preference.pairs import LIKED, simulate_pairs

from dissensus.errors import InvalidInput, NotAllowed
from dissensus.files.models.folder import ARRAY_FILES, CARD, MODEL, SUMS, WEIGHTS, load_model, save_model
from dissensus.preference.data.pairs import Pair, digest
from dissensus.preference.evaluation.accuracy import evaluate
from dissensus.preference.fit.logistic import probability
from dissensus.preference.fit.training import cross_validate, train
from dissensus.preference.models.linear import Linear, length_margins
from dissensus.schema.records.conversation import Conversation, Turn


@pytest.fixture(scope="module")
def model() -> Linear:
    return train(simulate_pairs(600)[0], purpose="harmless")


def test_simulated_preferences_are_recovered(model: Linear) -> None:
    scores = model.score_answers([f"the road is {word} again" for word in LIKED])
    assert np.all(np.diff(scores) < 0)  # In the order of preference, best first
    pairs, odds = simulate_pairs(400, seed=9)
    assert np.corrcoef(model.margins(pairs), odds)[0, 1] > 0.9
    best = float(np.mean(np.sign(odds) / 2 + 0.5))  # Accuracy of the true preferences
    evaluation = evaluate(pairs, model.margins(pairs), length_margins(model, pairs))
    assert evaluation.accuracy.ci_low < best < evaluation.accuracy.ci_high + 0.02
    assert evaluation.ece < 0.08


def test_swapped_answers_have_the_other_probability(model: Linear) -> None:
    pairs = simulate_pairs(50, seed=2)[0]
    original, swapped = (probability(model.margins(some)) for some in (pairs, [pair.swapped() for pair in pairs]))
    assert np.allclose(original, 1 - swapped)


def test_the_order_of_pairs_makes_no_difference() -> None:
    pairs = simulate_pairs(60)[0]
    first, second = train(pairs, purpose="harmless"), train(pairs[::-1], purpose="harmless")
    assert first.card == second.card
    assert first.margins(pairs).tolist() == second.margins(pairs).tolist()


def test_swapped_choices_reverse_scores() -> None:
    pairs = simulate_pairs(60)[0]
    original = train(pairs, purpose="harmless")
    swapped = train([pair.swapped() for pair in pairs], purpose="harmless")
    assert np.corrcoef(original.margins(pairs), swapped.margins(pairs))[0, 1] < -0.9


def test_every_turn_of_the_bot_is_scored(model: Linear) -> None:
    talks = [
        Conversation.from_turns([("human", "Hi"), ("bot", "kill"), ("human", "What?"), ("bot", "sorry")]),
        Conversation.from_turns([("human", "Hi")]),
        Conversation.from_turns([("bot", "sorry"), ("bot", "")]),
    ]
    (low, high), no_scores, (high_again, empty) = model.score(talks)
    assert low < high == high_again
    assert no_scores == []
    assert np.isfinite(empty)


def test_dialogues_stay_together_in_cross_validation() -> None:
    """A model that has seen a dialogue predicts all its pairs; other dialogues are unpredictable."""
    rng = np.random.default_rng(0)
    pairs = []
    for number in range(60):
        chosen, rejected = ("".join(rng.choice(list("abcdefghijklmnop"), size=12)) for _ in range(2))
        pairs += [Pair((Turn("human", f"q{number}"),), f"{chosen} {copy}", f"{rejected} {copy}") for copy in range(4)]
    tested = cross_validate(pairs, n_folds=4)
    assert 0.25 < np.mean(tested.margins > 0) < 0.75
    assert np.mean(train(pairs, purpose="helpful").margins(pairs) > 0) > 0.95


def test_weights_count() -> None:
    pairs = simulate_pairs(40, seed=5)[0]
    heavy = [replace(pair, weight=20.0) if "kill" in pair.chosen else pair for pair in pairs]
    unweighted, weighted = (train(some, purpose="harmless").score_answers(["kill"])[0] for some in (pairs, heavy))
    assert unweighted < weighted


def test_too_few_dialogues() -> None:
    with pytest.raises(InvalidInput, match=r"There are 3 dialogues .* and 5 folds"):
        train(simulate_pairs(40, dialogues=3)[0], purpose="harmless")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"chosen": " "}, "An answer of the pair is empty"),
        ({"rejected": "yes"}, "Both answers are 'yes'"),
        ({"weight": 0.0}, "The weight of a pair is 0"),
        ({"weight": float("nan")}, "The weight of a pair is nan"),
        ({"strength": float("inf")}, "The strength of a pair is inf"),
    ],
)
def test_invalid_pairs_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        replace(Pair((), "yes", "no"), **change)  # type: ignore[arg-type]


def test_a_model_of_one_purpose_refuses_the_other(model: Linear) -> None:
    model.check_purpose("harmless")
    model.check_purpose("helpful", force=True)
    with pytest.raises(NotAllowed, match="trained for harmless, and helpful is requested"):
        model.check_purpose("helpful")
    with pytest.raises(NotAllowed, match="Did you mean 'helpful'"):
        model.check_purpose("helpfull", force=True)


def test_a_folder_round_trip_is_byte_identical(model: Linear, tmp_path: Path) -> None:
    save_model(model, tmp_path / "one")
    loaded = load_model(tmp_path / "one")
    save_model(loaded, tmp_path / "other")
    for name in (*ARRAY_FILES, SUMS):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()
    pairs = simulate_pairs(20, seed=1)[0]
    assert loaded.margins(pairs).tolist() == model.margins(pairs).tolist()


def test_the_card_describes_data_and_accuracy(model: Linear) -> None:
    pairs = simulate_pairs(600)[0]
    card = json.loads(json.dumps(model.card))
    assert (card["purpose"], card["n_pairs"], card["n_dialogues"]) == ("harmless", 600, 600)
    assert card["data_sha256"] == digest(pairs) == digest(pairs[::-1]) != digest(pairs[1:])
    accuracy = card["held_out"]["accuracy"]
    assert accuracy["ci_low"] < accuracy["estimate"] < accuracy["ci_high"]
    assert accuracy["n"] == 120
    assert card["limits"]


def test_half_of_a_surrogate_pair_has_a_digest() -> None:
    assert digest([Pair((), "\ud800", "no")]) != digest([Pair((), "yes", "no")])


def test_the_digest_of_pairs_covers_all_that_models_learn_from() -> None:
    pair = Pair((Turn("human", "Hi"), Turn("bot", "Yes?")), "yes", "no")
    others = [
        replace(pair, context=(Turn("human", "Hi"), Turn("human", "Yes?"))),
        *(replace(pair, **change) for change in ({"agreement": 0.5}, {"tranche": "online"}, {"strength": 2.0})),
        *(replace(pair, **change) for change in ({"weight": 2.0}, {"rater": "ann"}, {"group": "old"})),
    ]
    assert len({digest([one]) for one in (pair, *others)}) == 8


@pytest.mark.parametrize("name", [*ARRAY_FILES, SUMS])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_folder_is_refused(model: Linear, tmp_path: Path, name: str, damage: str) -> None:
    save_model(model, tmp_path / "model")
    check_refused(tmp_path / "model" / name, damage)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("purpose", "both", "its purpose is both"),
        ("features", ["pickles"], "its features are"),
        ("temperature", 0, "invalid values"),
        ("temperature", 10**400, "too large"),
        ("length_weight", float("nan"), "invalid values"),
        ("schema_version", 2, "version 2"),
    ],
)
def test_invalid_values_with_matching_checksums_are_refused(
    model: Linear, tmp_path: Path, key: str, value: object, message: str
) -> None:
    head = write_forged_model(
        model, tmp_path, MODEL, lambda data: json.dumps({**json.loads(data), key: value}).encode()
    )
    with pytest.raises(InvalidInput, match=message):
        load_model(head)


@dataclass
class Creation:
    """An object whose pickle creates a file when it is read."""

    path: Path

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return Path.touch, (self.path,)


def test_pickles_are_not_read(model: Linear, tmp_path: Path) -> None:
    out, marker = io.BytesIO(), tmp_path / "read"
    hostile = np.array([Creation(marker)], dtype=object)
    names = [f"{kind}_{part}" for kind in model.vocabularies for part in ("hashes", "idf", "weights")]
    np.savez(out, allow_pickle=True, **dict.fromkeys(names, hostile))
    with pytest.raises(InvalidInput, match="is not a valid model"):
        load_model(write_forged_model(model, tmp_path, WEIGHTS, lambda _: out.getvalue()))
    assert not marker.exists()
    np.load(io.BytesIO(out.getvalue()), allow_pickle=True)[names[0]]
    assert marker.exists()


def test_an_invalid_card_is_refused(model: Linear, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="is not a valid model"):
        load_model(write_forged_model(model, tmp_path, CARD, lambda _: b"[" * 100_000))


def test_a_folder_with_other_files_is_not_written_to(model: Linear, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("ten years of work")
    with pytest.raises(InvalidInput, match=r"holds other files than a model: 'thesis\.tex'"):
        save_model(model, tmp_path)


def write_forged_model(model: Linear, folder: Path, name: str, change: object) -> Path:
    """Write a model with one file changed, and matching checksums."""
    save_model(model, folder / "model")
    path = folder / "model" / name
    path.write_bytes(change(path.read_bytes()))  # type: ignore[operator]
    sums = [f"{hashlib.sha256((folder / 'model' / one).read_bytes()).hexdigest()}  {one}" for one in ARRAY_FILES]
    (folder / "model" / SUMS).write_text("\n".join(sums))
    return folder / "model"
