"""A campaign that is drawn."""

from dissensus.demo.simulated import DEMOGRAPHICS, QUESTIONNAIRE, simulate_demo_campaign
from dissensus.schema.questionnaire.shipped import load_questionnaire


def test_every_drawn_rater_has_an_opinion_on_everything_that_the_questionnaires_take() -> None:
    found = simulate_demo_campaign(12, 7, seed=3)
    asked, about = load_questionnaire(QUESTIONNAIRE), load_questionnaire(DEMOGRAPHICS)
    digests = {item.conversation.digest for item in found.items}
    assert (len(found.items), len(found.raters), len(digests)) == (12, 7, 12)
    for rater in found.raters:
        assert set(rater.opinions) == digests
        assert about.check(rater.about, complete=True) == rater.about
        for opinion in rater.opinions.values():
            assert asked.check(opinion.answers, complete=True) == opinion.answers
            assert opinion.seconds > 0


def test_the_whole_of_it_can_be_drawn_and_the_same_seed_draws_the_same() -> None:
    found = simulate_demo_campaign(350, 123)
    assert len({item.conversation.digest for item in found.items}) == 350
    assert (
        simulate_demo_campaign(5, 3, seed=1)
        == simulate_demo_campaign(5, 3, seed=1)
        != simulate_demo_campaign(5, 3, seed=2)
    )
