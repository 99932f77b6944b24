"""Reports in a browser: in both themes, wide, on a phone and on paper."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext
from tests.browser.page import DESKTOP, View, look
from tests.preference.pairs import simulate_pairs
from tests.report.attempts import attempts_with
from tests.report.hostile import AXES, NAMES, hostile

from dissensus.files.ratings.reader import read_ratings
from dissensus.pipeline.simulate import preset, simulate
from dissensus.pipeline.tables import Grid
from dissensus.preference.evaluation.accuracy import evaluate
from dissensus.preference.evaluation.paired import RivalModel, compare_models
from dissensus.report.builder import build
from dissensus.report.evaluation import evaluation_report
from dissensus.report.result import Document, Report
from dissensus.report.sections import Section
from dissensus.report.tables import ReportTable

# The narrowest phone that the guidelines for accessible pages ask for, and A4 without the margins of a report.
NARROWEST, ON_PAPER = 320, 680
REPORTS = ("dices", "campaign", "tricky", "preference", "attempts")
Save = Callable[[str, Document], Path]
BROKEN_WORDS = """[...document.querySelectorAll('tbody th, tbody td:first-child')].map(cell => {
    const text = cell.firstChild, range = document.createRange()
    return [...text.data.matchAll(/\\S+/g)].filter(word => {
        range.setStart(text, word.index)
        range.setEnd(text, word.index + word[0].length)
        return new Set([...range.getClientRects()].map(part => Math.round(part.top))).size > 1
    }).map(word => word[0])
})"""
OPEN = "document.querySelectorAll('details').forEach(folded => { folded.open = true })"


@pytest.fixture(scope="module")
def dices(real_data: Callable[[str], Path]) -> Report:
    """A report with all sections that DICES-350 supports."""
    ratings = read_ratings(real_data("dices-350/ratings.csv"), items=real_data("dices-350/items.csv"), questions="all")
    return build(ratings, by=["gender", "race"], permutations=50, bootstrap=20, contested=2)


@pytest.fixture(scope="module")
def campaign() -> Report:
    """A campaign with all questions, times and flags."""
    ratings = simulate(preset("dices-350"), seed=0).ratings("all")
    return build(ratings, by="age", cross="age*gender", permutations=50, bootstrap=20, contested=1)


@pytest.fixture(scope="module")
def tricky() -> Report:
    """A report with names that contain markup."""
    return build(
        hostile(),
        by=AXES[::2],
        permutations=20,
        bootstrap=5,
        contested=2,
        title=f"{NAMES[0]} {NAMES[10]}",
        command="dissensus report 'a b.csv' --title '<script>'",
    )


@pytest.fixture(scope="module")
def preference() -> Document:
    """Two models on pairs of several groups, strengths and tranches."""
    pairs, odds = simulate_pairs(400)
    comparisons = [
        replace(pair, strength=n % 4, group=NAMES[n % 3], tranche=("helpful-base", "helpful-online")[n % 2])
        for n, pair in enumerate(pairs)
    ]
    noise = [one * (1 if n % 3 else -1) for n, one in enumerate(odds)]
    evaluation, other = (evaluate(comparisons, margins, [0.1] * 400) for margins in (odds, noise))
    rival = RivalModel(name=NAMES[10], evaluation=other, difference=compare_models(comparisons, odds, noise))
    return evaluation_report(
        evaluation, model=NAMES[0], rival=rival, command="dissensus preference evaluate pairs.jsonl"
    )


@pytest.fixture(scope="module")
def attempts() -> Document:
    """Attempts with texts, reviews, and names of models that contain markup."""
    return attempts_with(NAMES[:3])


@pytest.fixture(scope="module")
def save_report(tmp_path_factory: pytest.TempPathFactory) -> Save:
    """Write the page of a report, once."""
    folder = tmp_path_factory.mktemp("reports")

    def save(name: str, report: Document) -> Path:
        path = folder / f"{name}.html"
        if not path.exists():
            report.save(path)
        return path

    return save


@pytest.fixture(params=REPORTS)
def page(request: pytest.FixtureRequest, save_report: Save) -> Path:
    """The page of each report."""
    return save_report(request.param, request.getfixturevalue(request.param))


def assert_sound(view: View) -> None:
    assert view.overflowing() == []
    assert view.overlapping() == []
    assert view.faint() == []
    assert view.requests == []
    assert view.errors == []


def test_wide_pages_in_both_themes(context: BrowserContext, page: Path) -> None:
    view = look(context, page, width=DESKTOP)
    view.shot(f"report-{page.stem}-light")
    assert_sound(view)
    height = view.height()
    view.page.emulate_media(color_scheme="dark")
    view.shot(f"report-{page.stem}-dark")
    assert view.faint() == []
    assert view.requests == []
    assert view.errors == []
    # Only colours depend on the theme.
    assert view.height() == height


def test_reports_have_no_accessibility_violations(context: BrowserContext, dices: Report, save_report: Save) -> None:
    view = look(context, save_report("dices", dices))
    assert view.violations() == []
    assert view.faint_in_the_dark() == []


def test_attempt_reports_have_no_accessibility_violations(
    context: BrowserContext, attempts: Document, save_report: Save
) -> None:
    view = look(context, save_report("attempts", attempts))
    assert not any(text.is_visible() for text in view.page.locator(".passage").all())
    view.page.evaluate(OPEN)
    assert view.page.locator(".passage").first.is_visible()
    assert view.violations() == []


def test_hostile_names_cause_no_accessibility_violations(
    context: BrowserContext, tricky: Report, save_report: Save
) -> None:
    view = look(context, save_report("tricky", tricky), width=NARROWEST)
    assert view.violations() == []


def test_phone_pages_folded_and_unfolded(context: BrowserContext, page: Path) -> None:
    view = look(context, page, width=NARROWEST)
    view.shot(f"report-{page.stem}-phone-light")
    assert_sound(view)
    view.page.emulate_media(color_scheme="dark")
    view.shot(f"report-{page.stem}-phone-dark")
    assert view.faint() == []
    view.page.evaluate(OPEN)
    assert view.overflowing() == []
    assert view.overlapping() == []


def test_printed_pages(context: BrowserContext, page: Path) -> None:
    view = look(context, page, width=ON_PAPER, media="print")
    view.shot(f"report-{page.stem}-print")
    assert_sound(view)
    pages = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", view.pdf())
    assert {(round(float(width)), round(float(height))) for width, height in pages} == {(595, 842)}
    assert (4 if page.stem == "preference" else 10) <= len(pages) <= 40


def test_names_of_rows_break_between_words_on_a_phone(context: BrowserContext, save_report: Save) -> None:
    names = ("rater_race:rater_gender", "Asian/Asian subcontinent × Woman", "rater_degree_of_education = Postgraduate")
    lines = tuple((name, ".123", ".045", "-.012 to .258") for name in (*names, "x" * 200))
    table = ReportTable(
        name="t", title="T", reading="R.", grids=(Grid(("term", "estimate", "se", "95 % interval"), lines),)
    )
    document = Document(
        title="Terms",
        summary="S.",
        sizes=(),
        sections=(Section("model", "Model", "L.", (table,)),),
        command="c",
        notes=(),
        version="0",
        seed=0,
    )
    view = look(context, save_report("terms", document), width=390)
    assert view.overflowing() == []
    *broken, hostile_is_broken = view.page.evaluate(BROKEN_WORDS)
    assert (broken, hostile_is_broken) == ([[], [], []], ["x" * 200])


def test_names_are_escaped_in_the_page(context: BrowserContext, tricky: Report, save_report: Save) -> None:
    view = look(context, save_report("tricky", tricky))
    dialogs: list[str] = []
    view.page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    view.page.evaluate(OPEN)
    assert view.page.evaluate("document.querySelectorAll('script, img, h1 ~ h1, b, i').length") == 0
    assert view.page.locator("h1").inner_text() == tricky.title
    texts = view.page.locator("svg text").all_text_contents()
    assert {"#D55E00", "{{ 7*7 }}", "__proto__", "&lt;x&gt;", "</text></svg>"} <= set(texts)
    assert dialogs == []


def test_texts_are_shown_only_on_demand(context: BrowserContext, dices: Report, save_report: Save) -> None:
    view = look(context, save_report("dices", dices))
    passages = view.page.locator(".passage")
    assert passages.count() >= len(dices.items)
    assert not any(text.is_visible() for text in passages.all())
    view.page.locator("details.text summary").first.click()
    assert passages.first.is_visible()


def test_links_lead_to_every_section(context: BrowserContext, tricky: Report, save_report: Save) -> None:
    view = look(context, save_report("tricky", tricky))
    links = view.page.locator("nav a")
    assert links.all_text_contents() == [*(section.title for section in tricky.sections), "Methods"]
    for link in links.all():
        assert view.page.locator(str(link.get_attribute("href"))).count() == 1
    view.page.keyboard.press("Tab")
    assert view.page.locator(":focus").inner_text() == "Skip to the report"
    assert view.overlapping() == []
