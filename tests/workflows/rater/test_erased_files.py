"""Text of raters who withdrew, in the files of SQLite."""

from pathlib import Path

from tests.databases import sqlite_only
from tests.support.campaigns import AGREED, NOW, open_campaign

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer
from dissensus.store.core.database import connect
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import enrolment, next_step, rating, withdrawal
from dissensus.workflows.rater.enrolment import Arrival

TEXT = "I was at the harbour that night"


@sqlite_only
def test_withdrawn_text_is_in_no_file(database_url: str, tmp_path: Path) -> None:
    platform = Platform(connect(database_url))
    campaign = open_campaign(platform, 3)
    rater, _ = enrolment.enrol_rater(platform, Arrival("pilot", str(campaign.key), "en"), AGREED, now=NOW)
    for number in range(3):
        state = next_step.find_next_step(platform, rater, now=NOW)
        assert state.assignment is not None
        answers = {"Q_safe": DraftAnswer(value="Yes"), "Why": DraftAnswer(value=TEXT)}
        save = AnswerSave(revision=1, visit="v", visible_ms=0, idle_ms=0, answers=answers)
        rating.submit_answers(platform, rater, state.assignment.id, f"key-{number}", save, now=NOW)

    def content() -> bytes:
        return b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())

    assert TEXT.encode() in content()
    withdrawal.withdraw_rater(platform, rater.id, now=NOW)
    assert TEXT.encode() not in content()
    platform.close()
