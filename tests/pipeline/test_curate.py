"""Curation: samples of the paper, invariances, screens and refusals."""

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.errors import InvalidInput, NotFound
from dissensus.files.items import read_items
from dissensus.pipeline.curate import SamplePlan, Selection, curate, join_attributes
from dissensus.pipeline.curate.strata import allocate_equally, allocate_proportionally, fill_strata
from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item
from dissensus.text.personal_data import KINDS


def item(item_id: object, text: str | None = None, **attributes: str) -> Item:
    response = f"Answer {item_id}" if text is None else text
    return Item(str(item_id), Conversation.from_turns([("human", "Is it safe?"), ("bot", response)]), attributes)


def corpus(sizes: Mapping[str, int], start: int = 0) -> list[Item]:
    """Return items with an attribute `kind` of these values and numbers."""
    kinds = [kind for kind, size in sizes.items() for _ in range(size)]
    return [item(f"{kind}-{number}", kind=kind) for number, kind in enumerate(kinds, start)]


def ids(selection: Selection, prefix: str = "") -> set[str]:
    return {item.item_id for item in selection.sample if item.item_id.startswith(prefix)}


def column(selection: Selection, name: str) -> dict[str | None, Any]:
    return dict(selection.strata.select("stratum", name).iter_rows())


# samples of the paper, from simulated corpora


@pytest.fixture(scope="module")
def source() -> list[Item]:
    """A corpus of the size of the source corpus of DICES, in three groups of adversariality."""
    rng = random.Random(0)
    groups = rng.choices(["low", "medium", "high"], [0.5, 0.3, 0.2], k=8_000)
    labels = [(rng.choice(["Yes", "No"]), rng.choice(["Yes", "No"])) for _ in groups]
    return [
        item(number, item_adversariality=group, safety_gold=gold, safety_platinum=platinum)
        for number, (group, (gold, platinum)) in enumerate(zip(groups, labels, strict=True))
    ]


def test_990_stratified_over_three_groups_of_adversariality(source: list[Item]) -> None:
    selection = curate(source, SamplePlan(n=990, by="item_adversariality"))
    sizes = Counter(item.attributes["item_adversariality"] for item in source)
    counts = Counter(item.attributes["item_adversariality"] for item in selection.sample)
    assert len(ids(selection)) == len(selection.sample) == 990
    assert column(selection, "n_items") == sizes
    assert all(abs(counts[group] - 990 * size / 8_000) < 1 for group, size in sizes.items())
    even = curate(source, SamplePlan(n=990, by="item_adversariality", allocation="equal"))
    assert column(even, "n_chosen") == dict.fromkeys(sizes, 330)


def test_350_half_unsafe_and_half_safe_by_gold_and_platinum(source: list[Item]) -> None:
    by = ("safety_gold", "safety_platinum")
    selection = curate(source, SamplePlan(by=by, allocation={"Yes × Yes": 175, "No × No": 175}))
    counts = Counter(tuple(item.attributes[name] for name in by) for item in selection.sample)
    assert counts == {("Yes", "Yes"): 175, ("No", "No"): 175}
    assert column(selection, "n_wanted") == {"Yes × Yes": 175, "No × No": 175, "No × Yes": None, "Yes × No": None}
    assert selection.notes[0].startswith("Items of strata that the allocation does not name: ")


def test_dices_350_by_degree_of_harm(real_data: Callable[[str], Path]) -> None:
    items = read_items(real_data("dices-350/items.csv")).items
    plan = SamplePlan(n=100, by="degree_of_harm", allocation="equal", duplicates=0.8, personal_data=KINDS)
    selection = curate(items, plan)
    assert column(selection, "n_items") == {"Benign": 31, "Debatable": 22, "Extreme": 199, "Moderate": 98}
    assert column(selection, "n_duplicates") == {"Benign": 0, "Debatable": 0, "Extreme": 6, "Moderate": 1}
    assert column(selection, "n_personal_data") == {"Benign": 0, "Debatable": 0, "Extreme": 0, "Moderate": 0}
    assert column(selection, "n_chosen") == {"Benign": 25, "Debatable": 22, "Extreme": 25, "Moderate": 25}
    assert selection.short == 3


def test_e_mail_addresses_of_red_teamers(real_data: Callable[[str], Path]) -> None:
    items = read_items(real_data("hh-rlhf/harmless-base-test.jsonl.gz"), pairs="rejected").items
    selection = curate(items, SamplePlan(n=1_000, personal_data=["email_address"]))
    obvious = [
        item.item_id
        for item in sorted(items, key=lambda item: item.item_id)
        if any(re.search(r"\w@\w+\.\w", turn.text) for turn in item.conversation.turns)
    ]
    assert selection.items.filter(outcome="personal data")["item_id"].to_list() == obvious
    assert len(obvious) > 5
    assert not ids(selection) & set(obvious)


# draws


sizes = st.dictionaries(st.sampled_from("abcde"), st.integers(1, 9), min_size=1)
rules = st.sampled_from(["equal", "proportional"])


@given(sizes, rules, st.booleans(), st.integers(0, 3), st.data())
@quick
def test_any_order_gives_the_same_and_counts_add_up(
    sizes: dict[str, int], rule: Any, fill: bool, seed: int, data: st.DataObject
) -> None:
    pool = corpus(sizes)
    n = data.draw(st.integers(len(sizes), len(pool)))
    plan = SamplePlan(n=n, by="kind", allocation=rule, fill=fill, seed=seed)
    selection = curate(pool, plan)
    assert curate(data.draw(st.permutations(pool)), plan).to_json() == selection.to_json()
    assert len(ids(selection)) == len(selection.sample) == selection.strata["n_chosen"].sum() == n - selection.short
    assert column(selection, "n_items") == column(selection, "n_left") == sizes
    assert selection.strata["n_wanted"].sum() == n
    assert selection.items["outcome"].value_counts()["count"].sum() == len(pool)
    assert (selection.short == 0) or not (fill or rule == "proportional")


def test_a_larger_sample_holds_the_smaller() -> None:
    pool = corpus({"a": 40, "b": 60})
    small, large = (curate(pool, SamplePlan(n=n, by="kind", seed=5)) for n in (20, 50))
    assert ids(small) < ids(large)


def test_more_strata_change_no_other_draw() -> None:
    pool, extra = corpus({"a": 40, "b": 60}), corpus({"c": 30}, start=100)
    before = curate(pool, SamplePlan(by="kind", allocation={"a": 9, "b": 9}, seed=5))
    after = curate(extra + pool, SamplePlan(by="kind", allocation={"c": 9, "b": 9, "a": 9}, seed=5))
    assert ids(before) == ids(after, "a") | ids(after, "b")
    assert column(after, "n_chosen") == {"c": 9, "b": 9, "a": 9}


@pytest.mark.slow
def test_every_item_has_the_same_chance() -> None:
    pool = corpus({"a": 10, "b": 10})
    draw_counts = Counter(
        one for seed in range(1_000) for one in ids(curate(pool, SamplePlan(n=6, by="kind", seed=seed)))
    )
    # each is drawn with probability .3; the standard error is .0145
    assert all(abs(draw_counts[item.item_id] / 1_000 - 0.3) < 0.06 for item in pool)


def test_the_draw_is_the_documented_one() -> None:
    # printf '7:a-0' | sha256sum, and so on, give ba98…, b9f3… and ea3e…: the second is the least
    selection = curate(corpus({"a": 3}), SamplePlan(n=1, seed=7))
    assert ids(selection) == {"a-1"}


def test_without_strata_it_is_a_simple_random_sample() -> None:
    selection = curate(corpus({"a": 40, "b": 60}), SamplePlan(n=10))
    assert column(selection, "n_chosen") == {"all items": 10}
    assert str(selection).splitlines()[0] == "10 of 100 items, seed 0."


# allocation


@given(st.lists(st.integers(0, 50), min_size=1, max_size=8).filter(any), st.data())
@quick
def test_allocations_sum_and_fit(available: list[int], data: st.DataObject) -> None:
    n = data.draw(st.integers(1, sum(available)))
    shares = allocate_proportionally(n, available)
    assert sum(shares) == n
    assert all(
        abs(size - n * limit / sum(available)) < 1 and size <= limit
        for size, limit in zip(shares, available, strict=True)
    )
    even = allocate_equally(n, available)
    assert sum(even) == n
    assert max(even) - min(even) <= 1
    filled = fill_strata(even, available)
    assert sum(filled) == n
    assert all(size <= limit for size, limit in zip(filled, available, strict=True))
    assert all(size >= min(pair) for size, pair in zip(filled, zip(even, available, strict=True), strict=True))


def test_equal_remainders_go_to_the_larger_stratum_then_to_the_earlier() -> None:
    assert allocate_proportionally(2, [1, 3]) == [0, 2]
    assert allocate_proportionally(2, [3, 1]) == [2, 0]
    assert allocate_proportionally(4, [1, 1, 1]) == [2, 1, 1]
    assert allocate_equally(5, [9, 2, 9]) == [2, 1, 2]


def test_shortfalls_of_a_stratum_are_noted_and_filled_on_request() -> None:
    pool = corpus({"a": 3, "b": 50, "c": 50})
    short = curate(pool, SamplePlan(n=30, by="kind", allocation="equal"))
    assert (short.short, column(short, "n_chosen")) == (7, {"a": 3, "b": 10, "c": 10})
    assert short.notes == (
        "Too few items are left of 'a' 3 of 10. The sample is 7 short of the 30 wanted; fill takes them from other "
        "strata.",
    )
    filled = curate(pool, SamplePlan(n=30, by="kind", allocation="equal", fill=True))
    assert (filled.short, column(filled, "n_chosen")) == (0, {"a": 3, "b": 14, "c": 13})
    assert filled.notes == ("Too few items are left of 'a' 3 of 10. They are filled from other strata.",)


def test_strata_too_small_for_a_share_are_counted() -> None:
    selection = curate(corpus({"a": 1, "b": 1, "c": 98}), SamplePlan(n=10, by="kind"))
    assert selection.notes == ("Strata too small for a share of one item, so that none is drawn from them: 2.",)


# screens


def outcomes(selection: Selection) -> dict[str, tuple[str, str | None]]:
    rows = selection.items.select("item_id", "outcome", "duplicate_of").iter_rows()
    return {item_id: (outcome, other) for item_id, outcome, other in rows}


LONG = "It depends on where you are, who is with you, and how long you mean to stay in the water, my friend"


def test_of_duplicates_the_first_by_id_may_be_drawn() -> None:
    pool = [item("c", LONG + "!"), item("b", LONG.upper()), item("d", LONG.replace("friend", "dear")), item("a", LONG)]
    selection = curate([*pool, item("e")], SamplePlan(n=2, duplicates=0.8))
    assert outcomes(selection) == {
        "a": ("chosen", None),
        "b": ("exact duplicate", "a"),
        "c": ("near duplicate", "a"),
        "d": ("near duplicate", "a"),
        "e": ("chosen", None),
    }
    assert column(selection, "n_duplicates") == {"all items": 3}
    assert ids(curate(pool, SamplePlan(n=4))) == set("abcd")


def test_a_duplicate_of_an_excluded_text_is_kept() -> None:
    pool = [item("a", LONG + " ann@example.org"), item("b", LONG), item("c", LONG, kind="x")]
    selection = curate(pool, SamplePlan(n=1, duplicates=0.8, personal_data=KINDS))
    assert outcomes(selection) == {
        "a": ("personal data", None),
        "b": ("chosen", None),
        "c": ("exact duplicate", "b"),
    }
    by_kind = curate(pool, SamplePlan(n=1, by="kind", duplicates=0.8))
    assert outcomes(by_kind) == {
        "a": ("missing value", None),
        "b": ("missing value", None),
        "c": ("chosen", None),
    }


@pytest.mark.parametrize("screens", [{"personal_data": KINDS}, {"personal_data": KINDS, "duplicates": 0.8}, {}])
def test_progress_reaches_its_end(screens: dict[str, Any]) -> None:
    shares: list[float] = []
    curate(corpus({"a": 9}), SamplePlan(n=1, **screens), progress=shares.append)
    assert shares == sorted(shares)
    assert shares[0] > 0
    assert shares[-1] == 1


def test_the_manifest_contains_no_texts() -> None:
    pool = [item("a", "Write to ann@example.org or 212-555-0123"), item("b"), item("c", "@ann says so")]
    selection = curate(pool, SamplePlan(n=1, personal_data=["email_address", "telephone_number"]))
    assert selection.items["personal_data"].to_list() == [["email_address", "telephone_number"], [], []]
    assert "example" not in selection.to_json()
    assert "example" not in str(selection)
    assert "telephone_number" in selection.to_json()


def test_items_with_missing_values_or_in_unnamed_strata_are_excluded() -> None:
    pool = [item(1, kind="a", part="x"), item(2, kind="a"), item(3, part="x"), item(4, kind="b", part="x"), item(5)]
    selection = curate(pool, SamplePlan(by=["kind", "part"], allocation={"a × x": 1}))
    assert [outcome for outcome, _ in outcomes(selection).values()] == [
        *("chosen", "missing value", "missing value", "not asked for", "missing value"),
    ]
    assert column(selection, "n_items") == {"a × x": 1, "b × x": 1, None: 3}
    assert selection.notes == (
        "Items without a value of kind or part, which belong to no stratum: 3.",
        "Items of strata that the allocation does not name: 1.",
    )
    assert "(missing value)" in str(selection)


# manifest


def test_a_sample_can_be_repeated_from_its_manifest() -> None:
    pool = corpus({"a": 20, "b": 30})
    plan = SamplePlan(by="kind", allocation={"b": 4, "a": 3}, fill=True, duplicates=0.9, personal_data=KINDS, seed=9)
    selection = curate(pool, plan)
    recorded = json.loads(selection.to_json())
    assert recorded["schema_version"] == 1
    repeated = curate(reversed(pool), SamplePlan.from_dict(recorded["plan"]))
    assert repeated.to_json() == selection.to_json()
    assert [row["item_id"] for row in recorded["items"] if row["outcome"] == "chosen"] == sorted(ids(selection))
    changed_pool = curate([*pool[:-1], item("b-49", "Something else", kind="b")], plan)
    assert changed_pool.digest != selection.digest


def test_a_selection_prints_as_a_table() -> None:
    selection = curate(
        [*corpus({"a\x1b[1m": 2, "b": 12}), item("x")],
        SamplePlan(n=6, by="kind", allocation="equal", duplicates=0.8, personal_data=["handle"]),
    )
    lines = str(selection).splitlines()
    assert lines[0] == "5 of 15 items, equal over 2 strata, seed 0."
    assert [line.split() for line in lines[2:7]] == [
        ["kind", "items", "personal", "data", "duplicates", "left", "wanted", "chosen"],
        ["a\\x1b[1m", "2", "0", "0", "2", "3", "2"],
        ["b", "12", "0", "0", "12", "3", "3"],
        ["(missing", "value)", "1", "0", "0", "0", "–", "0"],
        ["all", "items", "15", "0", "0", "14", "6", "5"],
    ]
    assert "Personal data: items that appear to contain handle." in lines
    assert any(line.startswith("Duplicates: items that share .8 or more of their words") for line in lines)
    assert lines[-1] == f"Items given: SHA-256 {selection.digest}."
    assert "<td" in selection._repr_html_()


# labels of another table


def test_labels_are_joined_from_tables_of_items_or_ratings() -> None:
    pool = [item(1), item(2, safety_gold="No"), item(3)]
    ratings = pl.DataFrame({"post": [1, 1, 2, 9], "safety_gold": ["Yes", "Yes", "No", "No"], "n": [1, 2, 3, 4]})
    items = join_attributes(pool, ratings, ["safety_gold", "degree_of_harm"], item="post")
    assert [dict(item.attributes) for item in items] == [{"safety_gold": "Yes"}, {"safety_gold": "No"}, {}]
    assert join_attributes(pool, ratings, ["degree_of_harm"], item="post") == tuple(pool)


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ({"id": ["1"]}, NotFound, "There is no column 'item_id'"),
        (
            {"item_id": ["7", "8"], "kind": ["a", "b"]},
            InvalidInput,
            "No item is in the table of labels: ids of items are '1'",
        ),
        ({"item_id": ["1", "1"], "kind": ["a", "b"]}, InvalidInput, "Item '1' has two values of kind: 'a' in row 1"),
        ({"item_id": ["1"], "kind": ["b"]}, InvalidInput, "Item '1' has kind 'a', and 'b' in the table of labels."),
    ],
)
def test_invalid_label_tables_are_refused(rows: dict[str, list[str]], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as raised:
        join_attributes([item(1, kind="a")], pl.DataFrame(rows), ["kind"])
    assert message in str(raised.value)


# refusals


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "n is 0; give a whole number, 1 or more."),
        ({"n": 2.5}, "n is 2.5"),
        ({"n": True}, "n is True"),
        ({"n": 5, "seed": -1}, "seed is -1"),
        ({"n": 5, "by": ["kind", "kind"]}, "by names 'kind' twice. Name it once."),
        ({"n": 5, "by": 3}, "by is '3'; give names as texts in a list."),
        ({"n": 5, "by": "kind", "sets": "tags"}, "sets names 'tags', which by does not"),
        ({"n": 5, "by": [3]}, "by is '[3]'; give names"),
        ({"n": 5, "allocation": "even"}, "allocation is 'even'; choose one of equal, proportional, or give a number"),
        ({"n": 5, "allocation": ["equal"]}, "allocation is \"['equal']\""),
        ({"n": 5, "allocation": {"a": 5}}, "but no attribute defines them. Give by as well."),
        ({"n": 5, "by": "kind", "allocation": {"a": 4}}, "n is 5, and the numbers of the strata sum to 4."),
        ({"by": "kind", "allocation": {"a": 0}}, "The number of 'a' is 0; give a whole number, 1 or more."),
        ({"by": "kind", "allocation": {}}, "allocation is empty"),
        ({"n": 5, "duplicates": 0.2}, "duplicates is 0.2; give a number from 0.5 up to 1."),
        ({"n": 5, "personal_data": ["e-mail_address"]}, "Did you mean 'email_address'? Known are 'url_with_user'"),
        ({"n": 5, "fill": "no"}, "fill is 'no'; give True or False."),
        ({"n": 5, "size": 3}, "A plan has no 'size'; it has 'n', 'by'"),
        ([], "A plan is an object with names and values, not '[]'."),
    ],
)
def test_invalid_plans_are_refused(settings: object, message: str) -> None:
    with pytest.raises(InvalidInput) as error:
        SamplePlan.from_dict(settings)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("pool", "settings", "error", "message"),
    [
        ([], {"n": 1}, InvalidInput, "There are no items to choose from."),
        (["a"], {"n": 1}, InvalidInput, "Give items, such as read_items(…).items has them, not str."),
        ([item(1), item(1)], {"n": 1}, InvalidInput, "Several items have the id '1'. Each needs a different one."),
        ([item(1)], {"n": 2}, InvalidInput, "2 items are wanted, and 1 of 1 may be drawn. Ask for fewer"),
        ([item(1), item(2, "Answer 1")], {"n": 2, "duplicates": 1}, InvalidInput, "1 of 2 may be drawn; screens and"),
        ([item(1)], {"n": 1, "by": "kind"}, NotFound, "The items have no 'kind'. Items have no attributes here."),
        (
            [item(1, kind="a")],
            {"n": 1, "by": "kinds"},
            NotFound,
            "The items have no 'kinds'. Attributes of items here are 'kind'. Did you mean 'kind'?",
        ),
        (
            [item(1, kind="a"), item(2, part="b")],
            {"n": 1, "by": ["kind", "part"]},
            InvalidInput,
            "No item has a value of each of 'kind', 'part'.",
        ),
        (
            corpus({"Benign": 2}),
            {"by": "kind", "allocation": {"benign": 1}},
            InvalidInput,
            "There is no stratum 'benign'. Did you mean 'Benign'? The strata of kind are 'Benign'.",
        ),
        (
            corpus({"a": 1, "b": 1, "c": 1}),
            {"n": 2, "by": "kind", "allocation": "equal"},
            InvalidInput,
            "kind make 3 strata, more than the 2 items that are wanted",
        ),
        (
            [item(1, kind="a × b", part="c"), item(2, kind="a", part="b × c")],
            {"n": 1, "by": ["kind", "part"]},
            InvalidInput,
            "Two strata are called 'a × b × c'",
        ),
    ],
)
def test_impossible_samples_are_refused(
    pool: Sequence[Any], settings: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as raised:
        curate(pool, SamplePlan.from_dict(settings))
    assert message in str(raised.value)


# topics are sets


def topical(topics: Sequence[str]) -> list[Item]:
    return [item(f"{number:03}", harm_type=cell) for number, cell in enumerate(topics)]


def test_an_item_with_several_topics_counts_in_the_stratum_of_each() -> None:
    corpus = topical(["Racial"] * 6 + ["Racial,Legal"] * 3 + ["Legal", "Health , Legal"])
    selection = curate(corpus, SamplePlan(by="harm_type", allocation={"Legal": 4, "Health": 1}))
    assert column(selection, "n_items") == {"Legal": 5, "Health": 1, "Racial": 9}
    assert column(selection, "n_chosen")["Legal"] == 4
    assert column(selection, "n_chosen")["Health"] == 1
    assert "010" in ids(selection)  # the only one of Health, drawn first, is one of the four of Legal
    assert len(ids(selection)) == 4
    assert "several values of harm_type, which count in the stratum of each: 4" in selection.notes[-1]
    total = str(selection).splitlines()
    assert next(line for line in total if line.startswith("all items")).split()[2:] == ["11", "5", "5", "4"]


def test_a_shortfall_of_overlapping_strata_counts_each_item_once() -> None:
    corpus = topical(["A,B"] * 2 + ["B"] * 4)
    for allocation, short in (({"A": 3, "B": 3}, 3), ({"A": 3, "B": 1}, 2)):
        selection = curate(corpus, SamplePlan(by="harm_type", allocation=allocation))
        assert selection.short == short
        assert f"The sample is {short} short of the {selection.plan.n} wanted" in selection.notes[0]
    filled = curate(corpus, SamplePlan(by="harm_type", allocation={"A": 3, "B": 3}, fill=True))
    assert filled.short == 0
    assert "They are filled from other strata." in filled.notes[0]


def test_overlapping_strata_by_rule_give_the_size_that_is_wanted() -> None:
    corpus = topical(["A"] * 10 + ["A,B"] * 10 + ["B,C"] * 4)
    for allocation in ("equal", "proportional"):
        selection = curate(corpus, SamplePlan(n=9, by="harm_type", allocation=allocation))
        wanted, chosen = column(selection, "n_wanted"), column(selection, "n_chosen")
        assert len(selection.sample) == 9
        assert all(chosen[stratum] >= wanted[stratum] for stratum in "ABC")


def test_other_attributes_are_sets_if_the_plan_says_so() -> None:
    corpus = [item(f"{number:03}", tags=cell) for number, cell in enumerate(["a|b"] * 4 + ["b"] * 3 + ["c, d"])]
    whole = curate(corpus, SamplePlan(n=2, by="tags"))
    assert column(whole, "n_items") == {"a|b": 4, "b": 3, "c, d": 1}
    plan = SamplePlan(by="tags", sets="tags", allocation={"a": 2, "b": 3})
    assert SamplePlan.from_dict(plan.to_dict()) == plan
    split = curate(corpus, plan)
    assert column(split, "n_items") == {"a": 4, "b": 7, "c, d": 1}
    assert "several values of tags" in split.notes[-1]


def test_topics_of_dices_350(real_data: Callable[[str], Path]) -> None:
    corpus = read_items(real_data("dices-350/items.csv")).items
    selection = curate(corpus, SamplePlan(n=50, by="harm_type"))
    n_items = column(selection, "n_items")
    assert (len(n_items), n_items["Racial"], n_items["Political"]) == (25, 96, 63)
    assert len(selection.sample) == 50
