"""Reports of complete, sparse and minimal files."""

import re
from collections.abc import Mapping
from dataclasses import replace

import polars as pl
import pytest
from tests.pipeline.tables import ratings_of, simulate_frame
from tests.report.hostile import hostile

from dissensus.errors import InvalidInput
from dissensus.pipeline.analyse import analyse
from dissensus.pipeline.simulate import preset, simulate
from dissensus.report.builder import build, list_figures
from dissensus.report.graphics.drawing_process import open_drawing_process
from dissensus.report.result import Report
from dissensus.schema.ratings.table import Ratings

QUICK: Mapping[str, int] = {"permutations": 20, "bootstrap": 5, "contested": 2}
NAMES = [
    *("raters", "items", "answers", "agreement", "chance", "distance", "gold", "labels", "contested"),
    *("vetting", "filter"),
]


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return Ratings.from_frame(simulate_frame(3))


def quick(ratings: Ratings, **options: object) -> Report:
    return build(ratings, **{**QUICK, **options})  # type: ignore[arg-type]


def absent(report: Report) -> dict[str, str]:
    """Return the reasons of each incomplete section, in one text."""
    return {section.name: " ".join(section.absent) for section in report.sections if section.absent}


def assert_useful(report: Report) -> None:
    """Check that every section has parts or a reason, and that no sentence has a raw missing value."""
    assert [section.name for section in report.sections] == NAMES
    assert all(section.parts or section.absent for section in report.sections)
    sentences = [part.reading for part in report.parts] + [item.figure.reading for item in report.items]
    sentences += [*report.notes, report.summary, *(size.value for size in report.sizes), *absent(report).values()]
    assert not any(re.search(r"(?<!')\b(nan|NaN|None(?! of)|inf|null)\b", text) for text in sentences)
    assert report.to_html().endswith("</html>\n")


def test_a_complete_campaign_has_every_section() -> None:
    report = quick(simulate(preset("dices-350"), seed=0).ratings("all"), by=["race", "gender"])
    assert all(section.parts for section in report.sections)
    assert absent(report) == {}


def test_numbers_are_those_of_the_analysis(ratings: Ratings) -> None:
    report = quick(ratings, by="race")
    expected = analyse(ratings, by="race", permutations=20, bootstrap=5, differences=True)
    assert report["agreement-race"].table is not None
    assert report.analysis.to_json() == expected.to_json()
    sizes = {size.name: size.value for size in report.sizes}
    irr = next(row.estimate for row in expected.overall if row.metric == "irr")
    assert (sizes["items"], sizes["raters"], sizes["ratings"], sizes["ratings an item"]) == ("30", "24", "720", "24")
    assert sizes["alpha of everybody"] == f"{irr:.3f}".lstrip("0")


@pytest.mark.slow
def test_the_same_seed_gives_the_same_page(ratings: Ratings) -> None:
    first, other_seed = (quick(ratings, by="race", seed=seed) for seed in (1, 2))
    # Figures drawn beside the analysis are those drawn after it.
    with open_drawing_process() as drawing:
        same_seed = quick(ratings, by="race", seed=1, drawing=drawing)
        assert first.to_html() == same_seed.to_html()
    assert first.analysis.to_json() != other_seed.analysis.to_json()


def test_parts_have_names(ratings: Ratings) -> None:
    report = quick(ratings, by="race")
    assert report["answers-race"].title == "Answers by race"
    assert report["groups"].title == "All statistics of all groups"
    with pytest.raises(KeyError, match=r"no part is called 'answers-rase'; there are .*answers-race"):
        report["answers-rase"]


def test_default_axes_divide_raters() -> None:
    frame = simulate_frame(3).with_columns(
        rater_country=pl.lit("NZ"),
        rater_code=pl.col("rater_id"),
        rater_unknown=pl.lit(None, dtype=pl.String),
        rater_sex=pl.col("rater_gender").str.slice(0, 1),
    )
    report = quick(Ratings.from_frame(frame))
    assert report.analysis.settings.axes == ("rater_race", "rater_gender")
    assert set(report.sections[0].absent) == {
        "rater_country: everybody whose value is known has the same.",
        "rater_code: 24 values are too many to compare by default; ask for it with --by rater_code.",
        "rater_unknown: unknown for all raters.",
        "rater_sex: it groups raters as rater_gender does; ask for it with --by rater_sex.",
    }
    assert quick(Ratings.from_frame(frame), by=[]).analysis.settings.axes == ()


def test_without_raters_there_are_no_groups() -> None:
    frame = simulate_frame(3).drop("rater_id", "rater_race", "rater_gender")
    report = quick(Ratings.from_frame(frame, rater=None))
    assert_useful(report)
    reasons = absent(report)
    for name in ("raters", "answers", "agreement", "chance", "distance", "vetting", "filter"):
        assert reasons[name].startswith("The ratings were read without raters")
    assert {figure.name for figure in report.figures} == {"answers", "soft-labels", "entropy"}


def test_missing_columns_are_named(ratings: Ratings) -> None:
    reasons = absent(quick(ratings))
    assert reasons["gold"].startswith("The items have no 'safety_gold'. Items have no attributes.")
    assert "Items have no harm_type" in reasons["items"]
    assert reasons["filter"].startswith("The file flags no rater and none meets a criterion")
    assert reasons["contested"].startswith("The texts of the items are not read")
    assert absent(quick(ratings, permutations=0))["chance"].startswith("There are no permutations")
    assert absent(quick(ratings, contested=0))["contested"].startswith("No items were requested")
    timeless = quick(ratings)["vetting"]
    assert any("there are no times" in note for note in timeless.notes)


def test_without_attributes_the_whole_pool_is_shown() -> None:
    report = quick(ratings_of({"a": "NYNU", "b": "NYYN", "c": "YYNN"}, {}))
    assert_useful(report)
    assert absent(report)["answers"] == "No attribute of raters is in the file."
    assert report["answers"].table is not None


MINIMAL_FILES = {
    "one rating": ratings_of({"a": "N"}, {}),
    "one rater": ratings_of({"a": "NYNU"}, {"rater_x": ["p"]}),
    "one item": ratings_of({"a": "N", "b": "Y", "c": "N", "d": "Y"}, {"rater_x": ["p", "p", "q", "q"]}),
    "one answer": ratings_of({"a": "NN", "b": "NN", "c": "NN"}, {"rater_x": ["p", "p", "q"]}),
    "one category": Ratings.from_frame(simulate_frame(3).with_columns(Q_overall=pl.lit("No")), categories=["No"]),
    "no common item": ratings_of({"a": "NY..", "b": "..YN"}, {"rater_x": ["p", "q"]}),
    "all flagged": Ratings.from_frame(simulate_frame(3, n_items=5).with_columns(rater_flagged=pl.lit(True))),
    "none flagged": Ratings.from_frame(simulate_frame(3, n_items=5).with_columns(rater_flagged=pl.lit(False))),
}


@pytest.mark.parametrize("name", MINIMAL_FILES)
def test_minimal_files_have_a_useful_report(name: str) -> None:
    assert_useful(quick(MINIMAL_FILES[name]))


def test_reasons_for_minimal_files() -> None:
    reasons = {name: absent(quick(ratings)) for name, ratings in MINIMAL_FILES.items()}
    assert reasons["one rater"]["answers"] == "rater_x: everybody whose value is known has the same."
    assert reasons["one answer"]["contested"] == "On no item do answers differ."
    assert reasons["no common item"]["distance"] == "No item was rated by two groups of rater_x."
    assert reasons["all flagged"]["filter"].startswith("The filter removes every rater")
    assert reasons["none flagged"]["filter"].startswith("The file flags no rater")


def test_options_that_leave_no_ratings_are_refused() -> None:
    with pytest.raises(InvalidInput, match="Every rater is flagged"):
        quick(MINIMAL_FILES["all flagged"], exclude_flagged=True)
    with pytest.raises(InvalidInput, match="unknown which raters are flagged"):
        quick(MINIMAL_FILES["one item"], exclude_flagged=True)
    for option in ("suppress_below", "min_raters", "contested"):
        with pytest.raises(InvalidInput, match=f"{option} is -1"):
            quick(MINIMAL_FILES["one item"], **{option: -1})


def test_excluded_raters_remain_in_counts_and_audit() -> None:
    frame = simulate_frame(3, n_items=12)
    flagged = Ratings.from_frame(frame.with_columns(rater_flagged=pl.col("rater_id") < "rater-004"))
    without_flagged, with_flagged = (quick(flagged, by="race", exclude_flagged=exclude) for exclude in (True, False))
    assert [report["answers-race"].table["n_ratings"][0] for report in (without_flagged, with_flagged)] == [240, 288]  # type: ignore[index]
    assert without_flagged["dataset"].table.equals(with_flagged["dataset"].table)  # type: ignore[union-attr, arg-type]
    assert without_flagged["removal"].reading.startswith("4 of 24 raters are flagged in the file")
    assert any(note.startswith("4 flagged raters take part; --exclude-flagged") for note in with_flagged.notes)
    one_flagged = quick(Ratings.from_frame(frame.with_columns(rater_flagged=pl.col("rater_id") == "rater-001")))
    assert any(note.startswith("1 flagged rater takes part; --exclude-flagged") for note in one_flagged.notes)


@pytest.mark.slow
def test_suppressed_groups_are_not_in_the_page() -> None:
    """A group of six is hidden with one of three, which could be computed from it."""
    frame = simulate_frame(3, n_raters=29, sizes=(20, 6, 3)).with_columns(
        rater_race=pl.col("rater_race").replace({"Black": "Zaphodian", "White": "Vogonian"}),
        rater_flagged=pl.col("rater_id") > "rater-026",
        safety_gold=pl.lit("Yes"),
    )
    frame = frame.with_columns(
        rater_race=pl.when(pl.col("rater_id") < "rater-009")
        .then(pl.lit("Asian"))
        .otherwise(pl.when(pl.col("rater_id") < "rater-020").then(pl.lit("Betan")).otherwise(pl.col("rater_race")))
    )
    ratings = Ratings.from_frame(frame)
    unsuppressed = build(ratings, cross="race*gender", **QUICK)  # type: ignore[arg-type]
    assert any("Vogonian" in part.table.write_json() for part in unsuppressed.parts if part.table is not None)
    report = build(ratings, cross="race*gender", suppress_below=5, command="made", **QUICK)  # type: ignore[arg-type]
    page = report.to_html()
    assert "Asian" in page
    assert "Vogonian" not in page
    assert "Zaphodian" not in page
    tables = [part.table for part in report.parts if part.table is not None]
    assert not any("Vogonian" in table.write_json() for table in tables)
    assert "2 groups of race left out: fewer than 5 raters, or others could be computed from them." in page


def test_suppression_leaves_out_dsi(ratings: Ratings) -> None:
    unsuppressed, suppressed = (quick(ratings, by=[], cross="race*gender", suppress_below=below) for below in (0, 4))
    captions = [[grid.caption for grid in report["groups"].grids] for report in (unsuppressed, suppressed)]  # type: ignore[union-attr]
    assert captions[0][2].startswith("DSI ")
    assert captions[1] == ["", "", "", ""]
    assert "dsi" not in suppressed["groups"].table.drop_nulls("axis")["metric"].to_list()  # type: ignore[union-attr]
    assert "Adjusted over all tests, those of groups left out too." in suppressed["groups"].notes


def test_a_suppressed_group_cannot_be_the_reference() -> None:
    ratings = Ratings.from_frame(simulate_frame(3, n_raters=29, sizes=(20, 6, 3)))
    assert "race against White" in quick(ratings, by="race", against="White").to_html()
    with pytest.raises(InvalidInput, match="White cannot be compared with: it has fewer than 5 raters"):
        quick(ratings, by="race", against="White", suppress_below=5)


def test_a_completely_flagged_group_is_counted() -> None:
    frame = simulate_frame(3, n_items=8).with_columns(rater_flagged=pl.col("rater_race") == "White")
    report = quick(Ratings.from_frame(frame), by="race", exclude_flagged=True)
    counts = {group: (n, n_unflagged) for _, group, n, n_unflagged in report["pool"].table.rows()}  # type: ignore[union-attr]
    assert counts == {"Asian": (10, 10), "Black": (8, 8), "White": (6, 0)}
    assert "from 0 % (Asian) to 100 % (White)" in report["removal"].reading
    assert "White" not in report["answers-race"].table["group"]  # type: ignore[index]


def test_an_unapplied_filter_is_worded_as_hypothetical() -> None:
    ratings = simulate(preset("dices-350"), seed=0).ratings("all")
    unflagged = replace(ratings, raters=ratings.raters.drop("rater_flagged"))
    assert "would be removed, since they meet a criterion" in quick(unflagged, by="gender")["removal"].reading


def test_platinum_labels_are_compared_with_gold() -> None:
    ratings = simulate(preset("dices-350"), seed=0).ratings()
    platinum = pl.Series("safety_platinum", [("No", "Yes", None)[n % 3] for n in range(ratings.n_items)], pl.String)
    report = quick(replace(ratings, items=ratings.items.with_columns(platinum)), by="race")
    table = report["gold-safety-platinum"].table
    assert table is not None
    assert table["group"].to_list() == ["everybody", "No", "Yes"]
    assert table["n_items"].to_list()[1:] == [117, 117]
    platinum_only = replace(
        ratings, items=ratings.items.with_columns(platinum).with_columns(safety_gold=pl.lit(None, pl.String))
    )
    assert "gold" in absent(quick(platinum_only, by="race"))


@pytest.mark.slow
def test_the_unsafe_answer_can_be_named() -> None:
    words = {"No": "fine", "Unsure": "odd", "Yes": "cruel"}
    frame = simulate_frame(3, n_items=8).with_columns(pl.col("Q_overall").replace(words), safety_gold=pl.lit("cruel"))
    ratings = Ratings.from_frame(frame, categories=["cruel", "odd", "fine"])
    assert absent(quick(ratings, by="race"))["gold"].startswith("'Yes' is not an answer to Q_overall")
    assert "Unsafe: cruel; safe: odd, fine." in quick(ratings, by="race", unsafe="cruel").to_html()
    with pytest.raises(InvalidInput, match="'nasty' is not an answer"):
        quick(ratings, by="race", unsafe="nasty")
    without_gold = replace(ratings, items=ratings.items.drop("safety_gold"))
    assert "have no 'safety_gold'" in absent(quick(without_gold, by="race", unsafe=["cruel", "odd"]))["gold"]


def test_methods_are_those_of_the_sections_shown(ratings: Ratings) -> None:
    names = {method.name for method in quick(ratings).methods}
    assert {"XRR", "Intervals", "Permutation p-value", "Distance between groups", "Entropy of an item"} <= names
    assert not {"Experts against the crowd", "Removal by a filter"} & names
    method_names = {method.name for method in quick(ratings, by=[], permutations=0, bootstrap=0).methods}
    assert "IRR, Krippendorff's alpha" in method_names
    assert not {"XRR", "Intervals", "Permutation p-value", "Distance between groups"} & method_names


@pytest.mark.slow
def test_the_call_makes_the_same_page(ratings: Ratings) -> None:
    report = quick(ratings, by="race", cross="race*gender", title="A 'title'", text=False, min_raters=7, seed=3)
    import dissensus

    evaluated: Report = eval(report.command, {"dissensus": dissensus, "ratings": ratings})
    assert evaluated.to_html() == report.to_html()


def test_if_every_group_is_suppressed_the_pool_is_shown(ratings: Ratings) -> None:
    report = quick(ratings, suppress_below=100)
    assert_useful(report)
    assert (
        "rater_race: fewer than two groups have 100 raters or more and reveal no other group."
        in absent(report)["answers"]
    )
    assert "White" not in report.to_html()


@pytest.mark.slow
def test_two_hundred_groups() -> None:
    answers = {f"r{r:03}": "NYNYYN"[r % 3 :] + "NUY"[: r % 3] for r in range(400)}
    ratings = ratings_of(answers, {"rater_town": [f"town {r % 200:03}" for r in range(400)]})
    assert "too many to compare by default" in absent(quick(ratings))["answers"]
    report = quick(ratings, by="town", permutations=5, bootstrap=2)
    assert_useful(report)
    assert absent(report)["distance"] == "rater_town: 200 groups are too many to compare two by two."
    assert report["answers-town"].table.height == 201  # type: ignore[union-attr]
    assert any("The figure shows the 24 largest of 200 groups" in note for note in report["answers-town"].notes)
    assert len(report.to_html().encode()) < 5_000_000


@pytest.mark.slow
def test_a_hundred_thousand_items() -> None:
    n = 100_000
    answers = pl.Series(["No", "Yes", "No", "Unsure", "No", "Yes", "Yes"] * (3 * n // 7 + 1)).head(3 * n)
    ids = {"item_id": [f"{i:06}" for i in range(n)] * 3, "rater_id": ["a"] * n + ["b"] * n + ["c"] * n}
    frame = pl.DataFrame(ids).with_columns(Q_overall=answers)
    report = build(Ratings.from_frame(frame), permutations=0, bootstrap=0)
    assert len(report.items) == 10
    assert len(report.to_html().encode()) < 1_000_000


@pytest.mark.slow
def test_hostile_names_give_a_valid_report() -> None:
    report = quick(hostile(2), by=["datum.value"], cross=["datum.value*العمر"])
    assert_useful(report)


def test_figures_of_an_analysis(ratings: Ratings) -> None:
    analysis = analyse(ratings, by=["race", "gender"], permutations=20)
    assert [figure.name for figure in list_figures(analysis)] == [
        *("agreement-race", "agreement-gender", "null-race", "null-gender")
    ]
    assert list_figures(analyse(ratings)) == ()


def test_progress_rises_to_one(ratings: Ratings) -> None:
    shares: list[float] = []
    build(ratings, by="race", permutations=20, bootstrap=0, contested=0, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
