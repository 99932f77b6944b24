"""Designs of multilevel models: coding against formulaic, what is left out, and refusals."""

from collections.abc import Sequence
from itertools import product

import formulaic
import numpy as np
import polars as pl
import pytest
from tests.pipeline.tables import frame_of, ratings_of, simulate_frame

from dissensus.errors import DissensusError, InvalidInput, NotFound, UndefinedEstimate
from dissensus.pipeline.model.design import NamedDesign, build_design
from dissensus.schema.formula import parse_formula
from dissensus.schema.ratings.table import Ratings

RANDOM = "(1 | rater_id) + (1 | item_id)"


def simulate(seed: int = 4) -> pl.DataFrame:
    """Return ratings with two attributes of raters, and a degree and a number of items."""
    frame = simulate_frame(seed, share_rated=0.8)
    item = frame["item_id"].str.tail(3).cast(pl.Int64)
    return frame.with_columns(
        degree_of_harm=pl.Series(["Moderate", "Extreme", "Benign"]).gather(item % 3), item_length=item * 7 % 11 + 0.5
    )


def design_of(frame: pl.DataFrame, fixed: str, **base: str) -> NamedDesign:
    return build_design(Ratings.from_frame(frame), parse_formula(f"Q_overall ~ {fixed} + {RANDOM}"), base=base)


def matrix_of(named: NamedDesign) -> np.ndarray:
    """Return the fixed covariates of each rating."""
    return named.design.fixed.values[named.design.fixed.row]


@pytest.mark.parametrize(
    "fixed",
    [
        "rater_race",
        "rater_race + rater_gender",
        "rater_race * rater_gender",
        "rater_race:rater_gender",
        "rater_race + rater_race:rater_gender",
        "item_length * rater_race",
        "item_length:rater_race",
        "rater_race * (rater_gender + item_length)",
        "rater_race * rater_gender * item_length",
    ],
)
def test_columns_are_those_of_formulaic(fixed: str) -> None:
    frame = simulate()
    ordered = frame.sort("item_id", "rater_id")  # the order of ratings
    expected = np.asarray(formulaic.model_matrix(fixed, ordered.to_pandas()))
    own = np.column_stack([np.ones(frame.height), matrix_of(design_of(frame, fixed))])
    rank = np.linalg.matrix_rank(expected)
    assert own.shape[1] == rank  # aliased columns are left out
    assert np.linalg.matrix_rank(np.column_stack([own, expected])) == rank
    if "*" in fixed or ":" not in fixed:
        assert {tuple(column) for column in own.T} == {tuple(column) for column in expected.T}


@pytest.mark.parametrize("slopes", ["1 + rater_race", "0 + rater_race", "0 + rater_race:rater_gender", "rater_gender"])
def test_slopes_are_those_of_formulaic(slopes: str) -> None:
    frame = simulate()
    named = build_design(Ratings.from_frame(frame), parse_formula(f"Q_overall ~ ({slopes} | item_id)"))
    covariates = named.design.random[0].covariates
    assert covariates is not None
    expected = np.asarray(formulaic.model_matrix(slopes, frame.sort("item_id", "rater_id").to_pandas()))
    own = covariates.values[covariates.row]
    assert {tuple(column) for column in own.T} == {tuple(column) for column in expected.T}


def test_levels_are_named_and_the_base_is_first() -> None:
    named = design_of(simulate(), "race * rater_gender", rater_race="White")
    assert named.base == {"rater_race": "White", "rater_gender": "Man"}
    crossed = design_of(simulate(), "rater_race:rater_gender")
    assert [level for _, level in crossed.effects][:2] == ["Black × Man", "White × Man"]  # base: Asian × Man
    assert [tuple(name) for name in named.effects] == [
        ("rater_race", "Asian"),
        ("rater_race", "Black"),
        ("rater_gender", "Woman"),
        ("rater_race:rater_gender", "Asian × Woman"),
        ("rater_race:rater_gender", "Black × Woman"),
    ]
    assert str(named.formula) == (
        "Q_overall ~ rater_race + rater_gender + rater_race:rater_gender + (1 | rater_id) + (1 | item_id)"
    )
    assert named.categories == ("No", "Unsure", "Yes")


def test_degrees_of_harm_are_in_their_order_and_bins_in_theirs() -> None:
    frame = simulate()
    assert [level for _, level in design_of(frame, "degree_of_harm").effects] == ["Moderate", "Extreme"]
    binned = Ratings.from_frame(frame).with_bins("item_length", [2, 10])
    named = build_design(binned, parse_formula(f"Q_overall ~ item_length + {RANDOM}"))
    assert named.base == {"item_length": "under 2"}
    assert [level for _, level in named.effects] == ["2 to under 10", "10+"]


def test_a_number_becomes_levels_if_its_base_is_named() -> None:
    frame = simulate().with_columns(rater_year=pl.col("rater_id").str.tail(1).cast(pl.Int64) % 3 + 1)
    number = design_of(frame, "rater_year")
    assert number.effects == (("rater_year", None),)
    assert "rater_year is taken as a number. For levels name the first: --base rater_year=1" in number.notes[-1]
    assert sorted(set(matrix_of(number)[:, 0])) == [1, 2, 3]
    assert [level for _, level in design_of(frame, "rater_year", rater_year="2").effects] == ["1", "3"]


def test_rows_are_stored_once_for_each_combination() -> None:
    named = design_of(simulate(), "rater_race * rater_gender + item_length")
    assert named.design.fixed.values.shape == (6 * 11, 6)
    assert named.design.fixed.row.dtype == np.int32


def test_groups_of_items_within_levels_are_effects_of_the_item() -> None:
    frame = simulate()
    named = build_design(
        Ratings.from_frame(frame), parse_formula("Q_overall ~ (1 | rater_race:item_id) + (1 | rater_gender:rater_race)")
    )
    crossed, plain = named.design.random
    assert (crossed.n_groups, crossed.structure) == (30, "identity")
    assert crossed.covariates is not None
    assert crossed.covariates.values.shape == (3, 3)
    assert (plain.n_groups, plain.covariates) == (6, None)


def test_missing_values_are_counted_and_named() -> None:
    answers = dict.fromkeys("abcdefgh", "NYUNYU") | {"i": "YNUNNY"}
    ratings = ratings_of(answers, {"rater_age": ["x", "y"] * 4 + [None], "rater_race": ["p"] * 4 + ["q"] * 4 + ["r"]})
    named = build_design(ratings, parse_formula(f"Q_overall ~ rater_age + rater_race + {RANDOM}"))
    assert named.warnings[:2] == (
        "1 rater has no rater_age, and their ratings are left out: 'i'.",
        "6 of 54 ratings are left out of the model.",
    )
    assert named.n_raters == 8
    assert [level for _, level in named.effects] == ["y", "q"]  # nobody of race r is left


def test_unused_answers_empty_cells_and_collinear_columns_are_named() -> None:
    answers = dict.fromkeys("abcdef", "NYNY") | {"g": "YNNY", "h": "YYNN"}
    table = {
        "rater_race": list("ppppqqqq"),
        "rater_gender": list("mmffffff"),
        "rater_kind": list("uuuuvvvv"),
    }
    named = build_design(
        ratings_of(answers, table), parse_formula(f"Q_overall ~ rater_race * rater_gender + rater_kind + {RANDOM}")
    )
    assert named.categories == ("No", "Yes")
    text = " ".join(named.warnings)
    assert "Nobody answered 'Unsure'" in text
    assert "No rating belongs to 'rater_race:rater_gender = q × m'" in text
    assert "Other effects determine 'rater_kind = v' (collinear), so the model leaves it out." in text
    assert "Few raters: rater_race:rater_gender = 'p × f' (2 raters), 'p × m' (2 raters), 'q × f' (4 raters)." in text
    assert [tuple(name) for name in named.effects] == [("rater_race", "q"), ("rater_gender", "m")]


def test_cells_without_raters_are_named() -> None:
    answers = dict.fromkeys("abcdef", "NYUNY") | {"g": "YNUUN"}
    table = {"rater_race": list("pppqqqp"), "rater_gender": [*list("fffffff")[:5], "m", "f"]}
    ratings = ratings_of(answers, table)
    named = build_design(
        ratings, parse_formula(f"Q_overall ~ rater_race * rater_gender + {RANDOM}"), base={"race": "q"}
    )
    assert "No rating belongs to 'rater_race:rater_gender = p × m', so the model has no such effect." in named.warnings
    assert [tuple(name) for name in named.effects] == [("rater_race", "p"), ("rater_gender", "m")]


def refusal(ratings: Ratings, formula: str, **base: str) -> DissensusError:
    with pytest.raises(DissensusError) as raised:
        build_design(ratings, parse_formula(formula), base=base)
    return raised.value


@pytest.mark.parametrize(
    ("formula", "kind", "says"),
    [
        (f"Q_overall ~ rater_raze + {RANDOM}", NotFound, "Did you mean 'rater_race'?"),
        (f"Q_other ~ rater_race + {RANDOM}", NotFound, "Question 'Q_other' was not read."),
        ("Q_overall ~ rater_race", InvalidInput, "Add (1 | rater_id) + (1 | item_id)."),
        ("Q_overall ~ rater_race + (rater_gender | rater_id)", UndefinedEstimate, "each rater has one value of it"),
        ("Q_overall ~ (item_length | item_id)", UndefinedEstimate, "write (item_length | rater_id)"),
    ],
)  # fmt: skip
def test_impossible_formulas_are_refused(formula: str, kind: type[DissensusError], says: str) -> None:
    error = refusal(Ratings.from_frame(simulate()), formula)
    assert isinstance(error, kind)
    assert says in str(error)


@pytest.mark.parametrize(
    ("base", "says"),
    [
        ({"rater_race": "Whit"}, "no such level. Did you mean 'White'? Its levels are 'Asian', 'Black', 'White'."),
        ({"rater_age": "young"}, "The base names 'rater_age', which is not an effect of the formula."),
        ({"item_length": "3"}, "The base of item_length is '3'"),
    ],
)
def test_unseen_levels_of_a_base_are_refused(base: dict[str, str], says: str) -> None:
    error = refusal(Ratings.from_frame(simulate()), f"Q_overall ~ rater_race + item_length + {RANDOM}", **base)
    assert says in str(error)


def test_a_base_without_a_complete_rating_is_refused() -> None:
    frame = simulate().with_columns(
        rater_age=pl.when(pl.col("rater_race") == "White").then(None).otherwise(pl.col("rater_gender"))
    )
    error = refusal(Ratings.from_frame(frame), f"Q_overall ~ rater_race + rater_age + {RANDOM}", race="White")
    assert "no rating with a value in each column of the formula has this level" in str(error)


def table_of(columns: Sequence[str]) -> Ratings:
    """Return ratings of three items by raters 'a', 'b', …, each with the answers of one text."""
    names = [chr(ord("a") + number) for number in range(len(columns))]
    return ratings_of(dict(zip(names, columns, strict=True)), {"rater_x": ["u", "v"] * (len(columns) // 2)})


def test_data_that_determine_nothing_are_refused() -> None:
    constant = refusal(table_of(["NNN", "NNN"]), f"Q_overall ~ rater_x + {RANDOM}")
    assert "All 6 answers are 'No', so nothing differs." in str(constant)
    separate = refusal(table_of(["NYU", "NNN", "YYU", "NNN"]), f"Q_overall ~ rater_x + {RANDOM}")
    assert "Separation: 6 of 6 answers of rater_x = v are 'No', so its effect has no finite estimate." in str(separate)
    single = ratings_of({"a": "NYU", "b": "YNU"}, {"rater_x": ["u", "u"]})
    assert "rater_x has one value, 'u'" in str(refusal(single, f"Q_overall ~ rater_x + {RANDOM}"))
    alone = ratings_of({"a": "NYU"}, {"rater_x": ["u"]})
    assert "All ratings belong to one group of rater_id" in str(refusal(alone, f"Q_overall ~ {RANDOM}"))
    each = ratings_of({"a": "N..", "b": ".Y.", "c": "..N"}, {"rater_x": ["u", "v", "u"]})
    assert "Each rating has a group of rater_id of its own" in str(refusal(each, f"Q_overall ~ {RANDOM}"))


def test_attributes_with_too_many_values_are_refused() -> None:
    cells = list(product(range(60), range(3)))
    frame = pl.DataFrame(
        {
            "item_id": [f"i{i}" for _, i in cells],
            "rater_id": [f"r{r}" for r, _ in cells],
            "rater_town": [f"town {r}" for r, _ in cells],
            "context": [f"text {i}" for _, i in cells],
            "Q_overall": [("No", "Yes")[(r + i) % 2] for r, i in cells],
        }
    )
    ratings = Ratings.from_frame(frame)
    assert "context holds texts" in str(refusal(ratings, f"Q_overall ~ context + {RANDOM}"))
    wide = Ratings.from_frame(pl.concat([frame, frame.with_columns(
        rater_id=pl.col("rater_id") + "b", rater_town=pl.col("rater_town") + "b")]))  # fmt: skip
    message = str(refusal(wide, f"Q_overall ~ rater_town + {RANDOM}"))
    assert "rater_town has 120 levels, and an effect has at most 100." in message
    assert "write (1 | rater_town)" in message
    assert build_design(wide, parse_formula("Q_overall ~ (1 | rater_town) + (1 | item_id)")).design.random[0].n_groups


def test_items_with_several_values_of_an_attribute_are_refused() -> None:
    frame = frame_of({"a": "NYU", "b": "YNU"}, {"rater_x": ["u", "v"]})
    frame = frame.with_columns(harm_type=pl.Series(["Legal,Health", "Legal", "Health"] * 2))
    message = str(refusal(Ratings.from_frame(frame), f"Q_overall ~ harm_type + {RANDOM}"))
    assert "Some items have several values of harm_type" in message


def test_raters_or_items_without_random_effect_are_warned_of() -> None:
    named = build_design(Ratings.from_frame(simulate()), parse_formula("Q_overall ~ rater_race + (1 | item_id)"))
    assert any("answers of one rater count as independent" in warning for warning in named.warnings)


def test_a_factor_of_few_groups_is_warned_of() -> None:
    named = build_design(Ratings.from_frame(simulate()), parse_formula(f"Q_overall ~ {RANDOM} + (1 | rater_race)"))
    assert any("rater_race has 3 groups" in warning for warning in named.warnings)


def test_counts_are_refused() -> None:
    counts = Ratings.from_frame(simulate().drop("rater_id"), rater=None)
    assert "A multilevel model needs to know who gave which answer" in str(refusal(counts, f"Q_overall ~ {RANDOM}"))
