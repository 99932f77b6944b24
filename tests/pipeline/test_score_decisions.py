"""Decisions compared: rules by hand, costs, the people overruled, and bad input."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from dissensus.errors import InvalidInput, NotFound
from dissensus.pipeline.score import DecisionComparison, compare_decisions, label_by_rule
from dissensus.schema.item_scores import ItemScores
from dissensus.schema.ratings.table import Ratings

# Share of unsafe answers to five items of eight raters of the north and of two of the south.
NORTH = ("NNNNNNNN", "YYYYYYYY", "YYYNNNNN", "NNNNNNNN", "YYYUUUNN")
SOUTH = ("NN", "YY", "NN", "YY", "NN")


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    words = {"N": "No", "U": "Unsure", "Y": "Yes"}
    rows = [
        {
            "item_id": str(i),
            "rater_id": f"r{r}",
            "rater_region": "north" if r < 8 else "south",
            "Q_overall": words[letter],
            "Q2_harm_overall": "Yes" if i == 0 and r == 0 else words[letter],
            "Q3_bias_overall": "Yes" if i == 0 and r in (1, 2, 3, 4) else "No",
            "safety_gold": "Yes" if i in (1, 2) else "No",
        }
        for i, letters in enumerate(north + south for north, south in zip(NORTH, SOUTH, strict=True))
        for r, letter in enumerate(letters)
    ]
    return pl.DataFrame(rows)


@pytest.fixture(scope="module")
def ratings(frame: pl.DataFrame) -> Ratings:
    return Ratings.from_frame(frame, questions="all")


Compare = Callable[..., dict[str, tuple[str, ...]]]


@pytest.fixture
def blocked(ratings: Ratings) -> Compare:
    def compare(**options: Any) -> dict[str, tuple[str, ...]]:
        comparison = compare_decisions(ratings, by="region", min_raters=2, gold="safety_gold", **options)
        return {decision.name: decision.blocked_items for decision in comparison.decisions}

    return compare


def test_each_rule_blocks_its_items(blocked: Compare) -> None:
    assert blocked() == {
        "plurality": ("1",),  # Item 4: three answers Yes, three Unsure, and four No in all
        "share": ("1",),
        "dices": ("0", "1"),  # Item 0: five of ten raters say Yes to one of the questions
        "any-question": ("1",),
        "group-balanced: rater_region": ("1", "3"),
        "any-group: rater_region ≥ 0.5": ("1", "3"),
        "worst-group: rater_region": ("1",),  # Item 3: each decision overrules all of one group
        "expert": ("1", "2"),
    }


def test_costs_move_the_threshold(blocked: Compare) -> None:
    costs = blocked(costs=[(1, 1), (1, 4)], rules=["share", "worst-group", "expert"])
    assert costs["share at 1:4"] == ("1", "2", "3", "4")
    assert costs["worst-group: rater_region at 1:4"] == ("1", "2", "3", "4")
    assert costs["expert at 1:1"] == costs["expert at 1:4"]
    # Three of eight raters of the north: the share that is asked for, and one below it.
    assert blocked(rules=["any-group"], at_least=3 / 8) == {"any-group: rater_region ≥ 0.375": ("1", "2", "3", "4")}
    assert blocked(rules=["any-group"], at_least=0.38) == {"any-group: rater_region ≥ 0.38": ("1", "3")}


def test_scores_and_populations_are_rules(blocked: Compare) -> None:
    table = pl.DataFrame({"item_id": ["0", "1", "2", "3", "4", "99"], "guard": [0.5, 0.4, 0.6, 0.0, 0.0, 1.0]})
    rules = blocked(scores=ItemScores(table), populations=ItemScores(table.rename({"guard": "census"})))
    assert rules["score: guard"] == rules["poststratified: census"] == ("0", "2")


def test_scores_of_other_items_are_counted(ratings: Ratings) -> None:
    table = pl.DataFrame({"item_id": ["0", "1", "2", "3", "4", "99"], "guard": [0.5, 0.4, 0.6, 0.0, 0.0, 1.0]})
    scores = ItemScores(table, notes=("One column is not read.",))
    page = str(compare_decisions(ratings, scores=scores, rules=["score"]))
    assert "Warning: 1 of 6 scored items without a rating: not used." in page
    assert "Note: One column is not read." in page


def test_the_people_overruled_are_counted(ratings: Ratings) -> None:
    comparison = compare_decisions(ratings, by="region", min_raters=2, costs=[(1, 3)], rules=["plurality", "any-group"])
    value = {(row.model, row.group, row.metric): row.estimate for row in comparison.rows}
    first, second = (decision.name for decision in comparison.decisions)
    # The plurality lets item 3 through, which the south alone calls unsafe, and items 2 and 4 with three Yes of eight.
    assert value[first, "south", "overruled"] == pytest.approx(1 / 5)
    assert value[first, "south", "passed_though_unsafe"] == pytest.approx(1 / 5)
    assert value[first, "north", "overruled"] == pytest.approx(2 * 3 / 8 / 5)
    assert value[first, "south", "cost"] == pytest.approx(3 / 5)
    assert value[second, "north", "blocked_though_safe"] == pytest.approx(1 / 5)
    assert value[second, None, "blocked"] == pytest.approx(2 / 5)
    assert comparison.decisions[1].changed_items == ("3",)
    gaps = {gap.model: gap for gap in comparison.gaps}
    assert gaps[first].worst == "south"
    assert (gaps[second].worst, gaps[second].p) == (None, None)
    assert "fewer of the rater's own group" in str(gaps[second].reason)


def test_each_rating_is_judged_by_the_decision_without_its_rater(frame: pl.DataFrame, ratings: Ratings) -> None:
    rules = ["plurality", "share", "dices", "any-question"]
    costs = [(1, 1), (1, 3)]
    names = [decision.name for decision in compare_decisions(ratings, rules=rules, costs=costs).decisions]
    overruled = dict.fromkeys(names, 0)
    letters = [north + south for north, south in zip(NORTH, SOUTH, strict=True)]
    for rater in range(10):
        others = compare_decisions(
            Ratings.from_frame(frame.filter(pl.col("rater_id") != f"r{rater}"), questions="all"),
            rules=rules,
            costs=costs,
        )
        for decision in others.decisions:
            for item, answers in enumerate(letters):
                overruled[decision.name] += (answers[rater] == "Y") != (str(item) in decision.blocked_items)
    rows = compare_decisions(ratings, rules=rules, costs=costs).rows
    shares = {str(row.model): row.estimate for row in rows if row.metric == "overruled"}
    assert shares == pytest.approx({name: n / 50 for name, n in overruled.items()})


def test_groups_of_identical_raters_do_not_differ_by_the_number_of_ratings() -> None:
    """Answers by lot: a decision by most of six ratings of the north and one of the south overrules half of both."""
    rng = np.random.default_rng(5)
    rows = [
        {
            "item_id": str(i),
            "rater_id": f"{region}{r}",
            "rater_region": region,
            "Q_overall": ("No", "Yes")[rng.integers(2)],
        }
        for i in range(200)
        for region, raters in (("north", rng.choice(30, 6, replace=False)), ("south", rng.choice(10, 1)))
        for r in raters
    ]
    comparison = compare_decisions(Ratings.from_frame(pl.DataFrame(rows)), by="region")
    for row in comparison.rows:
        if row.metric == "overruled":
            assert row.estimate == pytest.approx(0.5, abs=0.1)
    tested = {gap.model: gap.p for gap in comparison.gaps if gap.p is not None}
    assert set(tested) == {"plurality", "share"}
    assert min(tested.values()) > 0.05


def test_a_rating_without_another_of_its_item_is_overruled_by_nobody() -> None:
    rows = [("1", "ann", "Yes"), ("2", "ann", "Yes"), ("2", "bob", "Yes"), ("2", "cy", "No")]
    frame = pl.DataFrame(rows, schema=["item_id", "rater_id", "Q_overall"], orient="row")
    ratings = Ratings.from_frame(frame.with_columns(safety_gold=pl.lit("No")))
    comparison = compare_decisions(ratings, rules=["share", "expert"], gold="safety_gold")
    share, expert = (
        {row.metric: (row.estimate, row.n_ratings) for row in comparison.rows if row.model == decision.name}
        for decision in comparison.decisions
    )
    # Without cy both others say Yes, without one of them one of two does, which is enough: cy alone is overruled.
    assert share["overruled"] == pytest.approx((1 / 3, 3))
    assert share["passed_though_unsafe"] == pytest.approx((0, 3))
    assert share["blocked"] == pytest.approx((1, 4))
    # Experts decide without raters: they overrule all of item 1, and two of three of item 2.
    assert expert["overruled"] == pytest.approx(((1 + 2 / 3) / 2, 4))
    assert [decision.n_lone_ratings for decision in comparison.decisions] == [1, 0]
    assert "share: 1 rating on whose item nobody else gave an answer" in str(comparison)
    alone = frame.filter(item_id="1").with_columns(
        rater_id=pl.lit("dee"), rater_region=pl.lit("south"), item_id=pl.lit("3")
    )
    grouped = pl.concat(
        [frame.with_columns(rater_region=pl.lit("north")), alone.select(*frame.columns, "rater_region")]
    )
    rows_of = compare_decisions(Ratings.from_frame(grouped), rules=["share"], by="region").rows
    (south,) = (row for row in rows_of if (row.group, row.metric) == ("south", "overruled"))
    assert (south.estimate, south.n_ratings, south.reason) == (None, 0, "There are no ratings.")


SEATS = {"region=north": 3, "rater_region=south": 2}


def test_most_juries_that_could_be_drawn_decide(ratings: Ratings, blocked: Compare) -> None:
    """Item 2: of the three from the north one or more says Yes in 46 of 56 juries, which is a fifth of five votes."""
    assert blocked(rules=["jury"], seats=SEATS) == {"jury": ("1",)}  # Item 3: two of five votes
    assert blocked(rules=["jury"], seats={"region=north": 1, "region=south": 1})["jury"] == ("1", "3")
    costs = blocked(rules=["jury"], seats=SEATS, costs=[(1, 1), (1, 4)])
    assert costs["jury at 1:4"] == ("1", "2", "3", "4")
    labels = label_by_rule(ratings, "jury", seats=SEATS, costs=(1, 4), min_raters=2)
    assert labels.filter(label="unsafe")["item_id"].to_list() == ["1", "2", "3", "4"]


def test_a_jury_without_a_rater_for_a_seat_does_not_decide(frame: pl.DataFrame) -> None:
    """Without its rater, an item of two raters of the south does not fill two seats of the south."""
    few = Ratings.from_frame(frame.filter((pl.col("item_id") != "3") | (pl.col("rater_id") != "r8")))
    comparison = compare_decisions(few, rules=["jury"], seats=SEATS, min_raters=2)
    (decision,) = comparison.decisions
    assert (decision.n_undecided, decision.n_lone_ratings) == (1, 4 * 2 + 9)
    assert comparison.settings.seats == {"rater_region=north": 3, "rater_region=south": 2}
    assert comparison.settings.axes == ("rater_region",)
    page = str(comparison)
    for text in (
        "Seats of the jury: 3 × rater_region=north, 2 × rater_region=south.",
        "jury: 1 item without a rater for each seat; not blocked.",
        "jury: 17 ratings on whose item the other raters do not fill all seats; overruled by nobody",
    ):
        assert text in page
    labels = label_by_rule(few, "jury", seats=SEATS, min_raters=2)
    assert labels.filter(pl.col("label").is_null())["item_id"].to_list() == ["3"]
    assert all(gap.p is None for gap in comparison.gaps)


def test_juries_judge_each_rating_without_its_rater(frame: pl.DataFrame, ratings: Ratings) -> None:
    seats, letters = {"region=north": 3}, [north + south for north, south in zip(NORTH, SOUTH, strict=True)]
    overruled = 0
    for rater in range(10):
        others = Ratings.from_frame(frame.filter(pl.col("rater_id") != f"r{rater}"))
        (decision,) = compare_decisions(others, rules=["jury"], seats=seats, min_raters=2).decisions
        overruled += sum((row[rater] == "Y") != (str(i) in decision.blocked_items) for i, row in enumerate(letters))
    rows = compare_decisions(ratings, rules=["jury"], seats=seats, min_raters=2).rows
    assert next(row.estimate for row in rows if row.metric == "overruled") == pytest.approx(overruled / 50)


def test_the_page_shows_and_does_not_choose(ratings: Ratings) -> None:
    comparison = compare_decisions(ratings, by="region", min_raters=2, gold="safety_gold")
    page = str(comparison)
    for text in ("None is recommended", "overruled (%) · rater_region", "Changed: differs from plurality", "expert"):
        assert text in page
    assert "Rules without their data: poststratified, score" in page
    document = comparison.to_dict()
    assert document["decisions"][0]["blocked_items"] == ("1",)
    assert document["settings"]["costs"] == ({"block": 1, "miss": 1},)
    assert isinstance(comparison, DecisionComparison)
    assert "NaN" not in comparison.to_json()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rules": ["pluralty"]}, "not a rule.*Did you mean 'plurality'"),
        ({"costs": [(0, 1)]}, "not two numbers above 0"),
        ({"costs": []}, "costs is empty"),
        ({"at_least": 1.5}, "at_least is 1.5"),
        ({"rules": ["score"]}, "do not support the rules score: .*--scores"),
        ({"rules": ["share", "score"]}, "do not support the rules score: .*--scores"),
        ({"costs": [(1e308, 1e308)]}, "above 0 and up to 1,000,000,000"),
        ({"scores": ItemScores(pl.DataFrame({"item_id": ["0"], "guard": [1.0]}))}, "4 of 5 rated items have no score"),
        ({"rules": ["jury"]}, "do not support the rules jury: .*jury needs --seats"),
        ({"rules": ["share"], "seats": SEATS}, "the rule jury is not compared"),
        ({"seats": SEATS}, "rater_region=south has 2 raters who answered Q_overall, and jurors.*8 or more. Lower"),
        ({"seats": {**SEATS, "safety_gold=No": 1}, "min_raters": 2}, "There is no axis 'safety_gold'"),
        ({"seats": {"region=north": 0}}, "The jury has 0 seats. Give 1 to"),
        ({"seats": {"region=north": 9}}, "Item '0' .* 8 raters of rater_region=north for 9 seats. Give fewer"),
        ({"seats": {"region=north": 1_001}}, "The jury has 1,001 seats. Give 1 to"),
        ({"seats": {"north": 3}}, "'north' is not a group. Write axis=group"),
        ({"seats": {"region=nord": 3}}, "no group 'nord' of rater_region.*Did you mean 'north'"),
        ({"seats": SEATS, "min_raters": 2, "suppress_below": 3}, "Numbers of rater_region=(north|south) are withheld"),
    ],
    ids=str,
)
def test_bad_input_is_named(ratings: Ratings, options: dict[str, Any], message: str) -> None:
    with pytest.raises((InvalidInput, NotFound), match=message):
        compare_decisions(ratings, **options)


def test_the_item_nearest_to_a_jury_is_named(frame: pl.DataFrame) -> None:
    """Each group fills its seats on some item, and both on none."""
    north, on_3 = pl.col("rater_region") == "north", pl.col("item_id") == "3"
    few = frame.filter(pl.when(on_3).then(pl.col("rater_id") != "r8").otherwise(~north | (pl.col("rater_id") == "r0")))
    message = "Item '3' comes nearest, with 8 raters of rater_region=north for 3 seats, 1 rater of .*=south for 2 seats"
    with pytest.raises(InvalidInput, match=message):
        compare_decisions(Ratings.from_frame(few), rules=["jury"], seats=SEATS, min_raters=2)


def test_seats_of_two_axes_are_refused(frame: pl.DataFrame) -> None:
    two = Ratings.from_frame(frame.with_columns(rater_gender=pl.lit("Woman")))
    message = "has seats of groups of 'rater_region', 'rater_gender', and a rater may be in one of each"
    with pytest.raises(InvalidInput, match=message):
        compare_decisions(two, rules=["jury"], seats={"region=north": 2, "gender=Woman": 1}, min_raters=2)
    compare_decisions(two, rules=["jury"], seats={"region=north": 2, "gender=Woman": 0}, min_raters=2)


def test_scores_that_no_rule_asks_for_are_not_read(ratings: Ratings) -> None:
    few = ItemScores(pl.DataFrame({"item_id": ["0"], "guard": [1.0]}))
    assert len(compare_decisions(ratings, rules=["share"], scores=few).decisions) == 1


def test_group_rules_need_two_groups_of_enough_raters(ratings: Ratings) -> None:
    names = {decision.rule for decision in compare_decisions(ratings, by="region").decisions}
    assert names.isdisjoint({"group-balanced", "any-group", "worst-group"})


@pytest.mark.parametrize("rule", ["share", "group-balanced", "any-group", "worst-group"])
def test_an_item_that_nobody_answered_is_neither_safe_nor_unsafe(frame: pl.DataFrame, rule: str) -> None:
    """Item 3 has answers to the other questions alone."""
    blank = pl.when(pl.col("item_id") == "3").then(None).otherwise(pl.col("Q_overall")).alias("Q_overall")
    ratings = Ratings.from_frame(frame.with_columns(blank), questions="all")
    by = None if rule == "share" else "region"
    rows = {item: (n, label) for item, n, label in label_by_rule(ratings, rule, by=by, min_raters=2).rows()}
    assert rows["3"] == (0, None)
    assert rows["1"] == (10, "unsafe")
    comparison = compare_decisions(ratings, rules=[rule], by=by or (), min_raters=2)
    assert [decision.n_undecided for decision in comparison.decisions] == [1]
    assert "1 item without an answer to decide on; not blocked" in str(comparison)
