"""A separate process that submits all items of a rater and prints acknowledged keys: python -m … URL KEY PREFIX."""

import sys
import time
from itertools import count

from tests.support.campaigns import AGREED, NOW

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer
from dissensus.errors import Unavailable
from dissensus.store.core.database import connect
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import enrolment, next_step, rating
from dissensus.workflows.rater.enrolment import Arrival


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def submit_all(url: str, key: str, prefix: str) -> None:
    """Submit each item; retry with the same key while the database is unavailable, as the page does."""
    platform = Platform(connect(url, pool_size=1))
    rater, _ = enrolment.enrol_rater(platform, Arrival("pilot", key, "en"), AGREED, now=NOW)
    at = next_step.find_next_step(platform, rater, now=NOW)
    for n in count():
        if at.assignment is None:
            break
        save_key = f"{prefix}-{n}"
        save = AnswerSave(revision=1, visit="v", visible_ms=0, idle_ms=0, answers={"Q_safe": DraftAnswer(value="Yes")})
        while True:
            try:
                at = rating.submit_answers(platform, rater, at.assignment.id, save_key, save, now=NOW)
                break
            except Unavailable:
                say("away")
                time.sleep(0.01)
        say(save_key)


if __name__ == "__main__":
    submit_all(*sys.argv[1:])
