"""The report of red-team attempts: its figures beside the numbers, and what it keeps folded."""

from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tests.report.attempts import attempts_with, drawn, reviewed
from tests.report.hostile import NAMES
from tests.report.simulated import fits, texts

from dissensus.pipeline.analyse.attempts import AttemptAnalysis, analyse_attempts, attempt_map
from dissensus.report.attempts import NO_REVIEWS, NO_TEXTS, attempts_report
from dissensus.report.disclosure import Disclosure
from dissensus.report.figure import Figure
from dissensus.report.result import Document
from dissensus.schema.records.attempt import Attempt


@pytest.fixture(scope="module")
def attempts() -> list[Attempt]:
    return drawn()


@pytest.fixture(scope="module")
def found(attempts: list[Attempt]) -> AttemptAnalysis:
    return analyse_attempts(attempts, reviews=reviewed(attempts), bootstrap=40)


@pytest.fixture(scope="module")
def report(attempts: list[Attempt], found: AttemptAnalysis) -> Document:
    return attempts_report(attempts, found, attempt_map(attempts, regions=5, bootstrap=40))


def figure(report: Document, name: str) -> Figure:
    part = report[name]
    assert isinstance(part, Figure)
    return part


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
    good = Counter((attempt.model_type, attempt.num_params) for attempt in attempts if attempt.succeeded)
    every = Counter((attempt.model_type, attempt.num_params) for attempt in attempts)
    for (kind, size), n in every.items():
        name = f"{kind}: {size}\n{n} by {_members(attempts, kind, size)}"
        row = table.row(by_predicate=pl.col("part") == name, named=True)
        assert row["success"] == pytest.approx(good[kind, size] / n)
        assert row["n_attempts"] == n
    said = texts(figure(report, "success"))
    assert {"plain lm", "context distillation", "rejection sampling", "rlhf", "all types", "2.7B"} <= set(said)


def _members(attempts: list[Attempt], kind: str, size: str | None) -> int:
    here = [attempt for attempt in attempts if (attempt.model_type, attempt.num_params) == (kind, size)]
    return len({attempt.red_team_member_id for attempt in here})


def test_scores_have_their_quantiles(report: Document, attempts: list[Attempt]) -> None:
    first = figure(report, "harmlessness").table.row(0, named=True)
    scores = np.array([attempt.min_harmlessness_score_transcript for attempt in attempts], dtype=np.float64)
    assert first["mean"] == pytest.approx(scores.mean())
    quantiles = [first[name] for name in ("5_%", "25_%", "median", "75_%", "95_%")]
    assert quantiles == pytest.approx(np.quantile(scores, [0.05, 0.25, 0.5, 0.75, 0.95]).tolist())


def test_ratings_stand_beside_scores_and_reviewers(report: Document, attempts: list[Attempt]) -> None:
    table = figure(report, "rating-and-harmlessness").table
    for rating in range(5):
        scores = [one.min_harmlessness_score_transcript or 0 for one in attempts if one.rating == rating]
        assert table["mean"][rating] == pytest.approx(np.mean(scores))
    means = figure(report, "rating-and-reviewers").table["mean"].to_list()
    assert means == sorted(means)
    assert report["agreement"].reading == "600 reviews of 200 attempts by 3 reviewers."


def test_the_curve_names_those_who_made_most(report: Document, attempts: list[Attempt]) -> None:
    counts = sorted(Counter(attempt.red_team_member_id for attempt in attempts).values(), reverse=True)
    part = figure(report, "concentration")
    k = next(k for k in range(61) if sum(counts[:k]) >= 0.8 * len(attempts))
    assert part.reading.startswith(f"{k} of 60 red-teamers made 80 % of the attempts")
    five = part.table.row(by_predicate=pl.col("busiest") == 5, named=True)
    assert five["share of attempts"] == pytest.approx(sum(counts[:5]) / len(attempts))


def test_tags_stand_beside_those_of_successes(report: Document, found: AttemptAnalysis) -> None:
    table = figure(report, "tags").table
    assert table.height == 2 * len(found.tags)
    assert table["share"].to_list() == [
        of.estimate for tag in found.tags for of in (tag.share, tag.share_of_successful)
    ]


def test_coefficients_are_those_of_the_model(report: Document, found: AttemptAnalysis) -> None:
    for model, name in zip(found.models, ("least-harmlessness-score", "rating-of-the-red-teamer"), strict=True):
        table = figure(report, f"model-{name}").table
        assert table["term"].to_list() == [term.name for term in model.terms]
        assert table["estimate"].to_list() == [term.estimate for term in model.terms]


def test_the_map_draws_attempts_by_chance_where_there_are_many(attempts: list[Attempt]) -> None:
    from dissensus.report.figures import attempt_map as module

    laid_out = attempt_map(attempts, regions=5, bootstrap=0)
    part = module.attempt_map(laid_out)
    assert part.table.height == len(attempts) < module.MOST
    went = Counter(part.table["went"])
    assert went[module.SUCCEEDED] == sum(attempt.succeeded is True for attempt in attempts)
    assert {"1", "2", "3", "4", "5"} <= set(texts(part))
    many = attempt_map([*attempts, *attempts], regions=5, bootstrap=0)
    one, again, other = (module.attempt_map(many, seed=seed) for seed in (1, 1, 2))
    assert one.table.height == module.MOST
    assert one.table.equals(again.table)
    assert not one.table.equals(other.table)
    assert f"Drawn are 1,500 of {2 * len(attempts):,} attempts, by chance." in one.notes


def test_texts_are_there_when_asked_for_alone_and_folded(attempts: list[Attempt], found: AttemptAnalysis) -> None:
    secret = "a text that nobody should meet by chance"
    told = [replace(attempt, transcript=f"\n\nHuman: {secret}\n\nAssistant: No.") for attempt in attempts]
    laid_out = attempt_map(told, regions=5, bootstrap=0)
    careful = attempts_report(told, found, laid_out)
    assert secret not in careful.to_html()
    assert NO_TEXTS in careful.sections[-1].absent
    page = attempts_report(told, found, laid_out, text=True).to_html()
    assert page.count(f"Human: {secret}") == 15
    folds = page.split('<details class="text">')[1:]
    assert sum(fold.split("</details>")[0].count(secret) for fold in folds) == 15
    assert all("Content warning" in fold for fold in folds)
    assert "<details open" not in page
    words = careful.sections[-1].parts[2]
    assert isinstance(words, Disclosure)
    assert len(words.grids[0].lines) == 5


def test_names_break_nothing() -> None:
    page = attempts_with(NAMES).to_html()
    assert "<script" not in page
    assert "<img" not in page
    assert "\u202e" not in page
    few = attempts_with(NAMES[:3])
    assert all(fits(part) for part in few.figures)


def test_what_is_not_known_is_left_out_with_the_reason(attempts: list[Attempt]) -> None:
    bare = [
        replace(attempt, rating=None, min_harmlessness_score_transcript=None, tags=None, num_params=None)
        for attempt in attempts[:20]
    ]
    report = attempts_report(bare, analyse_attempts(bare, bootstrap=0), "20 attempts are too few for a map.")
    absent = {section.name: " ".join(section.absent) for section in report.sections}
    assert "Nothing is known of how many attempts succeed" in absent["success"]
    assert "Nothing is known of how many attempts have a harmlessness score" in absent["harmlessness"]
    assert "No attempt has both a rating and least harmlessness." in absent["harmlessness"]
    assert "No attempt has a tag" in absent["tags"]
    assert absent["models"].count("It is not known of any attempt.") == 2
    assert absent["reviewers"] == NO_REVIEWS
    assert absent["map"] == "20 attempts are too few for a map."
    page = report.to_html()
    assert "nan" not in page.lower().replace("nano", "")
    assert "size not known" in page


def test_rows_without_an_interval_say_why(attempts: list[Attempt]) -> None:
    few = [replace(attempt, red_team_member_id=number % 5) for number, attempt in enumerate(attempts[:100])]
    report = attempts_report(few, analyse_attempts(few, bootstrap=20), "none")
    notes = " ".join(figure(report, "success").notes)
    assert "all sizes: no interval: as few as 5.0 effective red-teamers, and 10 are needed." in notes
    assert "more rows have no interval" in notes
