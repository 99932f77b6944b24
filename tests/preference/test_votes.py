"""Pairs from the picks of raters."""

from dataclasses import replace
from typing import Any

from dissensus.pipeline.simulate import simulate_preferences
from dissensus.preference.data.votes import collect_votes


def test_swapped_answers_with_swapped_picks_are_the_same_pairs() -> None:
    preferences = simulate_preferences(n_comparisons=20, seed=3).preferences
    opposite: dict[Any, Any] = {"a": "b", "b": "a", None: None}
    swapped = [
        replace(one, a=one.b, b=one.a, picks=tuple(replace(pick, side=opposite[pick.side]) for pick in one.picks))
        for one in preferences
    ]
    votes = collect_votes(preferences, purpose="helpful")
    assert collect_votes(swapped, purpose="helpful") == votes
    assert len(votes.pairs) > 20
