"""Report of red-team attempts: figures, numbers and folded texts."""

import re
from collections import Counter
from dataclasses import replace
from importlib.resources import files

import numpy as np
import polars as pl
import pytest
from tests.report.attempts import attempts_with, draw_attempts, draw_reviews
from tests.report.hostile import NAMES, TURNED
from tests.report.svg import fits, texts

from dissensus.pipeline.analyse.attempts import AttemptAnalysis, analyse_attempts, attempt_map
from dissensus.report.attempts import NO_REVIEWS, NO_TEXTS, attempts_report
from dissensus.report.figure import Figure
from dissensus.report.result import Document
from dissensus.report.tables import Disclosure
from dissensus.schema.records.attempt import Attempt
from dissensus.web.core.campaign_tabs import TABS


@pytest.fixture(scope="module")
def attempts() -> list[Attempt]:
    return draw_attempts()


@pytest.fixture(scope="module")
def analysis(attempts: list[Attempt]) -> AttemptAnalysis:
    return analyse_attempts(attempts, reviews=draw_reviews(attempts), bootstrap=40)


@pytest.fixture(scope="module")
def report(attempts: list[Attempt], analysis: AttemptAnalysis) -> Document:
    return attempts_report(attempts, analysis, attempt_map(attempts, regions=5, bootstrap=40))


def figure(report: Document, name: str) -> Figure:
    part = report[name]
    assert isinstance(part, Figure)
    return part


def test_a_report_without_small_groups_shows_no_single_red_teamer(
    attempts: list[Attempt], analysis: AttemptAnalysis
) -> None:
    shown = attempts_report(attempts, analysis, "no map", suppress_below=5)
    (people,) = (section for section in shown.sections if section.name == "people")
    assert (people.parts, "single red-teamers" in people.absent[0]) == ((), True)


def test_every_section_has_its_figures_and_they_fit(report: Document) -> None:
    assert [section.name for section in report.sections] == [
        "attempts",
        "success",
        "harmlessness",
        "people",
        "models",
        "tags",
        "reviewers",
        "map",
    ]
    assert {part.name for part in report.parts} == {
        "attempts-by-model",
        "success",
        "harmlessness",
        "rating-and-harmlessness",
        "concentration",
        "model-least-harmlessness-score",
        "model-rating-of-the-red-teamer",
        "tags",
        "agreement",
        "reviewers-success",
        "rating-and-reviewers",
        "map",
        "regions",
    }
    assert all(fits(part) for part in report.figures)


def test_success_is_drawn_by_type_and_size(report: Document, attempts: list[Attempt]) -> None:
    table = figure(report, "success").table
    successes = Counter((attempt.model_type, attempt.num_params) for attempt in attempts if attempt.succeeded)
    totals = Counter((attempt.model_type, attempt.num_params) for attempt in attempts)
    for (kind, size), n in totals.items():
        name = f"{kind}: {size}\n{n} by {_members(attempts, kind, size)}"
        row = table.row(by_predicate=pl.col("part") == name, named=True)
        assert row["success"] == pytest.approx(successes[kind, size] / n)
        assert row["n_attempts"] == n
    labels = texts(figure(report, "success"))
    assert {"plain lm", "context distillation", "rejection sampling", "rlhf", "all types", "2.7B"} <= set(labels)


def _members(attempts: list[Attempt], kind: str, size: str | None) -> int:
    of_model = [attempt for attempt in attempts if (attempt.model_type, attempt.num_params) == (kind, size)]
    return len({attempt.red_team_member_id for attempt in of_model})


def test_scores_have_their_quantiles(report: Document, attempts: list[Attempt]) -> None:
    first = figure(report, "harmlessness").table.row(0, named=True)
    scores = np.array([attempt.min_harmlessness_score_transcript for attempt in attempts], dtype=np.float64)
    assert first["mean"] == pytest.approx(scores.mean())
    quantiles = [first[name] for name in ("5_%", "25_%", "median", "75_%", "95_%")]
    assert quantiles == pytest.approx(np.quantile(scores, [0.05, 0.25, 0.5, 0.75, 0.95]).tolist())


def test_mean_scores_by_rating_are_those_of_the_attempts(report: Document, attempts: list[Attempt]) -> None:
    table = figure(report, "rating-and-harmlessness").table
    for rating in range(5):
        scores = [one.min_harmlessness_score_transcript or 0 for one in attempts if one.rating == rating]
        assert table["mean"][rating] == pytest.approx(np.mean(scores))
    means = figure(report, "rating-and-reviewers").table["mean"].to_list()
    assert means == sorted(means)
    assert report["agreement"].reading == "600 reviews of 200 attempts by 3 reviewers."


def test_the_concentration_curve_is_that_of_the_attempts(report: Document, attempts: list[Attempt]) -> None:
    counts = sorted(Counter(attempt.red_team_member_id for attempt in attempts).values(), reverse=True)
    part = figure(report, "concentration")
    k = next(k for k in range(61) if sum(counts[:k]) >= 0.8 * len(attempts))
    assert part.reading.startswith(f"{k} of 60 red-teamers made 80 % of the attempts")
    five = part.table.row(by_predicate=pl.col("busiest") == 5, named=True)
    assert five["share of attempts"] == pytest.approx(sum(counts[:5]) / len(attempts))


def test_tags_show_both_shares(report: Document, analysis: AttemptAnalysis) -> None:
    table = figure(report, "tags").table
    assert table.height == 2 * len(analysis.tags)
    assert table["share"].to_list() == [
        share.estimate for tag in analysis.tags for share in (tag.share, tag.share_of_successful)
    ]


def test_coefficients_are_those_of_the_model(report: Document, analysis: AttemptAnalysis) -> None:
    for model, name in zip(analysis.models, ("least-harmlessness-score", "rating-of-the-red-teamer"), strict=True):
        table = figure(report, f"model-{name}").table
        assert table["term"].to_list() == [term.name for term in model.terms]
        assert table["estimate"].to_list() == [term.estimate for term in model.terms]


def test_the_map_samples_many_attempts_by_seed(attempts: list[Attempt]) -> None:
    from dissensus.report.figures import attempt_map as module

    layout = attempt_map(attempts, regions=5, bootstrap=0)
    part = module.attempt_map(layout)
    assert part.table.height == len(attempts) < module.MOST
    outcomes = Counter(part.table["went"])
    assert outcomes[module.SUCCEEDED] == sum(attempt.succeeded is True for attempt in attempts)
    assert {"1", "2", "3", "4", "5"} <= set(texts(part))
    doubled = attempt_map([*attempts, *attempts], regions=5, bootstrap=0)
    first, same_seed, other_seed = (module.attempt_map(doubled, seed=seed) for seed in (1, 1, 2))
    assert first.table.height == module.MOST
    assert first.table.equals(same_seed.table)
    assert not first.table.equals(other_seed.table)
    assert f"The map shows 1,500 of {2 * len(attempts):,} attempts, at random." in first.notes


def test_texts_are_folded_and_only_there_on_request(attempts: list[Attempt], analysis: AttemptAnalysis) -> None:
    secret = "a text that nobody should meet by chance"
    with_secret = [replace(attempt, transcript=f"\n\nHuman: {secret}\n\nAssistant: No.") for attempt in attempts]
    layout = attempt_map(with_secret, regions=5, bootstrap=0)
    careful = attempts_report(with_secret, analysis, layout)
    assert secret not in careful.to_html()
    assert NO_TEXTS in careful.sections[-1].absent
    page = attempts_report(with_secret, analysis, layout, text=True).to_html()
    assert page.count(f"Human: {secret}") == 15
    folds = page.split('<details class="text">')[1:]
    assert sum(fold.split("</details>")[0].count(secret) for fold in folds) == 15
    assert all("Content warning" in fold for fold in folds)
    assert "<details open" not in page
    words = careful.sections[-1].parts[2]
    assert isinstance(words, Disclosure)
    assert len(words.grids[0].lines) == 5


def test_headings_of_folded_texts_say_what_is_unknown(attempts: list[Attempt], analysis: AttemptAnalysis) -> None:
    unknown = [replace(attempt, num_params=None) for attempt in attempts]
    page = attempts_report(unknown, analysis, attempt_map(unknown, regions=5, bootstrap=0), text=True).to_html()
    assert page.count(", size not known, ") == 15
    assert ", None, " not in page


def test_hostile_names_are_escaped() -> None:
    report = attempts_with((*NAMES[:3], TURNED))
    page = report.to_html()
    assert "<script" not in page
    assert "<img" not in page
    assert "\u202e" not in page
    assert all(fits(part) for part in report.figures)


def test_missing_fields_leave_out_sections_with_reasons(attempts: list[Attempt]) -> None:
    incomplete = [
        replace(attempt, rating=None, min_harmlessness_score_transcript=None, tags=None, num_params=None)
        for attempt in attempts[:20]
    ]
    report = attempts_report(
        incomplete, analyse_attempts(incomplete, bootstrap=0), "20 attempts are too few for a map."
    )
    absent = {section.name: " ".join(section.absent) for section in report.sections}
    assert "It is unknown how many attempts succeed" in absent["success"]
    assert "No attempt has a harmlessness score." in absent["harmlessness"]
    assert "No attempt has both a rating and least harmlessness." in absent["harmlessness"]
    assert "No attempt has a tag" in absent["tags"]
    assert absent["models"].count("It is unknown for all attempts.") == 2
    assert absent["reviewers"] == NO_REVIEWS
    assert absent["map"] == "20 attempts are too few for a map."
    page = report.to_html()
    assert "nan" not in page.lower().replace("nano", "")
    assert "size not known" in page


def test_advice_on_the_site_names_what_its_pages_show() -> None:
    campaign = files("dissensus.web").joinpath("templates/staff/campaigns-detail.html").read_text("utf-8")
    assert re.findall('"(.+)"', NO_REVIEWS.site) == re.findall(r">(Draw a sample)</button>", campaign)
    (tab,) = re.findall('"(.+)"', NO_TEXTS.site)
    assert tab in {known.label for known in TABS}


def test_missing_intervals_have_a_reason(attempts: list[Attempt]) -> None:
    subset = [replace(attempt, red_team_member_id=number % 5) for number, attempt in enumerate(attempts[:100])]
    report = attempts_report(subset, analyse_attempts(subset, bootstrap=20), "none")
    notes = " ".join(figure(report, "success").notes)
    assert "all sizes: no interval: 5.0 effective red-teamers, and 10 are needed." in notes
    assert "more rows have no interval" in notes
