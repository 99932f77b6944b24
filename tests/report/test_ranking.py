"""Report of a chatbot ranking."""

from dataclasses import replace

import numpy as np
import pytest
from tests.report.svg import fits, texts

from dissensus.preference.ranking.ranking import Comparisons, Ranking, rank
from dissensus.report.figures.standings import standings
from dissensus.report.ranking import MOST_MEETINGS, ranking_report

HOSTILE = '</text></svg><script>alert(1)</script>"\u202e'
BOTS = ("best", "good", "fair", "worst")


def simulate_comparisons(n: int = 800, bots: tuple[str, ...] = BOTS) -> Comparisons:
    """Simulate comparisons of chatbots in descending order of strength."""
    rng = np.random.default_rng(1)
    a = rng.integers(len(bots), size=n)
    b = (a + rng.integers(1, len(bots), size=n)) % len(bots)
    outcome = (rng.random(n) < 1 / (1 + np.exp(a - b))).astype(float)
    return Comparisons(bots=bots, a=a, b=b, outcome=outcome, weight=np.ones(n), rater=rng.integers(30, size=n))


@pytest.fixture(scope="module")
def ranking() -> Ranking:
    return rank(simulate_comparisons(), bootstrap=100)


def test_the_figure_shows_the_ranking(ranking: Ranking) -> None:
    figure = standings(ranking, by="rater_gender", groups={"Woman": ranking, "Man": ranking})
    assert figure.table.height == 12
    assert figure.table["bradley_terry"].to_list()[:4] == [row.bradley_terry for row in ranking.rows]
    assert {"best", "All raters", "Raters by gender: Woman"} <= set(texts(figure))
    assert figure.reading == "best is stronger than all others, beyond the intervals of both."
    single = replace(ranking.rows[0], n=1.0)
    assert "1 comparison" in texts(standings(replace(ranking, rows=(single, *ranking.rows[1:]))))
    assert fits(figure)


def test_the_first_is_compared_with_the_widest_interval(ranking: Ranking) -> None:
    first, *others = ranking.rows
    wide = replace(others[-1], ci_high=(first.ci_high or 0) + 1)
    reading = standings(replace(ranking, rows=(first, *others[:-1], wide))).reading
    assert reading == "best comes first; its interval reaches that of worst, so another may be as strong."
    unknown = replace(others[-1], ci_low=None, ci_high=None)
    assert "how surely" in standings(replace(ranking, rows=(first, *others[:-1], unknown))).reading


def test_overlapping_intervals_are_stated() -> None:
    close = rank(simulate_comparisons(40), bootstrap=100)
    assert "so another may be as strong" in standings(close).reading
    unsure = rank(simulate_comparisons(40), bootstrap=0)
    assert standings(unsure).reading.endswith("how surely is not known.")
    assert fits(standings(unsure))


def test_the_page_lists_compared_pairs(ranking: Ranking) -> None:
    comparisons = simulate_comparisons()
    page = ranking_report(
        ranking, comparisons, by="rater_gender", groups={"Woman": ranking, "Man": "the chatbots cannot be compared"}
    ).to_html()
    assert "4 chatbots in 800 comparisons." in page
    assert "Each chatbot met every other." in page
    assert "Gender Man: the chatbots cannot be compared" in page
    met = (comparisons.a + comparisons.b) != 3  # best never met worst, nor good fair
    sparse = replace(
        comparisons,
        a=comparisons.a[met],
        b=comparisons.b[met],
        outcome=comparisons.outcome[met],
        weight=comparisons.weight[met],
        rater=None if comparisons.rater is None else comparisons.rater[met],
    )
    assert "4 of 6 pairs of chatbots met" in ranking_report(rank(sparse, bootstrap=0), sparse).to_html()


def test_with_many_chatbots_the_rarest_pairs_are_listed() -> None:
    comparisons = simulate_comparisons(3000, tuple(f"bot {n}" for n in range(12)))
    page = ranking_report(rank(comparisons, bootstrap=0), comparisons).to_html()
    assert f"The {MOST_MEETINGS} that met least often are shown." in page


def test_hostile_names_are_escaped() -> None:
    comparisons = simulate_comparisons(200, (HOSTILE, "x" * 300))
    page = ranking_report(
        rank(comparisons, bootstrap=20), comparisons, excluded={"both answers are by one chatbot": 1}
    ).to_html()
    assert "<script" not in page
    assert "1 comparison left out: both answers are by one chatbot." in page
    assert fits(standings(rank(comparisons, bootstrap=20)))
