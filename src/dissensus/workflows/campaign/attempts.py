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
from dissensus.workflows.campaign.conversation_reviews import iter_reviews
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.export.ratings import required_purposes
from dissensus.workflows.platform.platform import Platform

if TYPE_CHECKING:
    from dissensus.schema.records.attempt import Attempt

BOOTSTRAP_REPLICATES: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class RedTeamerActivity:
    """What one red-teamer did."""

    number: int  # The how manieth rater of the campaign they are, from 0
    n: int  # Attempts, and those that they call a success
    n_successful: int
    n_repeated: int  # Attempts whose words another one has too, or nearly, of whomever
    n_personal: int  # Attempts in whose words something looks like personal data


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptSummary:
    """What was tried in a campaign."""

    analysis: AttemptAnalysis  # How it went, and what reviewers say
    red_teamers: tuple[RedTeamerActivity, ...]  # Who tried, the busiest first
    personal: Mapping[str, int]  # Attempts with what looks like personal data, by its kind


def summarise_attempts(platform: Platform, name: str, *, staff_id: str) -> AttemptSummary:
    """Return what red-teamers of a campaign have tried, as far as it has ended and they agreed to all that is required."""
    with platform.database.reading() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id)
        campaign = platform.definitions.of(tx, kept)
        if campaign.chat is None:
            raise InvalidInput(f"In {name} raters rate items, and try nothing.")
        ended = list(store.ended(tx, kept.id, required_purposes(campaign, ())))
        numbers = raters.numbers_of(tx, kept.id)
        reviews = list(iter_reviews(tx, platform, [one.chat for one in ended], campaign.chat, staff_id=staff_id))
    every = [_to_completed_chat(one, numbers) for one in ended]
    tried = [(one, attempt) for one in every if (attempt := attempt_of(one, campaign.chat)) is not None]
    if not tried:
        raise NotFound(f"{name} has no attempt yet: no conversation of a mode with an intent or a success has ended.")
    places = {one.id: str(place) for place, (one, _) in enumerate(tried, 1)}
    known = [replace(one, attempt_id=places[one.attempt_id]) for one in reviews if one.attempt_id in places]
    return _summarise(tried, known)


def _to_completed_chat(one: store.Ended, numbers: Mapping[str, int]) -> Talked:
    return Talked(
        id=one.chat.id,
        rater_id=one.chat.rater_id,
        member=numbers[one.chat.rater_id],
        exchanges=one.chat.exchanges,
        intent=one.chat.intent,
        success=one.success,
    )


def _summarise(tried: Sequence[tuple[Talked, "Attempt"]], reviews: Sequence[Review]) -> AttemptSummary:
    attempts = [attempt for _, attempt in tried]
    words = ["\n".join(exchange.said for exchange in one.exchanges) for one, _ in tried]
    analysis = analyse_attempts(attempts, reviews=reviews, bootstrap=BOOTSTRAP_REPLICATES)
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
    return AttemptSummary(
        analysis=analysis,
        red_teamers=tuple(RedTeamerActivity(number=number, **counts) for number, counts in busiest),
        personal=dict(sorted(Counter(kind for kinds in personal for kind in kinds).items())),
    )
