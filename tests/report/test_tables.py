"""Tables of a report."""

from dataclasses import replace

import polars as pl
import pytest
from tests.pipeline.tables import ratings_of, simulate_frame

from dissensus.pipeline.simulate import preset, simulate
from dissensus.report.groups import list_groups
from dissensus.report.tables import ReportTable, dataset, pool
from dissensus.schema.ratings.table import Ratings


@pytest.fixture(scope="module")
def campaign() -> Ratings:
    """A campaign with the questions and the sizes of DICES-350."""
    return simulate(preset("dices-350"), seed=0).ratings("all")


def cells(table: ReportTable) -> dict[str, tuple[str, ...]]:
    (grid,) = table.grids
    return {name: tuple(values) for name, *values in grid.lines}


def test_the_table_of_the_paper(campaign: Ratings) -> None:
    table = dataset(campaign)
    assert cells(table) == {
        "ratings": ("43,050", "36,400"),
        "items": ("350", "350"),
        "raters per item": ("123", "104"),
        "raters": ("123", "104"),
        "flagged raters": ("19", "0"),
        "questions": ("16", "16"),
        "annotations": ("688,800", "582,400"),
    }
    assert any("with them there are 19, and 817,950 annotations" in note for note in table.notes)


def test_annotations_are_non_missing_answers() -> None:
    frame = simulate_frame().with_columns(
        Q_other=pl.when(pl.col("item_id") == "item-000").then(None).otherwise("Q_overall")
    )
    ratings = Ratings.from_frame(frame, questions=["Q_overall", "Q_other"])
    row = dataset(ratings).table
    assert row is not None
    n_answers = sum(ratings.answers[name].count() for name in ratings.questions)
    assert row["n_annotations"].to_list() == [n_answers]
    assert n_answers < ratings.n_ratings * 2


def test_raters_per_item_are_a_range_where_they_differ() -> None:
    table = dataset(ratings_of({"a": "NNN", "b": "NN.", "c": "N.."}, {}))
    assert cells(table)["raters per item"] == ("1–3",)
    assert cells(table)["flagged raters"] == ("–",)


def test_ratings_without_raters_have_no_rater_counts() -> None:
    frame = pl.DataFrame({"item_id": ["1", "1", "2"], "Q_overall": ["Yes", "No", "No"]})
    table = dataset(Ratings.from_frame(frame, rater=None))
    assert cells(table)["raters"] == ("–",)
    assert cells(table)["raters per item"] == ("1–2",)


def test_the_pool_of_dices_350_is_that_of_the_paper(dices_123: Ratings) -> None:
    table = pool(dices_123, [list_groups(dices_123, axis) for axis in ("gender", "race", "age")])
    counts = {group: n for _, group, n, _ in table.table.rows()} if table.table is not None else {}
    assert (counts["Man"], counts["Woman"]) == (61, 62)
    assert (counts["Black/African American"], counts["White"], counts["Multiracial"]) == (29, 30, 16)
    assert (counts["gen z"], counts["millenial"], counts["gen x+"]) == (56, 36, 31)
    assert table.reading == "123 raters, 19 of them flagged."
    assert [grid.head for grid in table.grids] == [
        (axis, "raters", "share", "without flagged") for axis in ("gender", "race", "age")
    ]


def test_hidden_groups_are_not_in_the_pool(dices_123: Ratings) -> None:
    groups = list_groups(dices_123, "race", suppress_below=23)
    table = pool(dices_123, [groups])
    assert groups.hidden
    assert table.table is not None
    assert set(table.table["group"]) == set(groups.listed)
    assert not any(name in str(table.grids) for name in groups.hidden)


def test_without_axes_there_are_no_grids() -> None:
    table = pool(ratings_of({"a": "N"}, {}), [])
    assert (table.grids, table.reading) == ((), "1 rater.")


def test_names_are_escaped() -> None:
    ratings = ratings_of({"a": "NY", "b": "NN"}, {"rater_<b>": ["<script>", "x\ny"]})
    html = pool(ratings, [list_groups(ratings, "<b>")])._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;†" in html
    assert "x\\ny†" in html
    assert replace(dataset(ratings), title="<i>")._repr_html_().startswith("<p><b>&lt;i&gt;</b></p>")


def test_no_table_names_a_rater(campaign: Ratings) -> None:
    ids = set(campaign.raters["rater_id"])
    tables = (dataset(campaign), pool(campaign, [list_groups(campaign, "race")]))
    assert not any(name in table._repr_html_() for table in tables for name in ids)
