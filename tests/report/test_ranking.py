"""The report of a ranking: what it says, and that it fits its page."""

from dataclasses import replace

import numpy as np
import pytest
from tests.report.simulated import fits, texts

from dissensus.preference.ranking.ranking import Comparisons, Ranking, rank
from dissensus.report.figures.standings import standings
from dissensus.report.ranking import MOST_MEETINGS, ranking_report

HOSTILE = '</text></svg><script>alert(1)</script>"\u202e'
BOTS = ("best", "good", "fair", "worst")


def drawn(n: int = 800, bots: tuple[str, ...] = BOTS) -> Comparisons:
    """Return comparisons of chatbots of which each is better than the next."""
    rng = np.random.default_rng(1)
    a = rng.integers(len(bots), size=n)
    b = (a + rng.integers(1, len(bots), size=n)) % len(bots)
    outcome = (rng.random(n) < 1 / (1 + np.exp(a - b))).astype(float)
    return Comparisons(bots=bots, a=a, b=b, outcome=outcome, weight=np.ones(n), rater=rng.integers(30, size=n))


@pytest.fixture(scope="module")
def found() -> Ranking:
    return rank(drawn(), bootstrap=100)


def test_what_is_drawn_is_the_ranking(found: Ranking) -> None:
    figure = standings(found, by="rater_gender", groups={"Woman": found, "Man": found})
    assert figure.table.height == 12
    assert figure.table["bradley_terry"].to_list()[:4] == [row.bradley_terry for row in found.rows]
    assert {"best", "All raters", "Raters by gender: Woman"} <= set(texts(figure))
    assert figure.reading == "best is stronger than all others, beyond the intervals of both."
    assert fits(figure)


def test_one_that_may_not_be_the_strongest() -> None:
    close = rank(drawn(40), bootstrap=100)
    assert "so another may be as strong" in standings(close).reading
    unsure = rank(drawn(40), bootstrap=0)
    assert standings(unsure).reading.endswith("how surely is not known.")
    assert fits(standings(unsure))


def test_the_page_says_who_met_whom(found: Ranking) -> None:
    given = drawn()
    page = ranking_report(
        found, given, by="rater_gender", groups={"Woman": found, "Man": "the chatbots cannot be compared"}
    ).to_html()
    assert "4 chatbots in 800 comparisons." in page
    assert "Each chatbot met every other." in page
    assert "Gender Man: the chatbots cannot be compared" in page
    apart = (given.a + given.b) != 3  # best never met worst, nor good fair
    some = replace(
        given,
        a=given.a[apart],
        b=given.b[apart],
        outcome=given.outcome[apart],
        weight=given.weight[apart],
        rater=None if given.rater is None else given.rater[apart],
    )
    assert "4 of 6 pairs of chatbots met" in ranking_report(rank(some, bootstrap=0), some).to_html()


def test_of_many_chatbots_those_that_met_least_are_shown() -> None:
    given = drawn(3000, tuple(f"bot {n}" for n in range(12)))
    page = ranking_report(rank(given, bootstrap=0), given).to_html()
    assert f"The {MOST_MEETINGS} that met least often are shown." in page


def test_names_break_nothing() -> None:
    given = drawn(200, (HOSTILE, "x" * 300))
    page = ranking_report(rank(given, bootstrap=20), given, excluded={"both answers are by one chatbot": 1}).to_html()
    assert "<script" not in page
    assert "1 comparison left out: both answers are by one chatbot." in page
    assert fits(standings(rank(given, bootstrap=20)))
