"""Predicted shares of multilevel models: groups, populations, labels of items, and refusals."""

import numpy as np
import polars as pl
import pytest

from dissensus.errors import InvalidInput
from dissensus.pipeline.model import MultilevelModel, fit_model
from dissensus.schema.ratings.table import Ratings

RANDOM = "(1 | rater_id) + (1 | item_id)"
EFFECTS = {"Asian": 0.9, "Black": 0.0, "White": -0.6}


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    """Return ratings in which each group rates other items, the severe ones by White raters."""
    rng = np.random.default_rng(5)
    races = np.array(list(EFFECTS))[np.arange(60) % 3]
    severity = rng.normal(0, 0.9, 80)
    order = severity.argsort().argsort()
    rows = []
    for rater, race in enumerate(races):
        location = EFFECTS[race] + rng.normal(0, 0.5)
        items = [
            item for item in range(80) if rng.random() < (0.15 if (race == "White") == (order[item] < 40) else 0.6)
        ]
        for item in items:
            answer = np.digitize(location + severity[item] + rng.normal(), [0.3, 0.8])
            gender = "Woman" if rater % 2 else "Man"
            rows.append((f"i{item:02}", f"r{rater:02}", race, gender, ("No", "Unsure", "Yes")[int(answer)]))
    names = ["item_id", "rater_id", "rater_race", "rater_gender", "Q_overall"]
    return Ratings.from_frame(pl.DataFrame(rows, schema=names, orient="row"))


@pytest.fixture(scope="module")
def model(ratings: Ratings) -> MultilevelModel:
    populations = {
        "counts": pl.DataFrame({"race": ["Asian", "White"], "gender": ["Man", "Woman"], "count": [30, 10]}),
        "asian": pl.DataFrame({"column": ["race"], "level": ["Asian"], "count": [1.0]}),
        "white": pl.DataFrame({"column": ["rater_race"], "level": ["White"], "share": [1.0]}),
    }
    return fit_model(ratings, f"Q_overall ~ race + gender + {RANDOM}", populations=populations, draws=200)


def shares(model: MultilevelModel, group: str) -> dict[str, float]:
    assert model.predictions is not None
    return {row.answer: row.estimate for row in model.predictions.shares if row.group == group}


def test_a_model_of_numbers_of_raters_has_no_shares_of_groups(ratings: Ratings) -> None:
    codes = pl.Series([str(number % 7) for number in range(ratings.n_raters)])
    raters = pl.DataFrame({"rater_id": ratings.raters["rater_id"], "rater_years": codes})
    model = fit_model(ratings.with_raters(raters), f"Q_overall ~ rater_years + {RANDOM}", draws=26)
    assert model.predictions is not None
    assert model.predictions.shares == ()
    assert "rater_years" in str(model)
    assert "predicted share " not in str(model)


def test_predicted_shares_undo_the_choice_of_items(ratings: Ratings, model: MultilevelModel) -> None:
    rng = np.random.default_rng(0)
    # What raters of each group would say of all items, simulated.
    severity = np.random.default_rng(5).normal(0, 0.9, 80)
    for race, effect in EFFECTS.items():
        latent = effect + rng.normal(0, 0.5, (4000, 1)) + severity + rng.normal(size=(4000, 80))
        assert shares(model, race)["Yes"] == pytest.approx((latent > 0.8).mean(), abs=0.09)


def test_shares_of_a_group_add_up_and_lie_in_their_intervals(model: MultilevelModel) -> None:
    assert model.predictions is not None
    for row in model.predictions.shares:
        assert row.ci_low <= row.estimate <= row.ci_high
    for group in ("Asian", "Black", "White", "Asian × Woman", "counts"):
        assert sum(shares(model, group).values()) == pytest.approx(1)


def test_differences_are_from_the_largest_group(model: MultilevelModel) -> None:
    assert model.predictions is not None
    rows = [row for row in model.predictions.shares if row.axis == "rater_race" and row.answer == "Yes"]
    base = [row for row in rows if row.difference is None]
    assert len(base) == 1
    assert base[0].n_raters == max(row.n_raters for row in rows)
    for row in rows:
        if row.difference is not None:
            assert row.difference == pytest.approx(row.estimate - base[0].estimate)


def test_probabilities_of_the_highest_share_are_those_of_the_truth(model: MultilevelModel) -> None:
    assert model.predictions is not None
    rows = {(row.axis, row.group, row.answer): row.probability_highest for row in model.predictions.shares}
    assert rows["rater_race", "Asian", "Yes"] == pytest.approx(1, abs=0.01)
    assert rows["rater_race", "White", "No"] == pytest.approx(1, abs=0.01)
    genders = rows["rater_gender", "Man", "Yes"], rows["rater_gender", "Woman", "Yes"]  # Of no effect
    assert all(value is not None and 0.01 < value < 0.99 for value in genders)
    for axis in (None, "rater_race", "rater_gender", "rater_race*rater_gender"):
        total = sum(value or 0 for (name, _, answer), value in rows.items() if (name, answer) == (axis, "Unsure"))
        assert total == pytest.approx(1)
    assert "P(highest)" in str(model)


def test_a_population_of_one_group_answers_like_the_group(model: MultilevelModel) -> None:
    for population, group in (("asian", "Asian"), ("white", "White")):
        for answer, share in shares(model, population).items():
            assert share == pytest.approx(shares(model, group)[answer], abs=1e-9)
    mixed = shares(model, "counts")["Yes"]
    parts = [shares(model, group)["Yes"] for group in ("Asian × Man", "White × Woman")]
    assert mixed == pytest.approx(0.75 * parts[0] + 0.25 * parts[1])


def test_groups_that_a_population_lacks_are_noted(model: MultilevelModel) -> None:
    notes = [note for note in model.notes if "has nobody with" in note]
    assert notes == [
        "The population counts has nobody with rater_race = 'Black', so these raters do not stand for it.",
        "The population asian has nobody with rater_race = 'Black', 'White', so these raters do not stand for it.",
        "The population white has nobody with rater_race = 'Asian', 'Black', so these raters do not stand for it.",
    ]


def test_items_that_change_their_label_are_named(model: MultilevelModel) -> None:
    assert model.predictions is not None
    labels = {(row.item_id, row.population): row.label for row in model.predictions.labels}
    names = {population for _, population in labels}
    expected = [
        item for item in sorted({item for item, _ in labels}) if len({labels[item, name] for name in names}) > 1
    ]
    changed = model.predictions.changed
    assert sorted(item.item_id for item in changed) == expected
    assert expected
    assert all(item.labels == {name: labels[item.item_id, name] for name in names} for item in changed)
    certainties = [item.probability for item in changed]
    assert certainties == sorted(certainties, reverse=True)
    assert certainties[0] > 0.5
    (order,) = [note for note in model.notes if "known to within" in note]
    n_draws = int(order.split("rest on ")[1].split(" draws")[0])
    assert 26 <= n_draws <= 400
    assert f"within {n_draws**-0.5:.2f}".replace("0.", ".") in order
    document = model.to_dict()
    assert document["changed_labels"] == [item.item_id for item in changed]
    assert document["changed_items"][0]["text"] is None
    assert {row["group"] for row in document["populations"]} == names


def test_margins_are_raked() -> None:
    # Independent margins of a table whose raters are in all crossed groups.
    rng = np.random.default_rng(2)
    rater = np.repeat(np.arange(40), 30)
    frame = pl.DataFrame(
        {
            "item_id": [f"i{i}" for i in np.tile(np.arange(30), 40)],
            "rater_id": [f"r{r}" for r in rater],
            "rater_race": [("Black", "White")[r % 2] for r in rater],
            "rater_age": [("old", "young")[r // 2 % 2] for r in rater],
            "Q": [("No", "Yes")[k] for k in rng.integers(0, 2, rater.size)],
        }
    )
    margins = pl.DataFrame(
        {"column": ["race", "race", "age", "age"], "level": ["Black", "White", "old", "young"], "n": [80, 20, 30, 70]}
    )
    counts = pl.DataFrame(
        {"race": ["Black", "Black", "White", "White"], "age": ["old", "young"] * 2, "weight": [24.0, 56, 6, 14]}
    )
    populations = {"m": margins, "c": counts, "only race": margins[:2]}
    model = fit_model(Ratings.from_frame(frame), f"Q ~ race + age + {RANDOM}", populations=populations, draws=60)
    assert shares(model, "m")["Yes"] == pytest.approx(shares(model, "c")["Yes"], abs=1e-7)
    (warning,) = (warning for warning in model.warnings if "no margin of" in warning)
    assert warning.startswith("The population only race has no margin of 'rater_age'")


def test_cells_without_raters_are_warned_of(ratings: Ratings) -> None:
    some = Ratings.from_frame(
        pl.DataFrame(
            {
                "item_id": [f"i{i}" for i in np.tile(np.arange(40), 12)],
                "rater_id": [f"r{r}" for r in np.repeat(np.arange(12), 40)],
                "rater_race": [("Black", "White")[r % 2] for r in np.repeat(np.arange(12), 40)],
                "rater_gender": [
                    ("Man", "Woman", "Man")[r % 3] if r % 2 else "Man" for r in np.repeat(np.arange(12), 40)
                ],
                "Q": [("No", "Yes")[k] for k in np.random.default_rng(1).integers(0, 2, 480)],
            }
        )
    )
    table = pl.DataFrame({"race": ["Black", "White"], "gender": ["Woman", "Man"], "count": [1, 3]})
    model = fit_model(some, f"Q ~ race + gender + {RANDOM}", populations={"here": table}, draws=60)
    assert any("25 % of the population here" in warning and "Black × Woman" in warning for warning in model.warnings)


REFUSALS = [
    ({"race": ["Asian"], "gender": ["Man"]}, "0 columns of counts"),
    ({"race": ["Asian"], "gender": ["Man"], "n": [1], "weight": [1]}, "2 columns of counts"),
    ({"race": ["Asian"], "gender": ["Man"], "n": [-1]}, "numbers of 0 or more"),
    ({"race": ["Asian"], "gender": ["Man"], "n": ["many"]}, "numbers of 0 or more"),
    ({"race": ["Asian"], "n": [1]}, "has no column rater_gender"),
    ({"race": ["Asiann"], "gender": ["Man"], "n": [1]}, "no modelled rater"),
    ({"column": ["age"], "level": ["old"], "n": [1]}, "not an attribute of raters in the model"),
    ({"column": ["race"], "level": ["Purple"], "n": [1]}, "no modelled rater"),
    ({"column": ["race", "gender"], "level": ["Asian", "Man"], "n": [1, 0]}, "All counts of rater_gender"),
]


@pytest.mark.parametrize(("table", "message"), REFUSALS)
def test_populations_that_do_not_match_are_refused(
    ratings: Ratings, table: dict[str, list[object]], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        fit_model(ratings, f"Q_overall ~ race + gender + {RANDOM}", populations={"p": pl.DataFrame(table)}, draws=26)


def test_populations_need_draws_and_attributes(ratings: Ratings) -> None:
    table = pl.DataFrame({"race": ["Asian"], "n": [1]})
    with pytest.raises(InvalidInput, match="need draws"):
        fit_model(ratings, f"Q_overall ~ race + {RANDOM}", populations={"p": table}, draws=0)
    with pytest.raises(InvalidInput, match="no attribute of raters"):
        fit_model(ratings, f"Q_overall ~ {RANDOM}", populations={"p": table}, draws=26)
    assert fit_model(ratings, f"Q_overall ~ {RANDOM}", draws=26).predictions is None


def test_many_random_effects_have_fewer_draws(ratings: Ratings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dissensus.pipeline.model.draws.MOST_EFFECTS", 140 * 40)
    model = fit_model(ratings, f"Q_overall ~ race + {RANDOM}", draws=60)
    assert "Predicted shares rest on 40 draws instead of 60, as the model has many random effects." in model.notes
    assert sum(shares(model, "White").values()) == pytest.approx(1)


def test_effects_by_item_and_random_groups_are_predicted(ratings: Ratings) -> None:
    formula = "Q_overall ~ gender + (1 | race) + (1 | race:item_id) + (1 | rater_id) + (1 | item_id)"
    model = fit_model(ratings, formula, draws=60)
    assert shares(model, "White")["Yes"] < shares(model, "Asian")["Yes"]
    assert sum(shares(model, "White").values()) == pytest.approx(1)
