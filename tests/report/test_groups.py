"""Displayed groups and their suppression."""

import polars as pl
import pytest
from tests.pipeline.tables import ratings_of, simulate_frame

from dissensus.errors import InvalidInput
from dissensus.pipeline.analyse import analyse
from dissensus.pipeline.tables import format_interval
from dissensus.report.figures.agreement import agreement
from dissensus.report.graphics.layout import truncate_text
from dissensus.report.groups import (
    DisplayedGroups,
    format_percent,
    join_with_and,
    list_groups,
    make_slug,
    number_repeated_names,
)
from dissensus.schema.axes import format_axis
from dissensus.schema.hints import count_noun
from dissensus.schema.ratings.table import Ratings


def pool(**sizes: int) -> Ratings:
    """Return ratings by groups of the given sizes, with alternating gender."""
    race = [name for name, n in sizes.items() for _ in range(n)]
    gender = [("Man", "Woman")[r % 2] for r in range(len(race))]
    return ratings_of({f"r{r}": "NY" for r in range(len(race))}, {"rater_race": race, "rater_gender": gender})


def test_a_single_small_group_hides_the_next_smallest() -> None:
    ratings = pool(White=9, Black=4, Asian=6)
    groups = list_groups(ratings, "race", suppress_below=5)
    assert groups.hidden == {"Black", "Asian"}
    assert groups.listed == ("White",)
    assert groups.notes[0] == ("2 groups of race left out: fewer than 5 raters, or others could be computed from them.")
    assert list_groups(ratings, "race", suppress_below=4).hidden == frozenset()


def test_two_small_groups_hide_no_other() -> None:
    assert list_groups(pool(White=9, Black=4, Asian=3), "race", suppress_below=5).hidden == {"Black", "Asian"}


def test_hidden_groups_have_at_least_the_minimum_together() -> None:
    groups = list_groups(pool(White=40, Black=30, Asian=2, Latine=2), "race", suppress_below=5)
    assert groups.hidden == {"Asian", "Latine", "Black"}
    assert list_groups(pool(White=40, Black=30, Asian=2, Latine=3), "race", suppress_below=5).listed == (
        "Black",
        "White",
    )


def test_a_single_rater_of_unknown_group_hides_a_group() -> None:
    """Otherwise the answers of this rater would be those of everybody less those of the groups."""
    races = ["White"] * 9 + ["Black"] * 8 + ["Asian"] * 7
    for n_unknown, hidden in ((0, set()), (1, {"Asian"}), (5, set())):
        values: list[str | None] = [*races, *([None] * n_unknown)]
        groups = list_groups(
            ratings_of({f"r{r}": "NY" for r in range(len(values))}, {"rater_x": values}), "x", suppress_below=5
        )
        assert groups.hidden == hidden
        assert groups.n_unknown == n_unknown
        notes = " ".join(groups.notes)
        assert ("x of some raters is not known." in notes) == (n_unknown == 1)
        assert ("x of 5 raters is not known." in notes) == (n_unknown == 5)


def test_a_crossed_group_cannot_be_computed_from_its_axes() -> None:
    ratings = pool(White=9, Black=3, Asian=12)
    groups = list_groups(ratings, "race*gender", suppress_below=4)
    sizes = {name: (n, name in groups.hidden) for name, n in groups.sizes.items()}
    for race in ("White", "Black", "Asian"):
        hidden = [sizes[f"{race} × {gender}"][1] for gender in ("Man", "Woman")]
        assert sum(hidden) != 1
    for gender in ("Man", "Woman"):
        assert sum(sizes[f"{race} × {gender}"][1] for race in ("White", "Black", "Asian")) != 1


def test_a_negative_number_is_refused() -> None:
    with pytest.raises(InvalidInput, match="suppress_below is -1"):
        list_groups(pool(White=2), "race", suppress_below=-1)


def test_small_groups_are_marked() -> None:
    groups = list_groups(pool(White=9, Black=4), "race")
    assert groups.label("Black") == "Black†\n4 raters"
    assert groups.label("White", size=False) == "White"
    assert list_groups(pool(White=9, Black=5), "race").label("Black") == "Black\n5 raters"
    assert groups.notes == ("† fewer than 5 raters: read with care.",)


def test_the_largest_groups_are_drawn_in_their_order() -> None:
    groups = DisplayedGroups(axis="rater_x", sizes={f"g{g:02}": 10 + g for g in range(40)})
    assert groups.drawn == tuple(f"g{g:02}" for g in range(16, 40))
    assert "The figure shows the 24 largest of 40 groups; the table has all." in groups.notes


def test_names_of_files() -> None:
    assert make_slug("rater_race*rater_gender") == "race-gender"
    assert make_slug("../../etc/passwd") == "etc-passwd"
    assert make_slug("<>") == "unnamed"
    assert len(make_slug("x" * 500)) == 60
    assert number_repeated_names(["a", "b", "a", "a-2", "a"]) == ["a", "b", "a-2", "a-2-2", "a-3"]


def test_wording() -> None:
    assert format_axis("rater_raw_race*rater_gender") == "raw race × gender"
    assert (count_noun(1, "rater"), count_noun(1200, "rater")) == ("1 rater", "1,200 raters")
    assert (format_interval(-0.1, 0.257), format_interval(0.1, 0.2571, 3)) == ("-.10 to .26", ".100 to .257")
    assert format_interval(None, None) == "–"
    assert format_percent(0.123, 1) == "12.3 %"
    assert join_with_and(["a"]) == "a"
    assert join_with_and(["a", "b", "c"]) == "a, b and c"


def test_an_axis_that_was_not_analysed_is_refused() -> None:
    analysis = analyse(Ratings.from_frame(simulate_frame(3)), by="gender")
    with pytest.raises(InvalidInput, match=r"does not compare the groups of 'race'\. Its axes are 'rater_gender'"):
        agreement(analysis, "race")


def test_long_names_are_cut_before_layout() -> None:
    """Linear time: a name of 10^6 characters would take hours if it was shortened one by one."""
    name = "wide" * 250_000
    frame = simulate_frame(3).with_columns(rater_gender=pl.col("rater_gender").replace("Man", name))
    figure = agreement(analyse(Ratings.from_frame(frame), by="gender"), "gender")
    assert len(figure.render("json")) < 200_000
    assert truncate_text(name, 100).endswith("…")


def test_a_group_of_one_rater_is_named_and_not_drawn_where_raters_agree() -> None:
    groups = list_groups(pool(White=9, Black=1), "race")
    assert groups.compared == ("White",)
    assert groups.drawn == ("Black", "White")
    assert groups.single_notes == ("Not drawn, since one rater has no agreement: Black.",)
    alone = list_groups(pool(White=1, Black=1), "race")
    assert (alone.compared, alone.single_notes) == (("Black", "White"), ())
