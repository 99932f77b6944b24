"""Figures of a filter audit."""

import pytest
from tests.pipeline.tables import ratings_of
from tests.report.svg import fits, texts

from dissensus.errors import NotFound, UndefinedEstimate
from dissensus.pipeline.vet import FilterAudit, audit_filter
from dissensus.report.figures.removal import label_moves, removal
from dissensus.report.groups import list_groups
from dissensus.schema.ratings.table import Ratings


@pytest.fixture(scope="module")
def audit(dices_123: Ratings) -> FilterAudit:
    return audit_filter(dices_123, draws=200)


def test_removal_of_dices_350_by_gender(dices_123: Ratings, audit: FilterAudit) -> None:
    figure = removal(audit, [list_groups(dices_123, axis) for axis in ("race", "gender", "age")])
    men, women = figure.table.filter(axis="gender").rows(named=True)
    assert (men["n_removed"], men["n_raters"], women["n_removed"], women["n_raters"]) == (14, 61, 5, 62)
    assert figure.reading == (
        "19 of 123 raters are flagged in the file; by gender, from 8 % (Woman) to 23 % (Man), p .0785 after adjustment "
        "over 3 axes."
    )
    assert {"14 of 61", "5 of 62", "gender: p .0262"} <= set(texts(figure))
    assert "Dashed: the whole pool, 15 %." in figure.notes
    assert fits(figure)


def test_hidden_groups_are_left_out(dices_123: Ratings, audit: FilterAudit) -> None:
    groups = list_groups(dices_123, "race", suppress_below=23)
    figure = removal(audit, [groups])
    assert groups.hidden
    assert set(figure.table["group"]) == set(groups.listed)
    assert not groups.hidden & set(texts(figure))


def test_p_values_are_adjusted_over_axes_that_are_not_drawn_too(dices_123: Ratings, audit: FilterAudit) -> None:
    n_tested = sum(axis.p_adjusted is not None for axis in audit.axes)
    assert n_tested > 1
    reading = removal(audit, [list_groups(dices_123, "gender")]).reading
    assert reading.endswith(f"after adjustment over {n_tested} axes.")


def test_an_axis_that_was_not_tested_is_refused(dices_123: Ratings) -> None:
    by_gender = audit_filter(dices_123, by="gender", draws=0)
    with pytest.raises(NotFound, match="no axis 'rater_race' in the audit; it tests 'rater_gender'"):
        removal(by_gender, [list_groups(dices_123, "race")])
    with pytest.raises(NotFound, match="no axis to show"):
        removal(by_gender, [])


def test_an_axis_without_a_test_says_why() -> None:
    ratings = ratings_of({"a": "NY", "b": "NY", "c": "NN"}, {"rater_x": ["one", "one", "one"]})
    figure = removal(audit_filter(ratings, raters=["a"], draws=0), [list_groups(ratings, "x")])
    assert figure.reading == "1 of 3 raters is removed; whether removal depends on a demographic was not tested."
    assert any(note.startswith("x: not tested") for note in figure.notes)


def test_moves_are_multiples_of_the_median_removal(audit: FilterAudit) -> None:
    figure = label_moves(audit)
    for row, move in zip(figure.table.rows(named=True), audit.moves, strict=True):
        assert move.observed is not None
        assert move.null_median is not None
        assert row["ratio"] == pytest.approx(move.observed / move.null_median)
    assert f"p {audit.moves[0].p:.3f}".replace("0.", ".") in texts(figure)
    assert fits(figure)


def test_without_random_removals_there_is_nothing_to_compare_with(dices_123: Ratings) -> None:
    with pytest.raises(UndefinedEstimate, match="without random removals"):
        label_moves(audit_filter(dices_123, draws=0))


def test_a_measure_with_median_zero_is_left_out_with_a_note() -> None:
    answers = {f"r{r}": "YYYYYYYYYN" if r else "NYYYYYYYYY" for r in range(12)}
    figure = label_moves(audit_filter(ratings_of(answers, {}), raters=["r0"], draws=50))
    assert figure.table.filter(measure="items whose most frequent answers change")["ratio"].to_list() == [None]
    assert any(note.endswith("items whose most frequent answers change.") for note in figure.notes)


def test_labels_that_never_move_are_refused() -> None:
    ratings = ratings_of({"a": "NN", "b": "NN", "c": "NN"}, {})
    with pytest.raises(UndefinedEstimate, match="do not move"):
        label_moves(audit_filter(ratings, raters=["a"], draws=20))
