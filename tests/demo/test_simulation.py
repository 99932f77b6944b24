"""Simulated campaigns of the demo."""

import pytest

from dissensus.demo.simulation import DEMOGRAPHICS, QUESTIONNAIRE, simulate_demo_campaign
from dissensus.schema.questionnaire.shipped import load_questionnaire


def test_every_simulated_rater_answers_both_questionnaires_completely() -> None:
    campaign = simulate_demo_campaign(12, 7, seed=3)
    questions, about = load_questionnaire(QUESTIONNAIRE), load_questionnaire(DEMOGRAPHICS)
    digests = {item.conversation.digest for item in campaign.items}
    assert (len(campaign.items), len(campaign.raters), len(digests)) == (12, 7, 12)
    for rater in campaign.raters:
        assert set(rater.opinions) == digests
        assert about.check(rater.demographics, complete=True) == rater.demographics
        for opinion in rater.opinions.values():
            assert questions.check(opinion.answers, complete=True) == opinion.answers
            assert opinion.seconds > 0


@pytest.mark.slow
def test_the_seed_determines_the_campaign() -> None:
    campaign = simulate_demo_campaign(350, 123)
    assert len({item.conversation.digest for item in campaign.items}) == 350
    assert (
        simulate_demo_campaign(5, 3, seed=1)
        == simulate_demo_campaign(5, 3, seed=1)
        != simulate_demo_campaign(5, 3, seed=2)
    )
