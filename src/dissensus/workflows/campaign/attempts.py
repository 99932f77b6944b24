"""Summarise the red-team attempts of a campaign: success, red-teamers and near-duplicates."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from dissensus.campaign.consent_scope import required_purposes
from dissensus.errors import NotFound
from dissensus.pipeline.analyse.attempts import AttemptAnalysis, analyse_attempts
from dissensus.pipeline.collect.completed_chats import CompletedChat, to_attempt
from dissensus.schema.records.attempt import Review
from dissensus.store import export as store
from dissensus.store import raters
from dissensus.text.near_duplicates import near_duplicates
from dissensus.text.personal_data import find_personal_data
from dissensus.workflows.campaign.chats import list_chat_warnings
from dissensus.workflows.campaign.conversations import iterate_reviews, to_completed_chat
from dissensus.workflows.campaign.members import load_member_campaign
from dissensus.workflows.platform.platform import Platform

if TYPE_CHECKING:
    from dissensus.schema.records.attempt import Attempt

BOOTSTRAP_REPLICATES: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class RedTeamerActivity:
    """Counts of one red-teamer's attempts."""

    number: int  # zero-based entry number of the rater
    n: int  # attempts
    n_successful: int  # by the red-teamer's own rating
    n_repeated: int  # near-duplicates of any other attempt
    n_personal: int  # attempts that may contain personal data


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptSummary:
    """Analysis of a campaign's red-team attempts."""

    analysis: AttemptAnalysis
    red_teamers: tuple[RedTeamerActivity, ...]  # most active first
    personal: Mapping[str, int]  # number of attempts by kind of possible personal data
    warnings: tuple[str, ...]  # content warning of the campaign


def summarise_attempts(platform: Platform, name: str, *, staff_id: str) -> AttemptSummary | None:
    """Summarise the finished attempts of raters who gave the required consent; None if there is none yet."""
    with platform.database.reading() as tx:
        campaign_row, campaign = load_member_campaign(tx, platform, name, staff_id)
        if campaign.chat is None:
            raise NotFound(f"In {name} raters rate items: there are no attempts. See its items.")
        ended = list(store.iterate_ended_chats(tx, campaign_row.id, required_purposes(campaign, ())))
        numbers = raters.load_rater_numbers(tx, campaign_row.id)
        reviews = list(iterate_reviews(tx, platform, [row.chat for row in ended], campaign.chat, staff_id=staff_id))
    chats = [to_completed_chat(row.chat, member=numbers[row.chat.rater_id], success=row.success) for row in ended]
    pairs = [(chat, attempt) for chat in chats if (attempt := to_attempt(chat, campaign.chat)) is not None]
    if not pairs:
        return None
    attempt_ids = {chat.id: str(number) for number, (chat, _) in enumerate(pairs, 1)}
    reviews = [
        replace(review, attempt_id=attempt_ids[review.attempt_id])
        for review in reviews
        if review.attempt_id in attempt_ids
    ]
    return _summarise(pairs, reviews, list_chat_warnings(campaign))


def _summarise(
    pairs: Sequence[tuple[CompletedChat, "Attempt"]], reviews: Sequence[Review], warnings: tuple[str, ...]
) -> AttemptSummary:
    attempts = [attempt for _, attempt in pairs]
    texts = ["\n".join(exchange.message for exchange in chat.exchanges) for chat, _ in pairs]
    analysis = analyse_attempts(attempts, reviews=reviews, bootstrap=BOOTSTRAP_REPLICATES)
    first = near_duplicates(texts).first.tolist()
    cluster_sizes = Counter(first)
    repeats = [cluster_sizes[index] > 1 for index in first]
    personal = [{span.kind for span in find_personal_data(text)} for text in texts]
    counts: dict[int, Counter[str]] = {}
    for attempt, repeated, kinds in zip(attempts, repeats, personal, strict=True):
        successful = attempt.rating is not None and attempt.rating >= analysis.success_from
        counts.setdefault(attempt.red_team_member_id or 0, Counter()).update(
            {"n": 1, "n_successful": successful, "n_repeated": repeated, "n_personal": bool(kinds)}
        )
    most_active = sorted(counts.items(), key=lambda item: (-item[1]["n"], item[0]))
    return AttemptSummary(
        analysis=analysis,
        red_teamers=tuple(RedTeamerActivity(number=number, **fields) for number, fields in most_active),
        personal=dict(sorted(Counter(kind for kinds in personal for kind in kinds).items())),
        warnings=warnings,
    )
