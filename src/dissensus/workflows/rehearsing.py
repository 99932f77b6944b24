"""A dry run: raters that nobody is go the whole way of a campaign, and nothing of theirs is ever exported."""

from datetime import datetime, timedelta

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.pipeline.annotate.rehearsal import draw_answers
from dissensus.pipeline.annotate.saves import Given, Save
from dissensus.store.ids import new_id
from dissensus.workflows import campaigns, rating
from dissensus.workflows.platform import Platform

MOST_RATERS = 1_000
SECONDS = 60
"""Between two items of a rater."""


def rehearse(platform: Platform, name: str, n_raters: int, *, staff_id: str, seed: int = 0, now: datetime) -> int:
    """Let simulated raters take part in a campaign in any state, and return how many items they rated.

    They agree to everything, answer at random and say who they are. They are no load of any item.

    Raises
    ------
    InvalidInput
        No rater, or too many.
    NotFound
        The campaign is somebody else's.
    """
    if not 1 <= n_raters <= MOST_RATERS:
        raise InvalidInput(f"{n_raters:,} raters were asked for; 1 to {MOST_RATERS:,} can rehearse.")
    campaign = campaigns.definition(platform, name, staff_id=staff_id)
    agreed = {purpose.name: True for purpose in campaign.consent.purposes}
    rated = 0
    for place in range(n_raters):
        rng, at = np.random.default_rng([seed, place]), now
        rater, _ = rating.agree(
            platform, name, key="", purposes=agreed, language=campaign.languages[0], rehearsal=True, now=at
        )
        step = rating.step(platform, rater, now=at)
        while step.place in ("rate", "demographics"):
            at += timedelta(seconds=SECONDS)
            if step.place == "demographics" and campaign.demographics is not None:
                step = rating.declare(platform, rater, draw_answers(campaign.demographics, rng), now=at)
            elif step.assignment is not None:
                answers = {
                    name: Given(value=value) for name, value in draw_answers(campaign.questionnaire, rng).items()
                }
                given = Save(revision=1, visit=new_id(at), visible_ms=1000 * SECONDS, idle_ms=0, answers=answers)
                step = rating.submit(platform, rater, step.assignment.id, new_id(at), given, now=at)
                rated += 1
    return rated
