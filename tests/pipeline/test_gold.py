"""Experts against the crowd: published figures, a count by hand, and invalid input."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.labels import against_gold
from tests.pipeline.tables import simulate_frame
from tests.strategies import quick

from dissensus.errors import InvalidInput, NotFound, UndefinedEstimate
from dissensus.files.ratings.reader import read_ratings
from dissensus.pipeline.aggregate import GoldAgainstCrowd, gold_against_crowd
from dissensus.pipeline.aggregate.gold_intervals import TIED, LabelledAnswers
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.agreement import krippendorff_alpha

COUNTS = ("both_safe", "both_unsafe", "gold_only", "crowd_only", "tied")
Items = dict[str, list[str]]


def table(answers: Items, **attributes: Sequence[str | None]) -> Ratings:
    """Return ratings from one list of answers per item, and attributes of the items in the same order."""
    rows = [(item, str(r), answer) for item, of_item in answers.items() for r, answer in enumerate(of_item)]
    frame = pl.DataFrame(rows, schema=["item_id", "rater_id", "Q_overall"], orient="row")
    items = pl.DataFrame(
        {"item_id": list(answers), **attributes}, schema_overrides=dict.fromkeys(attributes, pl.String)
    )
    return Ratings.from_frame(frame, categories=["No", "Unsure", "Yes"]).with_items(items)


def counts(result: GoldAgainstCrowd, group: str | None = None) -> tuple[Any, ...]:
    return result.summary.filter(pl.col("group").eq_missing(group)).select(COUNTS).row(0)


@pytest.fixture(scope="module")
def small() -> Ratings:
    """Agreement on 1 and 2, gold alone on 3, the crowd alone on 4, ties of two kinds on 5 and 6, no gold on 7."""
    return table(
        {"1": ["No"], "2": ["Yes"], "3": ["No"], "4": ["Yes"], "5": ["No", "Yes"], "6": ["No", "Unsure"], "7": ["No"]},
        safety_gold=["No", "Yes", "Yes", "No", "Yes", "No", None],
        safety_platinum=["No", "No", "No", "No", "Yes", None, "Yes"],
        degree_of_harm=["low", "low", "low", "high", "high", None, "high"],
    )


@pytest.mark.parametrize(
    ("ties", "expected"), [("apart", (2, 1, 1, 1, 1)), ("safe", (2, 1, 2, 1, 1)), ("unsafe", (2, 2, 1, 1, 1))]
)
def test_a_tie_counts_as_the_rule_says(small: Ratings, ties: Any, expected: tuple[int, ...]) -> None:
    result = gold_against_crowd(small, "Q_overall", ties=ties)
    assert counts(result) == expected
    assert result.notes == ("1 of 7 items have no safety_gold and are left out.",)
    assert result.summary["disagreement"][0] == (expected[2] + expected[3]) / 6
    assert f"counts as {'neither' if ties == 'apart' else ties}." in result.rule
    assert "Unsafe: Yes; safe: No, Unsure." in result.rule


def test_the_confusion_keeps_ties_apart_under_any_rule(small: Ratings) -> None:
    expected = [
        (None, "safe", "safe", 2, 2 / 6),
        (None, "safe", "unsafe", 1, 1 / 6),
        (None, "tied", "safe", 0, 0),
        (None, "tied", "unsafe", 1, 1 / 6),
        (None, "unsafe", "safe", 1, 1 / 6),
        (None, "unsafe", "unsafe", 1, 1 / 6),
    ]
    for ties in ("apart", "safe"):
        assert gold_against_crowd(small, "Q_overall", ties=ties).confusion.rows() == expected


def test_items_of_each_kind(small: Ratings) -> None:
    result = gold_against_crowd(small, "Q_overall", by="degree_of_harm")
    assert result.summary["group"].to_list() == [None, "high", "low"]
    assert counts(result, "low") == (1, 1, 1, 0, 0)
    assert counts(result, "high") == (0, 0, 0, 1, 1)
    assert result.summary["n_items"].to_list() == [6, 2, 3]
    assert result.confusion.height == 18


def test_agreement_that_is_undefined_has_a_reason() -> None:
    result = gold_against_crowd(table({"1": ["No"], "2": ["No"]}, safety_gold=["No", "No"]), "Q_overall")
    row = result.summary.row(0, named=True)
    assert (row["alpha"], row["disagreement"]) == (None, 0)
    assert row["reason"].startswith("Krippendorff's alpha is undefined")
    assert f"– {row['reason']}" in str(result)


def test_three_labels(small: Ratings) -> None:
    result = gold_against_crowd(small, "Q_overall", platinum="safety_platinum")
    assert result.notes == ("2 of 7 items have no safety_gold and safety_platinum and are left out.",)
    assert result.confusion.columns == ["group", "crowd", "gold", "platinum", "n_items", "share"]
    occurring = result.confusion.filter(pl.col("n_items") > 0).select("crowd", "gold", "platinum", "n_items").rows()
    assert occurring == [
        ("safe", "safe", "safe", 1),
        ("safe", "unsafe", "safe", 1),
        ("tied", "unsafe", "unsafe", 1),
        ("unsafe", "safe", "safe", 1),
        ("unsafe", "unsafe", "safe", 1),
    ]
    assert "crowd   safety_gold  safety_platinum" in str(result)


ANSWER = st.sampled_from(["No", "Unsure", "Yes"])


@quick
@given(
    st.lists(st.tuples(st.lists(ANSWER, min_size=1, max_size=5), ANSWER), min_size=1, max_size=8),
    st.sampled_from([("Yes",), ("Unsure", "Yes"), ("No",)]),
)
def test_confusion_counted_by_hand(items: list[tuple[list[str], str]], unsafe: tuple[str, ...]) -> None:
    answers = {str(i): of_item for i, (of_item, _) in enumerate(items)}
    gold = {str(i): label for i, (_, label) in enumerate(items)}
    ratings = table(answers, safety_gold=list(gold.values()))
    result = gold_against_crowd(ratings, "Q_overall", unsafe=unsafe)
    expected = against_gold(answers, gold, set(unsafe))
    rows = result.confusion.select("crowd", "gold", "n_items").rows()
    assert {(crowd, label): n for crowd, label, n in rows if n} == expected
    assert sum(counts(result)) == len(items)
    for ties in ("safe", "unsafe"):
        assert sum(counts(gold_against_crowd(ratings, "Q_overall", unsafe=unsafe, ties=ties))[:4]) == len(items)


def with_gold(seed: int = 4) -> Ratings:
    frame = simulate_frame(seed, share_rated=0.2)
    ids = frame["item_id"].unique().sort()
    gold = ["Yes" if i % 3 else "No" for i in range(len(ids))]
    return Ratings.from_frame(frame).with_items(pl.DataFrame({"item_id": ids, "safety_gold": gold}))


@pytest.mark.parametrize("ties", ["safe", "unsafe", "apart"])
def test_a_group_is_its_raters_alone(ties: Any) -> None:
    ratings = with_gold()
    result = gold_against_crowd(ratings, "Q_overall", by="race", ties=ties)
    assert result.by == "rater_race"
    for group in ("Asian", "Black", "White"):
        group_summary = gold_against_crowd(ratings.where("race", group), "Q_overall", ties=ties).summary
        assert result.summary.filter(group=group).drop("group").equals(group_summary.drop("group"))
    crossed = gold_against_crowd(ratings, "Q_overall", by="race*gender")
    assert "Asian × Man" in crossed.summary["group"]


def test_counts_are_enough_for_the_pool() -> None:
    frame = pl.DataFrame({"item_id": ["1", "1"], "Q_overall": ["Yes", "Yes"], "safety_gold": ["No", "No"]})
    ratings = read_ratings(frame, rater=None)
    result = gold_against_crowd(ratings, "Q_overall")
    assert result.summary.row(0)[:3] == (None, None, 1)
    assert counts(result) == (0, 0, 0, 1, 0)
    with pytest.raises(InvalidInput, match="needs to know who gave which answer"):
        gold_against_crowd(ratings, "Q_overall", by="race")


def test_refusals(small: Ratings) -> None:
    with pytest.raises(InvalidInput, match=r"ties is 'first'; choose one of safe, unsafe, apart"):
        gold_against_crowd(small, "Q_overall", ties="first")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"'yes' is not an answer to Q_overall.* Did you mean 'Yes'"):
        gold_against_crowd(small, "Q_overall", unsafe="yes")
    for unsafe in ([], ["No", "Unsure", "Yes"]):
        with pytest.raises(InvalidInput, match=r"not all or none"):
            gold_against_crowd(small, "Q_overall", unsafe=unsafe)
    with pytest.raises(NotFound, match=r"no 'safety_golt'. Did you mean 'safety_gold'.*--items FILE"):
        gold_against_crowd(small, "Q_overall", gold="safety_golt")
    with pytest.raises(NotFound, match=r"no axis 'degre_of_harm'.*Did you mean 'degree_of_harm'"):
        gold_against_crowd(small, "Q_overall", by="degre_of_harm")
    with pytest.raises(NotFound, match="Items have no attributes"):
        gold_against_crowd(Ratings.from_frame(simulate_frame(1)), "Q_overall")


def test_gold_that_is_no_answer_is_not_taken_for_safe() -> None:
    ratings = table({"1": ["No"], "2": ["Yes"], "3": ["Yes"]}, safety_gold=["No", "yes", "unsafe"])
    with pytest.raises(InvalidInput, match=r"Item '2' has safety_gold 'yes'.* Did you mean 'Yes'\? 1 more such item"):
        gold_against_crowd(ratings, "Q_overall")


def test_gold_that_is_blank_throughout() -> None:
    ratings = table({"1": ["No"], "2": ["Yes"]}, safety_gold=[None, None])
    with pytest.raises(InvalidInput, match="No rated item has safety_gold"):
        gold_against_crowd(ratings, "Q_overall")


@quick
@given(
    answers=st.lists(
        st.lists(st.sampled_from(["No", "Unsure", "Yes"]), min_size=3, max_size=3), min_size=2, max_size=5
    ),
    raters=st.lists(st.integers(0, 2), min_size=3, max_size=3).filter(any),
    items=st.lists(st.integers(0, 2), min_size=5, max_size=5).filter(lambda times: times[0] + times[1] > 0),
    gold=st.lists(st.booleans(), min_size=5, max_size=5),
    silent=st.sampled_from([0, 100]),  # raters without answers: few ratings for the matrix of raters and items
)
def test_a_replicate_is_the_comparison_of_drawn_raters_and_items(
    answers: list[list[str]], raters: list[int], items: list[int], gold: list[bool], silent: int
) -> None:
    n, scale = len(answers), ["No", "Unsure", "Yes"]
    data = LabelledAnswers(
        items=np.repeat(np.arange(n, dtype=np.int32), 3),
        raters=np.tile(np.arange(3, dtype=np.int32), n),
        answers=np.array([scale.index(answer) for row in answers for answer in row], np.int32),
        n_items=n,
        n_raters=3 + silent,
        n_categories=3,
        unsafe=np.array([False, False, True]),
        gold=np.array(gold[:n]),
        tie=TIED,
    )
    crowd = data.label(0, np.zeros(3 + silent, np.int32), np.array([raters + [1] * silent], np.int32))
    disagreement, alpha = data.compare(crowd, np.array([items[:n]]))[0]
    drawn = {
        f"{i} {copy}": [answer for answer, times in zip(row, raters, strict=True) for _ in range(times)]
        for i, row in enumerate(answers)
        for copy in range(items[i])
    }
    pairs = against_gold(drawn, {name: "Yes" if gold[int(name.split()[0])] else "No" for name in drawn}, {"Yes"})
    n_differing = pairs.get(("unsafe", "safe"), 0) + pairs.get(("safe", "unsafe"), 0)
    assert disagreement == pytest.approx(n_differing / sum(items[:n]))
    classes = ("safe", "unsafe")
    units = [
        [2 - (a == "unsafe") - (b == "unsafe"), (a == "unsafe") + (b == "unsafe")]
        for (a, b), times in pairs.items()
        for _ in range(times)
        if a in classes
    ]
    try:
        assert alpha == pytest.approx(krippendorff_alpha(np.array(units).reshape(-1, 2)).estimate)
    except UndefinedEstimate:
        assert np.isnan(alpha)


def test_intervals_are_over_raters_and_items_or_items_alone_where_raters_are_unknown() -> None:
    frame = simulate_frame(4, n_items=40)
    items = frame.select("item_id").unique(maintain_order=True)
    items = items.with_columns(
        safety_gold=pl.when(pl.int_range(pl.len()) % 3 == 0).then(pl.lit("Yes")).otherwise(pl.lit("No")),
        degree=pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.lit("low")).otherwise(pl.lit("high")),
    )
    ratings = Ratings.from_frame(frame).with_items(items)
    result = gold_against_crowd(ratings, by="race", bootstrap=200, seed=1)
    for row in result.summary.rows(named=True):
        assert row["disagreement_low"] <= row["disagreement"] <= row["disagreement_high"]
        assert row["alpha_low"] <= row["alpha"] <= row["alpha_high"]
    assert result.summary.equals(gold_against_crowd(ratings, by="race", bootstrap=200, seed=1).summary)
    assert "Intervals: 95 %, 200 replicates of raters and items, seed 1." in str(result)
    counts_alone = Ratings.from_frame(frame.drop("rater_id"), rater=None).with_items(items)
    of_items = gold_against_crowd(counts_alone, by="degree", bootstrap=200, seed=1)
    assert "200 replicates of items, seed 1." in str(of_items)
    by_degree = gold_against_crowd(ratings, by="degree", bootstrap=200, seed=1)
    for narrow, wide in zip(of_items.summary.rows(named=True), by_degree.summary.rows(named=True), strict=True):
        assert narrow["alpha"] == wide["alpha"]
        assert narrow["alpha_low"] < narrow["alpha"] < narrow["alpha_high"]
        assert (narrow["alpha_low"], narrow["alpha_high"]) != (wide["alpha_low"], wide["alpha_high"])
    plain = gold_against_crowd(ratings, by="race")
    assert plain.summary["alpha_low"].is_null().all()
    assert "interval" not in str(plain)
    with pytest.raises(InvalidInput, match="bootstrap is 1"):
        gold_against_crowd(ratings, bootstrap=1)


def test_the_table_shows_no_control_characters_of_a_name() -> None:
    ratings = table({"1": ["No"], "2": ["Yes"]}, safety_gold=["No", "Yes"], item_kind=["\x1b[31mred", "plain"])
    text = str(gold_against_crowd(ratings, "Q_overall", by="item_kind"))
    assert "\x1b" not in text
    assert r"\x1b[31mred" in text


def shares(result: GoldAgainstCrowd) -> tuple[float, float]:
    row = result.summary.row(0, named=True)
    return round(100 * row["gold_only"] / row["n_items"], 1), round(100 * row["crowd_only"] / row["n_items"], 1)


def test_the_published_disagreement_of_dices_350(dices_104: Ratings, dices_123: Ratings) -> None:
    """Aroyo et al. (2023), section 4.2: 34, 30 and 4 %, with ties counted as safe, without removed raters."""
    safe = gold_against_crowd(dices_104, "Q_overall", ties="safe")
    assert counts(safe) == (161, 70, 105, 14, 4)
    assert shares(safe) == (30.0, 4.0)
    assert safe.summary["disagreement"][0] == 119 / 350
    assert shares(gold_against_crowd(dices_104, "Q_overall", ties="unsafe")) == (29.1, 4.3)
    assert shares(gold_against_crowd(dices_123, "Q_overall", ties="safe")) == (31.1, 3.7)
    assert counts(gold_against_crowd(dices_104, "Q_overall")) == (160, 70, 102, 14, 4)


def test_dices_350_by_group_and_by_degree_of_harm(dices_104: Ratings, real_data: Callable[[str], Path]) -> None:
    """Tables of docs/methods/gold.md."""
    by_race = gold_against_crowd(dices_104, "Q_overall", by="race", ties="safe").summary
    assert by_race.select("n_raters", "gold_only", "crowd_only", "tied").rows()[1:] == [
        (21, 98, 18, 11),
        (23, 100, 14, 7),
        (22, 96, 21, 10),
        (13, 83, 31, 23),
        (25, 134, 5, 7),
    ]
    items = dices_104.with_items(pl.read_csv(real_data("dices-350/items.csv"), infer_schema=False))
    by_degree = gold_against_crowd(items, "Q_overall", by="degree_of_harm", ties="safe").summary
    assert by_degree.select("group", "n_items", "gold_only", "crowd_only", "tied").rows()[1:] == [
        ("Benign", 31, 8, 2, 1),
        ("Debatable", 22, 6, 0, 0),
        ("Extreme", 199, 61, 5, 3),
        ("Moderate", 98, 30, 7, 0),
    ]
    for axis in ("gender", "age"):
        result = gold_against_crowd(dices_104, "Q_overall", by=axis, ties="safe").summary
        assert result.select(pl.sum_horizontal(COUNTS[:4])).to_series().unique().to_list() == [350]


def test_only_raters_of_compared_items_are_counted() -> None:
    rows = [("1", "a", "x", "Yes"), ("1", "b", "x", "Yes"), ("2", "c", "y", "No"), ("3", "d", "y", None)]
    frame = pl.DataFrame(
        [(item, rater, kind, gold, "No") for item, rater, kind, gold in rows],
        schema=["item_id", "rater_id", "item_kind", "safety_gold", "Q_overall"],
        orient="row",
    )
    result = gold_against_crowd(Ratings.from_frame(frame), by="item_kind")
    assert result.summary.select("group", "n_raters", "n_items").rows() == [(None, 3, 2), ("x", 2, 1), ("y", 1, 1)]
