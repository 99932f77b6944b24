"""What red-teamers of a campaign have tried so far, in figures: how it went, who tried, and what repeats."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from dissensus.errors import InvalidInput, NotFound
from dissensus.pipeline.analyse.attempts import AttemptAnalysis, analyse_attempts
from dissensus.pipeline.collect.completed_chats import Talked, attempt_of
from dissensus.schema.records.review import Review
from dissensus.store import chat_export as store
from dissensus.store import raters
from dissensus.text.near_duplicates import near_duplicates
from dissensus.text.personal_data import find_personal_data
from dissensus.workflows.campaign.conversation_reviews import reviews_of
from dissensus.workflows.campaign.members import seen_by
from dissensus.workflows.export.ratings import purposes_of
from dissensus.workflows.platform.platform import Platform

if TYPE_CHECKING:
    from dissensus.schema.records.attempt import Attempt

REPLICATES: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class RedTeamer:
    """What one red-teamer did.

    Parameters
    ----------
    number
        The how manieth rater of the campaign they are, from 0.
    n, n_successful
        Attempts, and those that they call a success.
    n_repeated
        Attempts whose words another one has too, or nearly, of whomever.
    n_personal
        Attempts in whose words something looks like personal data.
    """

    number: int
    n: int
    n_successful: int
    n_repeated: int
    n_personal: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempted:
    """What was tried in a campaign.

    Parameters
    ----------
    analysis
        How it went, and what reviewers say.
    red_teamers
        Who tried, the busiest first.
    personal
        Attempts with what looks like personal data, by its kind.
    """

    analysis: AttemptAnalysis
    red_teamers: tuple[RedTeamer, ...]
    personal: Mapping[str, int]


def attempted(platform: Platform, name: str, *, staff_id: str) -> Attempted:
    """Return what red-teamers of a campaign have tried, as far as it has ended and they agreed to all that is required.

    Raises
    ------
    InvalidInput
        Its raters do not talk with chatbots.
    NotFound
        There is no such campaign, or no attempt yet.
    """
    with platform.database.reading() as tx:
        kept, _ = seen_by(tx, name, staff_id)
        campaign = platform.definitions.of(tx, kept)
        if campaign.chat is None:
            raise InvalidInput(f"In {name} raters rate items, and try nothing.")
        ended = list(store.ended(tx, kept.id, purposes_of(campaign, ())))
        numbers = raters.numbers_of(tx, kept.id)
        reviews = list(reviews_of(tx, platform, [one.chat for one in ended], campaign.chat, staff_id=staff_id))
    every = [_talked(one, numbers) for one in ended]
    tried = [(one, attempt) for one in every if (attempt := attempt_of(one, campaign.chat)) is not None]
    if not tried:
        raise NotFound(f"{name} has no attempt yet: no conversation of a mode with an intent or a success has ended.")
    places = {one.id: str(place) for place, (one, _) in enumerate(tried, 1)}
    known = [replace(one, attempt_id=places[one.attempt_id]) for one in reviews if one.attempt_id in places]
    return _attempted(tried, known)


def _talked(one: store.Ended, numbers: Mapping[str, int]) -> Talked:
    return Talked(
        id=one.chat.id,
        rater_id=one.chat.rater_id,
        member=numbers[one.chat.rater_id],
        exchanges=one.chat.exchanges,
        intent=one.chat.intent,
        success=one.success,
    )


def _attempted(tried: Sequence[tuple[Talked, "Attempt"]], reviews: Sequence[Review]) -> Attempted:
    attempts = [attempt for _, attempt in tried]
    words = ["\n".join(exchange.said for exchange in one.exchanges) for one, _ in tried]
    analysis = analyse_attempts(attempts, reviews=reviews, bootstrap=REPLICATES)
    first = near_duplicates(words).first.tolist()
    together = Counter(first)
    repeats = [together[place] > 1 for place in first]
    personal = [{span.kind for span in find_personal_data(text)} for text in words]
    done: dict[int, Counter[str]] = {}
    for attempt, repeated, kinds in zip(attempts, repeats, personal, strict=True):
        one = done.setdefault(attempt.red_team_member_id or 0, Counter())
        success = attempt.rating is not None and attempt.rating >= analysis.success_from
        one.update({"n": 1, "n_successful": success, "n_repeated": repeated, "n_personal": bool(kinds)})
    busiest = sorted(done.items(), key=lambda item: (-item[1]["n"], item[0]))
    return Attempted(
        analysis=analysis,
        red_teamers=tuple(RedTeamer(number=number, **counts) for number, counts in busiest),
        personal=dict(sorted(Counter(kind for kinds in personal for kind in kinds).items())),
    )
