"""Scores of red-team attempts: which turns count, earlier scores, and tallies."""

from collections.abc import Iterable
from dataclasses import replace

import pytest
from tests.support.attempt_records import RECORD

from dissensus.preference.data.pairs import Purpose
from dissensus.preference.evaluation.attempt_scores import AttemptScores, ScoreTally, add_scores, score_attempts
from dissensus.schema.records.attempt import Attempt
from dissensus.schema.records.conversation import Conversation

TRANSCRIPT = "\n\nHuman: Hi\n\nAssistant: Hello!\n\nHuman: And?\n\nAssistant: No.\n\nHuman: Well?\n\nAssistant: "
UNSCORED = {"min_harmlessness_score_transcript": None, "task_description_harmlessness_score": None}
ATTEMPT = Attempt(**{**RECORD, **UNSCORED, "rating": 3, "transcript": TRANSCRIPT, "task_description": "Be rude"})
SCORED = replace(ATTEMPT, min_harmlessness_score_transcript=-1.0, task_description_harmlessness_score=-2.0)
SILENT = replace(ATTEMPT, transcript="\n\nHuman: Hi\n\nAssistant: ", task_description=" \n")


class LengthModel:
    """Model that scores a turn by its length."""

    purpose: Purpose = "harmless"

    def score(self, transcripts: Iterable[Conversation]) -> list[list[float]]:
        return [[float(len(turn.text)) for turn in talk.turns if turn.speaker == "bot"] for talk in transcripts]


@pytest.mark.parametrize(
    ("attempt", "scores"),
    [(ATTEMPT, AttemptScores(3.0, 7.0)), (SILENT, AttemptScores(None, None)), (SCORED, AttemptScores(None, None))],
    ids=["not scored", "silent", "scored"],
)
def test_the_score_is_the_lowest_of_turns_with_words(attempt: Attempt, scores: AttemptScores) -> None:
    assert score_attempts([attempt], LengthModel()) == [scores]


def test_each_attempt_gets_its_own_scores_in_order() -> None:
    mute = replace(SILENT, task_description="Be kind")
    described = replace(ATTEMPT, task_description_harmlessness_score=-2.0)
    assert score_attempts([SILENT, mute, ATTEMPT, described], LengthModel()) == [
        AttemptScores(None, None),
        AttemptScores(None, 7.0),
        AttemptScores(3.0, 7.0),
        AttemptScores(3.0, None),
    ]


def test_earlier_scores_are_replaced_on_request_alone() -> None:
    for replace_scores, expected in ((False, (-1.0, -2.0)), (True, (3.0, 7.0))):
        (scores,) = score_attempts([SCORED], LengthModel(), replace_scores=replace_scores)
        after = add_scores(SCORED, scores)
        assert (after.min_harmlessness_score_transcript, after.task_description_harmlessness_score) == expected
    # A transcript in which nothing can be scored keeps its score.
    silent = replace(SILENT, min_harmlessness_score_transcript=-1.0)
    (scores,) = score_attempts([silent], LengthModel(), replace_scores=True)
    assert add_scores(silent, scores) == silent


def test_new_earlier_and_missing_scores_are_counted_apart() -> None:
    tally, attempts = ScoreTally(), [ATTEMPT, SCORED, SILENT, replace(SCORED, task_description_harmlessness_score=None)]
    for attempt, scores in zip(attempts, score_attempts(attempts, LengthModel()), strict=True):
        tally.add(attempt, scores, add_scores(attempt, scores))
    assert tally == ScoreTally(
        scored_transcripts=1,
        scored_descriptions=2,
        kept_transcripts=2,
        kept_descriptions=1,
        silent_transcripts=1,
        empty_descriptions=1,
    )
