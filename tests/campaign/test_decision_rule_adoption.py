"""Adopted rules are read from comparisons of decisions, with their settings, or refused."""

import hashlib
import json
from typing import Any

import pytest

from dissensus.campaign.decision_rule_adoption import MAX_FILE_LENGTH, read_adopted_rule
from dissensus.errors import InvalidInput, NotFound
from dissensus.schema.numbers import MAX_COST

SETTINGS = {
    "questions": ["Q_overall"],
    "unsafe": ["Yes"],
    "axes": ["rater_race"],
    "at_least": 0.3,
    "seats": {"x": 2, "y": 1},
    "min_raters": 8,
}
PART = {"name": "one", "rule": "share", "block_cost": 1, "miss_cost": 4, "n_blocked": 3}


def comparison(part: dict[str, Any] | None = None, **settings: Any) -> bytes:
    decisions = [PART, {**PART, "name": "other", "n_blocked": 2, **(part or {})}]
    document = {"settings": {**SETTINGS, **settings}, "n_items": 5, "n_raters": 9, "decisions": decisions}
    return json.dumps(document).encode()


def test_the_rule_is_that_of_the_name() -> None:
    content = comparison()
    rule, other = read_adopted_rule(content, "one"), read_adopted_rule(content, "other")
    assert (rule.n_blocked, other.n_blocked) == (3, 2)
    assert (rule.block_cost, rule.miss_cost, rule.n_items, rule.n_raters, rule.min_raters) == (1, 4, 5, 9, 8)
    assert (rule.questions, rule.unsafe, rule.axes) == (("Q_overall",), ("Yes",), ("rater_race",))
    assert rule.sha256 == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize(
    ("rule", "at_least", "seats"),
    [("share", None, None), ("any-group", 0.3, None), ("jury", None, {"x": 2, "y": 1}), ("plurality", None, None)],
)
def test_only_the_settings_that_a_rule_uses_are_adopted(
    rule: str, at_least: float | None, seats: dict[str, int] | None
) -> None:
    adopted = read_adopted_rule(comparison({"rule": rule}), "other")
    assert (adopted.rule, adopted.at_least, adopted.seats) == (rule, at_least, seats)


@pytest.mark.parametrize("cost", [0.001, MAX_COST])
def test_costs_up_to_the_limits_are_valid(cost: float) -> None:
    assert read_adopted_rule(comparison({"block_cost": cost, "miss_cost": cost}), "other").block_cost == cost


@pytest.mark.parametrize("blocked", [0, 5])
def test_no_item_or_all_of_them_may_be_blocked(blocked: int) -> None:
    assert read_adopted_rule(comparison({"n_blocked": blocked}), "other").n_blocked == blocked


def test_a_share_of_one_is_valid() -> None:
    assert read_adopted_rule(comparison({"rule": "any-group"}, at_least=1), "other").at_least == 1


def test_an_unknown_name_is_refused_with_those_there_are() -> None:
    with pytest.raises(NotFound, match=r"no decision 'othr'.*other"):
        read_adopted_rule(comparison(), "othr")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b'{"decisions": []}',
        b'{"decisions": [1]}',
        b'{"decisions": [{"rule": "share"}]}',
        b'{"decisions": ' + b"[" * 100_000,
        comparison({"miss_cost": float("nan")}),
        comparison({"miss_cost": float("inf")}),
        comparison({"miss_cost": 0}),
        comparison({"miss_cost": -1}),
        comparison({"miss_cost": 2 * MAX_COST}),
        comparison({"miss_cost": True}),
        comparison({"miss_cost": "4"}),
        comparison({"n_blocked": 6}),
        comparison({"n_blocked": -1}),
        comparison({"n_blocked": 1.0}),
        comparison({"n_blocked": True}),
        comparison({"rule": "any-group"}, at_least=0),
        comparison({"rule": "any-group"}, at_least=1.01),
        comparison({"rule": "jury"}, seats={}),
        comparison({"rule": "jury"}, seats=["x"]),
        comparison({"rule": "jury"}, seats={"x": -1}),
        comparison(unsafe="Yes"),
        comparison(min_raters=None),
    ],
    ids=lambda content: f"{content[:40]!r}…{len(content)}",
)
def test_what_is_not_a_comparison_is_refused_with_the_command_that_writes_one(content: bytes) -> None:
    with pytest.raises(InvalidInput, match="dissensus benchmark RATINGS --decisions"):
        read_adopted_rule(content, "other")


def test_a_file_beyond_the_limit_is_refused() -> None:
    with pytest.raises(InvalidInput, match="dissensus benchmark RATINGS --decisions"):
        read_adopted_rule(b" " * MAX_FILE_LENGTH + comparison(), "other")


def test_a_comparison_without_settings_is_refused() -> None:
    content = json.dumps({"n_items": 5, "n_raters": 9, "decisions": [PART]}).encode()
    with pytest.raises(InvalidInput, match="not a comparison of decisions"):
        read_adopted_rule(content, "one")
