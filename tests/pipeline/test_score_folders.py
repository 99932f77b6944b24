"""Scorecards of folders of Parquet files: the numbers of one file in memory, in any layout."""

import gc
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from tests.pipeline.tables import simulate_frame
from tests.support.folders import read_small_blocks, tabulate_ratings, write_layouts
from tests.support.partitions import partition

from dissensus.errors import InvalidInput
from dissensus.files.ratings.partitions.reader import read_partitions
from dissensus.files.ratings.reader import read_ratings
from dissensus.pipeline.engine.ratings import PartitionedRatings
from dissensus.pipeline.score import score_chatbots, score_models
from dissensus.pipeline.score.block_scores import TOO_MANY_RATINGS, score_blocks
from dissensus.pipeline.score.settings import ModelSettings
from dissensus.schema.item_scores import ItemScores, build_item_scores
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.score import block_sums

N_ITEMS, N_RATERS = 14, 9


def draw_scores(items: Sequence[str], seed: int) -> ItemScores:
    """Return scores in steps, labels, scores with gaps, and 0 or 1, of all items and of one without a rating."""
    draws = np.random.default_rng(seed)
    ids, n = [*items, "unrated"], len(items) + 1
    gaps = [None if i % 5 == 0 else x for i, x in enumerate(draws.random(n).round(3).tolist())]
    columns = {
        "steps": draws.integers(0, 11, n) / 10,
        "labels": np.where(draws.random(n) < 0.4, "unsafe", "safe"),
        "sure": 0.05 + 0.9 * draws.random(n),
    }
    return build_item_scores(pl.DataFrame({"item_id": ids, **columns, "gaps": gaps}))


def assert_close(first: Any, second: Any, where: str = "") -> None:
    """Compare plain values: numbers to 1e-12, the rest exactly."""
    if isinstance(first, dict):
        assert first.keys() == second.keys()
        for key, value in first.items():
            assert_close(value, second[key], f"{where} {key}")
    elif isinstance(first, (list, tuple)):
        assert len(first) == len(second), where
        for number, pair in enumerate(zip(first, second, strict=True)):
            assert_close(*pair, f"{where} {number}")
    elif isinstance(first, float) and isinstance(second, float):
        assert first == pytest.approx(second, rel=1e-12, abs=1e-12, nan_ok=True), where
    else:
        assert first == second, where


def in_blocks(ratings: Ratings, cuts: Sequence[int]) -> PartitionedRatings:
    """Return ratings in blocks of items that have their ids."""
    blocks = partition(ratings, "Q_overall", cuts)

    def read_items() -> Any:
        engine: Any = blocks.design.engine
        for block in engine.read(0, engine.n_blocks):
            yield block, ratings.items["item_id"][block.items]

    return PartitionedRatings(blocks.pool, blocks.design, read_items)


def make_ratings(seed: int, share_rated: float, n_answers: int) -> Ratings:
    """Return ratings of few items by three groups, one of a single rater; with one answer nobody disagrees."""
    draws = np.random.default_rng(seed)
    item, rater = np.nonzero(draws.random((N_ITEMS, N_RATERS)) < share_rated)
    answer = np.array(["No", "Yes", "Unsure"])[draws.integers(0, n_answers, item.size)]
    locale = np.array(["A", "A", "B", "B", "A", "B", "C", "A", "B"])[rater]
    table = {"item_id": item, "rater_id": rater, "Q_overall": answer, "rater_locale": locale}
    return Ratings.from_frame(pl.DataFrame(table), categories=["No", "Unsure", "Yes"])


@pytest.mark.slow
@settings(max_examples=8, phases=[Phase.explicit, Phase.generate], deadline=None)
@given(
    st.integers(0, 999),
    st.sampled_from([0.3, 0.6, 1.0]),
    st.integers(1, 3),
    st.sets(st.integers(1, N_ITEMS - 1)).map(sorted),
    st.sampled_from(["brier", "squared_distance", "auc", "error"]),
)
@example(0, 0.3, 3, [*range(1, N_ITEMS)], "auc")  # Groups without a rating in some blocks
@example(1, 1.0, 1, [5], "brier")  # No disagreement, no unsafe answer
@example(2, 0.1, 2, [4, 5], "squared_distance")  # Hardly an item with two ratings
def test_any_partition_gives_the_scorecard_of_memory(
    seed: int, share_rated: float, n_answers: int, cuts: list[int], rank_by: str
) -> None:
    ratings = make_ratings(seed, share_rated, n_answers)
    blocks = in_blocks(ratings, [cut for cut in cuts if cut < ratings.n_items])
    scores = draw_scores(ratings.items["item_id"].to_list(), seed)
    options: dict[str, Any] = {"by": "locale", "rank_by": rank_by, "min_raters": 2}
    assert_close(score_models(blocks, scores, **options).to_dict(), score_models(ratings, scores, **options).to_dict())
    for suppress_below in (0, 3):
        options = {"by": "locale", "suppress_below": suppress_below, "min_raters": 2, "adjust": "holm"}
        assert_close(score_chatbots(blocks, **options).to_dict(), score_chatbots(ratings, **options).to_dict())


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return simulate_frame(5, n_items=24, share_rated=0.7)


@pytest.mark.slow
def test_any_layout_gives_the_same_scorecard_to_the_last_bit(
    table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_small_blocks(monkeypatch, 60)
    memory = Ratings.from_frame(table)
    scores = draw_scores(memory.items["item_id"].to_list(), 1)
    options: dict[str, Any] = {"by": "race", "min_raters": 2}
    cards = set()
    for folder in write_layouts(table, tmp_path, "rater_gender"):
        blocks = read_partitions(folder, with_items=True)
        assert blocks.design.engine.n_blocks > 5
        card = score_models(blocks, scores, **options)
        cards.add(card.to_json())
        assert_close(card.to_dict(), score_models(memory, scores, **options).to_dict())
    assert len(cards) == 1


@pytest.mark.slow
def test_dices_350_in_three_layouts(dices_104: Ratings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_small_blocks(monkeypatch, 4000)
    overall = dices_104.select_question("Q_overall")
    table = tabulate_ratings(overall)
    memory, scores = read_ratings(table), draw_scores(overall.items["item_id"].to_list(), 2)
    expected = score_models(memory, scores, by="gender").to_dict()
    for folder in write_layouts(table, tmp_path, "rater_gender"):
        blocks = read_partitions(folder, with_items=True)
        assert_close(score_models(blocks, scores, by="gender").to_dict(), expected)


@pytest.mark.parametrize(("limit", "most"), [("MOST_FRACTIONS", 8), ("MOST_COUNTS", 54)])
def test_the_area_of_people_is_left_out_where_items_have_many_ratings(
    limit: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ratings = make_ratings(3, 1.0, 3)  # Nine ratings of an item have 55 possible counts
    monkeypatch.setattr(block_sums, limit, most)
    card = score_models(in_blocks(ratings, [3]), draw_scores(ratings.items["item_id"].to_list(), 3), by="locale")
    areas = [row for row in card.ceilings if row.metric == "auc"]
    assert {row.model for row in areas} == {"everybody else", "rest of group"}
    assert all(row.estimate is None for row in areas)
    assert {row.reason for row in areas} == {TOO_MANY_RATINGS}


def test_what_blocks_do_not_have_is_refused() -> None:
    ratings = make_ratings(3, 1.0, 3)
    blocks, scores = in_blocks(ratings, [3]), draw_scores(ratings.items["item_id"].to_list(), 3)
    with pytest.raises(InvalidInput, match=r"experts \(--gold\) is not computed from a folder"):
        score_models(blocks, scores, gold="safety_gold")
    with pytest.raises(InvalidInput, match=r"--suppress-below\) is not computed from a folder"):
        score_models(blocks, scores, suppress_below=3)
    with pytest.raises(InvalidInput, match=r"--by-item, --chatbot\) is not computed from a folder"):
        score_chatbots(blocks, chatbot="item_chatbot")
    with pytest.raises(InvalidInput, match=r"score of guard. Items are rated as '0', '1', '10' and scored as 'x'; "):
        score_models(blocks, build_item_scores(pl.DataFrame({"item_id": ["x"], "guard": [0.5]})))


def test_memory_does_not_grow_with_the_ratings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # As many blocks as there are threads are in memory

    def peak(n_items: int) -> int:
        item = np.repeat(np.arange(n_items), 12)
        rater = (np.arange(item.size) * 7 + item) % 40
        answer = np.where(item * rater % 7 < 3, "No", "Yes")
        table = pl.DataFrame({"item_id": item, "rater_id": rater, "Q_overall": answer})
        ratings = Ratings.from_frame(table.unique(["item_id", "rater_id"], maintain_order=True))
        blocks = in_blocks(ratings, [*range(250, n_items, 250)])
        scores = build_item_scores(pl.DataFrame({"item_id": ratings.items["item_id"], "guard": item[::12] % 11 / 10}))
        tracemalloc.start()
        score_models(blocks, scores)
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    assert peak(4000) < peak(1000) + 3000 * 12 * 8  # One number a rating would take as much


def test_without_scores_memory_does_not_grow_with_the_ratings_of_an_item_in_each_group() -> None:
    n_raters, n_groups = 400, 20
    item, rater = np.repeat(np.arange(4), n_raters), np.tile(np.arange(n_raters), 4)
    answer, group = np.where((item + rater) % 3 > 0, "Yes", "No"), np.char.add("g", (rater % n_groups).astype(str))
    table = {"item_id": item, "rater_id": rater, "Q_overall": answer, "rater_age": group}
    blocks = in_blocks(Ratings.from_frame(pl.DataFrame(table)), [1, 2, 3])
    tracemalloc.start()
    score_chatbots(blocks, by="age")
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert used < n_groups * n_raters**2 // 2  # A byte for each count of answers to an item that is possible


@pytest.mark.slow
def test_no_sums_by_rater_outlast_the_passes() -> None:
    def measure_memory(n_raters: int) -> int:
        rater, n_items = np.arange(n_raters), 8
        table = {"item_id": rater % n_items, "rater_id": rater, "Q_overall": np.where(rater % 3 > 1, "Yes", "No")}
        ratings = Ratings.from_frame(pl.DataFrame(table | {"rater_sex": np.where(rater // 8 % 2, "W", "M")}))
        settings = ModelSettings(questions=("Q_overall",), unsafe=("Yes",), axes=("rater_sex",), models=("a", "b"))
        blocks, scores = in_blocks(ratings, [3]), np.random.default_rng(0).random((2, n_items))
        tracemalloc.start()
        scored, _ = score_blocks(blocks, settings, scores)
        gc.collect()
        used = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert scored[1].compute("a", "brier").spread_of_difference(scored[1].compute("b", "brier")) is not None
        return used

    measure_memory(100)
    assert measure_memory(8000) < measure_memory(4000) + 4000 * 8  # One number for each rater


def test_rare_answers_of_a_group_have_the_warning_of_memory() -> None:
    n_items, n_raters = 50, 20
    item, rater = np.repeat(np.arange(n_items), n_raters), np.tile(np.arange(n_raters), n_items)
    is_rare = rater % 2 > 0  # Half of the raters call one answer of fifty unsafe, the others one of three
    is_unsafe = np.where(is_rare, (item + rater // 2) % 50 == 0, (item + rater) % 3 == 0)
    table = {"item_id": item, "rater_id": rater, "Q_overall": np.where(is_unsafe, "Yes", "No")}
    ratings = Ratings.from_frame(pl.DataFrame(table | {"rater_locale": np.where(is_rare, "rare", "often")}))
    scores = draw_scores(ratings.items["item_id"].to_list(), 3)
    assert is_unsafe[is_rare].mean() == 0.02
    cards = [score_models(each, scores, by="locale") for each in (in_blocks(ratings, [7, 30]), ratings)]
    assert_close(cards[0].to_dict(), cards[1].to_dict())
    for card in cards:
        warned = {(row.model, row.group) for row in card.rows if row.metric == "auc" and "5 %" in (row.warning or "")}
        assert warned == {(model, "rare") for model in scores.models}
