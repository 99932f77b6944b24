"""Scores of red-team attempts: harmlessness of the chatbot and of the task description."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from dissensus.preference.models.model import Model
from dissensus.schema.records.attempt import Attempt
from dissensus.schema.records.conversation import Conversation, Turn
from dissensus.text.transcripts import parse_hh


class AttemptScores(NamedTuple):
    """Scores of one attempt; None if there was nothing to score."""

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

    def add(self, before: Attempt, scores: AttemptScores, after: Attempt) -> None:
        """Count one attempt."""
        self.scored_transcripts += scores.transcript is not None
        self.scored_descriptions += scores.description is not None
        self.silent_transcripts += after.min_harmlessness_score_transcript is None
        self.empty_descriptions += after.task_description_harmlessness_score is None
        self.kept_transcripts += scores.transcript is None and before.min_harmlessness_score_transcript is not None
        self.kept_descriptions += scores.description is None and before.task_description_harmlessness_score is not None


def score_attempts(attempts: Sequence[Attempt], model: Model, *, replace_scores: bool = False) -> list[AttemptScores]:
    r"""Score attempts with a preference model.

    Parameters
    ----------
    attempts
        Attempts to score.
    model
        Preference model.
    replace_scores
        True to also score attempts that have scores.

    Returns
    -------
    list of AttemptScores
        Lowest score of a non-empty bot turn, and the score of the task description as if it were a bot turn.

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
    >>> (scores,) = score_attempts([attempt], model)
    >>> round(scores.transcript, 3), scores.description
    (0.416, None)
    """
    transcripts = [_transcript(attempt, replace_scores=replace_scores) for attempt in attempts]
    descriptions = [_description(attempt, replace_scores=replace_scores) for attempt in attempts]
    conversations = [*transcripts, *descriptions]
    scores = iter(model.score([conversation for conversation in conversations if conversation is not None]))
    lowest = [
        None if conversation is None else _lowest_score(conversation, next(scores)) for conversation in conversations
    ]
    return [AttemptScores(*pair) for pair in zip(lowest[: len(attempts)], lowest[len(attempts) :], strict=True)]


def add_scores(attempt: Attempt, scores: AttemptScores) -> Attempt:
    """Return an attempt with these scores; existing scores remain where a new one is None."""
    if scores == (None, None):
        return attempt
    before = (attempt.min_harmlessness_score_transcript, attempt.task_description_harmlessness_score)
    transcript, description = (old if new is None else new for old, new in zip(before, scores, strict=True))
    return replace(
        attempt,
        min_harmlessness_score_transcript=transcript,
        task_description_harmlessness_score=description,
    )


def _transcript(attempt: Attempt, *, replace_scores: bool) -> Conversation | None:
    if attempt.min_harmlessness_score_transcript is not None and not replace_scores:
        return None
    conversation = Conversation.from_turns(parse_hh(attempt.transcript))
    return conversation if any(map(_is_scorable, conversation.turns)) else None


def _description(attempt: Attempt, *, replace_scores: bool) -> Conversation | None:
    if attempt.task_description_harmlessness_score is not None and not replace_scores:
        return None
    turn = Turn("bot", attempt.task_description)
    return Conversation((turn,)) if _is_scorable(turn) else None


def _lowest_score(conversation: Conversation, scores: Sequence[float]) -> float:
    turns = (turn for turn in conversation.turns if turn.speaker == "bot")
    return min(score for turn, score in zip(turns, scores, strict=True) if _is_scorable(turn))


def _is_scorable(turn: Turn) -> bool:
    return turn.speaker == "bot" and bool(turn.text.strip())
