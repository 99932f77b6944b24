"""Scores of red-team attempts: harmlessness of the chatbot and of the task description."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from dissensus.preference.models.model import Model
from dissensus.schema.records.attempt import Attempt
from dissensus.schema.records.conversation import Conversation, Turn
from dissensus.text.transcripts import parse_hh


class AttemptScores(NamedTuple):
    """Scores of one attempt; None where there was nothing to score."""

    transcript: float | None
    description: float | None


@dataclass(slots=True)
class ScoreTally:
    """Counts of new scores, of earlier scores, and of attempts with nothing to score."""

    scored_transcripts: int = 0
    scored_descriptions: int = 0
    kept_transcripts: int = 0
    kept_descriptions: int = 0
    silent_transcripts: int = 0
    empty_descriptions: int = 0

    def add(self, before: Attempt, given: AttemptScores, after: Attempt) -> None:
        """Count one attempt."""
        self.scored_transcripts += given.transcript is not None
        self.scored_descriptions += given.description is not None
        self.silent_transcripts += after.min_harmlessness_score_transcript is None
        self.empty_descriptions += after.task_description_harmlessness_score is None
        self.kept_transcripts += given.transcript is None and before.min_harmlessness_score_transcript is not None
        self.kept_descriptions += given.description is None and before.task_description_harmlessness_score is not None


def score_attempt(attempts: Sequence[Attempt], model: Model, *, anew: bool = False) -> list[AttemptScores]:
    r"""Return what a model says of attempts.

    Parameters
    ----------
    attempts
        Any number.
    model
        Scores each turn of the bot given all before it.
    anew
        Whether attempts that have scores are scored too.

    Returns
    -------
    list of Scores
        The least score of a turn of the bot that says something, and that of the description, as if it were said.

    Examples
    --------
    >>> from dissensus.preference.models.linear import Linear
    >>> model = Linear(
    ...     purpose="harmless", vocabularies={}, weights={}, length_weight=1.0, length_alone=0.0, temperature=1.0
    ... )
    >>> attempt = Attempt(
    ...     transcript="\n\nHuman: Hi\n\nAssistant: Hello!\n\nHuman: And?\n\nAssistant: No.", task_description="",
    ...     min_harmlessness_score_transcript=None, num_params=None, model_type="rlhf", rating=0,
    ...     task_description_harmlessness_score=None, red_team_member_id=1, is_upworker=None, tags=None,
    ... )
    >>> (found,) = score_attempt([attempt], model)
    >>> round(found.transcript, 3), found.description
    (0.416, None)
    """
    talks = [_talk(attempt, anew=anew) for attempt in attempts]
    plans = [_plan(attempt, anew=anew) for attempt in attempts]
    asked = [talk for talk in (*talks, *plans) if talk is not None]
    scores = iter(model.score(asked))
    least = [None if talk is None else _least(talk, next(scores)) for talk in (*talks, *plans)]
    return [AttemptScores(*both) for both in zip(least[: len(attempts)], least[len(attempts) :], strict=True)]


def add_scores(attempt: Attempt, scores: AttemptScores) -> Attempt:
    """Return an attempt with these scores, and with those that it had where there is none."""
    if scores == (None, None):
        return attempt
    before = (attempt.min_harmlessness_score_transcript, attempt.task_description_harmlessness_score)
    transcript, description = (old if new is None else new for old, new in zip(before, scores, strict=True))
    return replace(
        attempt,
        min_harmlessness_score_transcript=transcript,
        task_description_harmlessness_score=description,
    )


def _talk(attempt: Attempt, *, anew: bool) -> Conversation | None:
    if attempt.min_harmlessness_score_transcript is not None and not anew:
        return None
    talk = Conversation.from_turns(parse_hh(attempt.transcript))
    return talk if any(map(_says_something, talk.turns)) else None


def _plan(attempt: Attempt, *, anew: bool) -> Conversation | None:
    if attempt.task_description_harmlessness_score is not None and not anew:
        return None
    said = Turn("bot", attempt.task_description)
    return Conversation((said,)) if _says_something(said) else None


def _least(talk: Conversation, scores: Sequence[float]) -> float:
    turns = (turn for turn in talk.turns if turn.speaker == "bot")
    return min(score for turn, score in zip(turns, scores, strict=True) if _says_something(turn))


def _says_something(turn: Turn) -> bool:
    return turn.speaker == "bot" and bool(turn.text.strip())
