"""Conversations with chatbots for staff: lists, and one conversation with its reviews and marks of personal data."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection

from dissensus.campaign.consent_scope import required_purposes
from dissensus.campaign.filters.chat_filter import ChatCursor, ChatFilter
from dissensus.errors import NotFound
from dissensus.pipeline.release.source_notices import describe_warnings
from dissensus.schema.campaign.chat import SUCCESS_SCALE, ChatSettings
from dissensus.schema.campaign.definition import Campaign, CampaignState
from dissensus.schema.hints import parse_choice
from dissensus.schema.records.attempt import TAGS, Review
from dissensus.store.campaigns import CampaignRow
from dissensus.store.chats import ChatRow
from dissensus.store.lists import chats as store
from dissensus.store.lists.chats import ListedChat
from dissensus.text.personal_data import find_personal_data
from dissensus.workflows.campaign.conversations import iterate_reviews
from dissensus.workflows.campaign.members import load_member_campaign
from dissensus.workflows.platform.platform import Platform

WINDOW_SIZE: Final = 200
"""Conversations whose reviews are read at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatView:
    """A conversation with its reviews and the kinds of possible personal data in it."""

    listed: ListedChat
    reviews: tuple[Review, ...]
    personal: tuple[str, ...]

    @property
    def tags(self) -> tuple[str, ...]:
        """Tags of all reviews, each once."""
        return tuple(dict.fromkeys(tag for review in self.reviews for tag in review.tags))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatListing:
    """A part of the list of conversations, with the settings that filters choose from."""

    campaign: Campaign
    chat: ChatSettings
    state: CampaignState
    chats: tuple[ChatView, ...]


def list_chat_warnings(campaign: Campaign) -> tuple[str, ...]:
    """Return the lines of the content warning; conversations have no notices of sources."""
    return tuple(filter(None, describe_warnings(campaign, ())))


def list_chats(
    platform: Platform, name: str, chat_filter: ChatFilter, *, after: ChatCursor | None, staff_id: str, most: int
) -> ChatListing:
    """Return conversations of raters who gave the required consent, in the order of a filter after one of them."""
    with platform.database.reading() as tx:
        campaign_row, campaign, chat = _load_chat_campaign(platform, tx, name, staff_id)
        _check_filter(chat_filter, chat)
        purposes, views = required_purposes(campaign, ()), list[ChatView]()
        # Tags come from reviews and cannot be filtered in SQL, so read on until the page is full.
        window = WINDOW_SIZE if chat_filter.tag else most
        while len(views) < most and (
            listed := store.list_chats(tx, campaign_row.id, purposes, chat_filter, after=after, most=window)
        ):
            reviews_of = _group_reviews(tx, platform, [one.chat for one in listed], chat, staff_id)
            window_views = [_to_view(one, reviews_of.get(one.chat.id, ())) for one in listed]
            views += [view for view in window_views if not chat_filter.tag or chat_filter.tag in view.tags]
            if len(listed) < window:
                break
            after = listed[-1].cursor
    return ChatListing(campaign=campaign, chat=chat, state=campaign_row.state, chats=tuple(views[:most]))


def load_chat(platform: Platform, name: str, chat_id: str, *, staff_id: str) -> tuple[Campaign, ChatView]:
    """Return a conversation of a rater who gave the required consent, with its campaign."""
    with platform.database.reading() as tx:
        campaign_row, campaign, chat = _load_chat_campaign(platform, tx, name, staff_id)
        listed = store.find_listed_chat(tx, campaign_row.id, required_purposes(campaign, ()), chat_id)
        if listed is None:
            raise NotFound(f"{name} has no such conversation, or its rater withdrew. Open one from the list.")
        reviews = _group_reviews(tx, platform, [listed.chat], chat, staff_id)
    return campaign, _to_view(listed, reviews.get(chat_id, ()))


def _load_chat_campaign(
    platform: Platform, tx: Connection, name: str, staff_id: str
) -> tuple[CampaignRow, Campaign, ChatSettings]:
    campaign_row, campaign = load_member_campaign(tx, platform, name, staff_id)
    if campaign.chat is None:
        raise NotFound(f"In {name} raters rate items, and have no conversations. See its items.")
    return campaign_row, campaign, campaign.chat


def _check_filter(chat_filter: ChatFilter, chat: ChatSettings) -> None:
    """Raise `InvalidInput` for a mode, chatbot, success or tag that the campaign does not have."""
    success = "" if chat_filter.success is None else str(chat_filter.success)
    choices: tuple[tuple[str, str, Sequence[str]], ...] = (
        (chat_filter.mode, "a mode", [mode.name for mode in chat.modes]),
        (chat_filter.chatbot, "a chatbot", [chatbot.name for chatbot in chat.chatbots]),
        (chat_filter.tag, "a tag of reviews", TAGS),
        (success, "a rating of success", [*map(str, SUCCESS_SCALE)]),
    )
    for value, noun, allowed in choices:
        if value:
            parse_choice(value, allowed, noun)


def _group_reviews(
    tx: Connection, platform: Platform, rows: Sequence[ChatRow], chat: ChatSettings, staff_id: str
) -> Mapping[str, Sequence[Review]]:
    """Return the reviews of conversations by their ids."""
    result = defaultdict[str, list[Review]](list)
    for review in iterate_reviews(tx, platform, [row for row in rows if row.done], chat, staff_id=staff_id):
        result[review.attempt_id].append(review)
    return result


def _to_view(listed: ListedChat, reviews: Sequence[Review]) -> ChatView:
    kinds = {span.kind for text in _iterate_texts(listed) for span in find_personal_data(text)}
    return ChatView(listed=listed, reviews=tuple(reviews), personal=tuple(sorted(kinds)))


def _iterate_texts(listed: ListedChat) -> Iterator[str]:
    """Yield the texts of a rater, and the responses, of a conversation."""
    yield listed.chat.intent or ""
    yield listed.comment or ""
    for exchange in listed.chat.exchanges:
        yield exchange.message
        yield from (candidate.text for candidate in exchange.candidates if candidate.text)
        yield (exchange.pick and exchange.pick.edit) or ""
