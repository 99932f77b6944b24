"""Preferences that never were: what is drawn, and that the truth is true of it."""

import numpy as np
import pytest

from dissensus.errors import InvalidInput
from dissensus.pipeline.simulate import simulate_preferences


def test_the_same_seed_gives_the_same() -> None:
    one, again, other = (simulate_preferences(n_comparisons=30, seed=seed) for seed in (1, 1, 2))
    assert one.preferences == again.preferences != other.preferences
    assert one.words.equals(again.words)


def test_picks_follow_the_truth_of_each_group() -> None:
    drawn = simulate_preferences(n_comparisons=3000, group_sd=2.0, rater_sd=0.0, seed=4)
    gender = dict(drawn.raters.select("rater_id", "rater_gender").iter_rows())
    for name in ("Man", "Woman"):
        p = 1 / (1 + np.exp(-drawn.odds(f"rater_gender={name}")))
        picked = [
            (pick.side == "b", chance)
            for one, chance in zip(drawn.preferences, p, strict=True)
            for pick in one.picks
            if gender[pick.rater_id] == name
        ]
        sides, chances = np.array(picked).T
        for low, high in ((0, 0.2), (0.2, 0.5), (0.5, 0.8), (0.8, 1)):
            here = (chances >= low) & (chances < high)
            assert sides[here].mean() == pytest.approx(chances[here].mean(), abs=0.04)


def test_genders_differ_by_as_much_as_asked_and_ages_do_not() -> None:
    words = simulate_preferences(n_comparisons=2, group_sd=1.5, seed=6).words
    women = words["rater_gender=Woman"].to_numpy()
    assert women[0::2].std() == pytest.approx(1.5)
    assert not women[1::2].any()
    assert np.array_equal(words["rater_gender=Man"].to_numpy(), -women)
    assert not words.select("rater_age=18-29", "rater_age=30-49", "rater_age=50+").to_numpy().any()
    assert words["all"].std(ddof=0) == pytest.approx(1)


def test_answers_speak_of_what_counts() -> None:
    drawn = simulate_preferences(n_comparisons=50, seed=7)
    for one, counts in zip(drawn.preferences, drawn.counts, strict=True):
        for word, count in zip(drawn.words["word"], counts, strict=True):
            assert (word in one.b) - (word in one.a) == count
        assert len({pick.rater_id for pick in one.picks}) == 4


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"n_comparisons": 0}, "n_comparisons"),
        ({"n_raters": 3}, "raters_each"),
        ({"group_sd": -1.0}, "neither can be less than 0"),
    ],
)
def test_what_cannot_be_drawn(settings: dict[str, float], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        simulate_preferences(**settings)  # type: ignore[arg-type]
