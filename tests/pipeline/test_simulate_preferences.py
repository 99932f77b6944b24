"""Simulated preferences and their true effects."""

import numpy as np
import pytest

from dissensus.errors import InvalidInput
from dissensus.pipeline.simulate import simulate_preferences


def test_the_same_seed_gives_the_same_preferences() -> None:
    first, same_seed, other_seed = (simulate_preferences(n_comparisons=30, seed=seed) for seed in (1, 1, 2))
    assert first.preferences == same_seed.preferences != other_seed.preferences
    assert first.words.equals(same_seed.words)


def test_picks_follow_the_truth_of_each_group() -> None:
    simulation = simulate_preferences(n_comparisons=3000, group_sd=2.0, rater_sd=0.0, seed=4)
    gender = dict(simulation.raters.select("rater_id", "rater_gender").iter_rows())
    for name in ("Man", "Woman"):
        p = 1 / (1 + np.exp(-simulation.log_odds(f"rater_gender={name}")))
        outcomes = [
            (pick.side == "b", chance)
            for preference, chance in zip(simulation.preferences, p, strict=True)
            for pick in preference.picks
            if gender[pick.rater_id] == name
        ]
        sides, chances = np.array(outcomes).T
        for low, high in ((0, 0.2), (0.2, 0.5), (0.5, 0.8), (0.8, 1)):
            in_bin = (chances >= low) & (chances < high)
            assert sides[in_bin].mean() == pytest.approx(chances[in_bin].mean(), abs=0.04)


def test_genders_differ_by_group_sd_and_ages_do_not() -> None:
    words = simulate_preferences(n_comparisons=2, group_sd=1.5, seed=6).words
    women = words["rater_gender=Woman"].to_numpy()
    assert women[0::2].std() == pytest.approx(1.5)
    assert not women[1::2].any()
    assert np.array_equal(words["rater_gender=Man"].to_numpy(), -women)
    assert not words.select("rater_age=18-29", "rater_age=30-49", "rater_age=50+").to_numpy().any()
    assert words["all"].std(ddof=0) == pytest.approx(1)


def test_counts_are_those_of_the_words_in_responses() -> None:
    simulation = simulate_preferences(n_comparisons=50, seed=7)
    for preference, counts in zip(simulation.preferences, simulation.counts, strict=True):
        for word, count in zip(simulation.words["word"], counts, strict=True):
            assert (word in preference.b) - (word in preference.a) == count
        assert len({pick.rater_id for pick in preference.picks}) == 4


def test_raters_drawn_in_blocks_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = simulate_preferences(n_comparisons=50, seed=7)
    monkeypatch.setattr("dissensus.pipeline.simulate.preferences.BLOCK_SIZE", 7 * 40)
    assert simulate_preferences(n_comparisons=50, seed=7).preferences == whole.preferences


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_comparisons": 0}, "n_comparisons is 0; give a whole number from 1"),
        ({"n_raters": 3}, "raters_each is 4; give a whole number from 1 to 3"),
        ({"group_sd": -1.0}, "group_sd is -1.0; give a number from 0"),
        ({"rater_sd": float("nan")}, "rater_sd is nan"),
        ({"seed": -1}, "seed is -1"),
        ({"n_comparisons": 100_000, "raters_each": 20}, "100,000 comparisons by 20 raters each are too many picks"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        simulate_preferences(**settings)  # type: ignore[arg-type]
