"""Scorecards of chatbots: against the shares of `analyse`, planted gaps, small groups and bad input."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.oracles import significance
from tests.pipeline.tables import ratings_of, simulate_frame

from dissensus.errors import InvalidInput, NotFound
from dissensus.pipeline.analyse import analyse
from dissensus.pipeline.score import Scorecard, ScoreRow, score_chatbots
from dissensus.schema.ratings.table import Ratings


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    """Thirty items of two chatbots with a degree of harm, rated by 24 raters of two axes."""
    items = [f"item-{i:03}" for i in range(30)]
    table = pl.DataFrame(
        {
            "item_id": items,
            "item_chatbot": ["A" if i < 18 else "B" for i in range(30)],
            "degree_of_harm": ["Extreme" if i % 3 else "Benign" for i in range(30)],
        }
    )
    return Ratings.from_frame(simulate_frame(1)).with_items(table)


@pytest.fixture(scope="module")
def card(ratings: Ratings) -> Scorecard:
    return score_chatbots(
        ratings, by=["race", "gender"], cross="race*gender", by_item="degree_of_harm", chatbot="item_chatbot"
    )


def select(card: Scorecard, **keys: str | None) -> ScoreRow:
    (row,) = (row for row in card.rows if all(getattr(row, name) == value for name, value in keys.items()))
    return row


def test_shares_are_those_of_an_analysis_of_the_same_items(ratings: Ratings, card: Scorecard) -> None:
    part = ratings.where("item_chatbot", "B").where("degree_of_harm", "Extreme")
    for row in analyse(part, by="race", share_of=card.settings.unsafe[0]).rows:
        if row.metric == "answer_share":
            own = select(card, model="B", value="Extreme", axis="rater_race", group=row.group)
            assert own.estimate == pytest.approx(row.estimate)
            assert own.n_raters == row.n_raters
            assert own.n_items == part.n_items


def test_every_chatbot_value_axis_and_group_has_a_row_with_an_interval(ratings: Ratings, card: Scorecard) -> None:
    n_groups = 1 + sum(len(ratings.group_codes(axis)[1]) for axis in card.settings.axes)
    assert len(card.rows) == 2 * 3 * n_groups
    for row in card.rows:
        assert row.estimate is not None
        assert row.ci_low is not None
        assert row.ci_high is not None
        assert 0 <= row.ci_low <= row.estimate <= row.ci_high <= 1
    assert len(card.gaps) == 2 * 3 * 3
    assert card.to_polars().height == len(card.rows)


def test_a_group_for_which_the_chatbot_is_worse_is_named() -> None:
    rng = np.random.default_rng(5)
    answers = {
        f"rater-{r:02}": "".join("Y" if rng.random() < (0.6 if r % 3 == 0 else 0.3) else "N" for _ in range(50))
        for r in range(36)
    }
    regions = ["south" if r % 3 == 0 else "north" if r % 3 == 1 else "east" for r in range(36)]
    (gap,) = score_chatbots(ratings_of(answers, {"rater_region": regions}), by="region").gaps
    assert (gap.worst, gap.n_groups) == ("south", 3)
    assert gap.pair is not None
    assert "south" in gap.pair
    assert gap.p is not None
    assert gap.p < 1e-4
    assert gap.estimate is not None
    assert gap.by_chance is not None
    assert gap.estimate > 4 * gap.by_chance


@pytest.mark.parametrize(("adjust", "by_hand"), [("bh", significance.benjamini_hochberg), ("holm", significance.holm)])
def test_tests_of_all_gaps_are_adjusted_together(
    ratings: Ratings, adjust: Any, by_hand: Callable[[list[float]], list[float]]
) -> None:
    gaps = score_chatbots(
        ratings, by=["race", "gender"], by_item="degree_of_harm", chatbot="item_chatbot", min_raters=2, adjust=adjust
    ).gaps
    p = [gap.p for gap in gaps if gap.p is not None]
    assert len(p) == 2 * 3 * 2
    assert [gap.p_adjusted for gap in gaps if gap.p is not None] == pytest.approx(by_hand(p))


def test_limits_are_the_fewest_raters_and_items_that_suffice(ratings: Ratings) -> None:
    """Ten, eight and six raters of a group, and thirty items."""
    card = score_chatbots(ratings, by="race", min_raters=8)
    assert [select(card, group=group).warning for group in ("Asian", "Black", "White")] == [
        *(None, None, "interval approximate: fewer than 8 raters")
    ]
    assert [gap.n_groups for gap in card.gaps] == [2]
    assert [gap.n_groups for gap in score_chatbots(ratings, by="race", min_raters=9).gaps] == [1]
    fewer_items = score_chatbots(Ratings.from_frame(simulate_frame(1, n_items=29)))
    assert fewer_items.rows[0].warning == "interval approximate: fewer than 30 items"
    for suppress_below, n_withheld in ((6, 0), (7, 2)):
        withheld = score_chatbots(ratings, by="race", suppress_below=suppress_below)
        assert sum(row.estimate is None for row in withheld.rows) == n_withheld


def test_small_groups_are_shown_and_not_compared() -> None:
    answers = {f"rater-{r}": "YNYNNYYN"[r:] + "YNYNNYYN"[:r] for r in range(8)}
    table = ratings_of(answers, {"rater_region": ["south"] * 2 + ["north"] * 6})
    card = score_chatbots(table, by="region", min_raters=5)
    small = select(card, group="south")
    assert small.estimate is not None
    assert small.warning == "interval approximate: fewer than 8 raters and fewer than 30 items"
    (gap,) = card.gaps
    assert (gap.estimate, gap.reason, gap.n_groups) == (None, "fewer than two groups have 5 raters or more", 1)
    withheld = score_chatbots(table, by="region", suppress_below=3)
    assert {row.group for row in withheld.rows if row.estimate is None} == {"south", "north"}
    assert "others could be computed" in str(select(withheld, group="north").reason)


def test_cells_of_few_raters_are_withheld_with_those_that_tell_them() -> None:
    """One rater of the south rated topic t2, whom the rows of t1 and those of the north would tell."""
    rows = [
        {
            "item_id": str(i),
            "rater_id": f"r{r:02}",
            "rater_region": ("north", "south")[r % 2],
            "item_topic": "t2" if i > 3 else "t1",
            "Q_overall": "Yes" if (3 * r + 5 * i) % 7 < 3 else "No",
        }
        for r in range(20)
        for i in range(6)
        if i < 4 or r % 2 == 0 or r == 1
    ]
    table = Ratings.from_frame(pl.DataFrame(rows))
    card = score_chatbots(table, by="region", by_item="item_topic", suppress_below=5)
    shown = {(row.group, row.value) for row in card.rows if row.estimate is not None}
    assert shown == {(None, None), ("north", None), ("south", None), (None, "t1"), (None, "t2")}
    few = score_chatbots(ratings_of({f"r{r}": "YNY" for r in range(4)}, {}), suppress_below=5)
    assert [row.estimate for row in few.rows] == [None]


def test_several_overall_questions_have_columns_of_one_table() -> None:
    frame = pl.DataFrame(
        {
            "item_id": ["1", "1", "2", "2"],
            "rater_id": ["a", "b", "a", "b"],
            **{name: ["Yes", "No", "No", "No"] for name in ("Q2_harm_overall", "Q3_bias_overall", "Q2_detail")},
            "Q_overall": ["Yes", "Unsure", "No", "No"],
        }
    )
    card = score_chatbots(Ratings.from_frame(frame, questions="all"))
    assert card.settings.questions == ("Q_overall", "Q2_harm_overall", "Q3_bias_overall")
    assert "whole pool  raters  Q_overall  Q2_harm_overall  Q3_bias_overall" in str(card)
    unsure = score_chatbots(Ratings.from_frame(frame), unsafe=["Unsure", "Yes"])
    assert select(unsure, question="Q_overall").estimate == 0.5


def test_rows_of_one_rater_have_no_interval() -> None:
    (row,) = score_chatbots(ratings_of({"ann": "YN"}, {})).rows
    assert (row.estimate, row.ci_low, row.reason) == (0.5, None, "no interval: one rater or one item")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"unsafe": "Maybe"}, InvalidInput, "'Maybe' is not an answer to Q_overall"),
        ({"unsafe": ["No", "Unsure", "Yes"]}, InvalidInput, "not all or none"),
        ({"chatbot": "item_bot"}, NotFound, "Did you mean 'item_chatbot'"),
        ({"by": "creed"}, NotFound, "There is no axis 'creed'"),
        ({"by_item": "context"}, NotFound, "no attribute 'context'"),
        ({"questions": "Q9"}, NotFound, "Question 'Q9' was not read"),
        ({"questions": []}, InvalidInput, "questions is empty"),
        ({"adjust": "max-t"}, InvalidInput, "choose one of bh, holm"),
        ({"min_raters": -1}, InvalidInput, "min_raters is -1; give a whole number, 0 or more"),
        ({"suppress_below": -1}, InvalidInput, "suppress_below is -1; give a whole number, 0 or more"),
        ({"confidence": 95}, InvalidInput, "confidence is 95"),
    ],
    ids=str,
)
def test_bad_options_are_named(ratings: Ratings, options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        score_chatbots(ratings, **options)


def test_ratings_without_raters_are_refused() -> None:
    frame = pl.DataFrame({"item_id": ["1", "2"], "Q_overall": ["Yes", "No"]})
    with pytest.raises(InvalidInput, match="A scorecard needs to know who gave which answer"):
        score_chatbots(Ratings.from_frame(frame, rater=None))


def test_hostile_names_are_escaped() -> None:
    answers = {f"rater-{r}": "YN" for r in range(4)}
    card = score_chatbots(ratings_of(answers, {"rater_region": ["<b>\x1b[31m"] * 2 + ["north"] * 2}), by="region")
    assert "\x1b" not in str(card)
    assert "<b>" not in card._repr_html_()
