"""Preferences, red-team attempts and items from completed conversations."""

from collections.abc import Iterator
from dataclasses import dataclass

from dissensus.pipeline.collect.chat import (
    Exchange,
    Place,
    ResponseCandidate,
    ResponsePick,
    build_conversation,
    choose_better_response,
)
from dissensus.schema.campaign.chat import MAX_STRENGTH, ChatMode, ChatSettings
from dissensus.schema.campaign.chatbot import BestOfNSettings
from dissensus.schema.records.attempt import Attempt
from dissensus.schema.records.item import Item
from dissensus.schema.records.preference import SIDES, Edit, Phase, Preference, Side
from dissensus.schema.records.preference import Pick as Said
from dissensus.text.transcripts import join_hh

BETWEEN = " + "
"""Between the types of several models in one conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletedChat:
    """A conversation that has ended."""

    id: str  # Its id in files
    rater_id: str  # Who had it: their id, and their number among the red-teamers of these files
    member: int
    exchanges: tuple[Exchange, ...]
    intent: str | None = None  # What they were going to try; None where they did not say
    success: int | None = None  # How well it went, from 0 to 4; None where they did not say


def to_preferences(talked: CompletedChat, chat: ChatSettings) -> Iterator[Preference]:
    """Yield what was picked in a conversation, as it was picked and asked."""
    for number, exchange in enumerate(talked.exchanges):
        mode, pick = chat.mode(exchange.mode), exchange.pick
        if mode is None or mode.compared is None or pick is None:
            continue
        a, b = (one.text or "" for one in exchange.candidates)
        types = [_model(chat, one)[0] for one in exchange.candidates]
        yield Preference(
            preference_id=f"{talked.id}-{number + 1}",
            conversation_id=talked.id,
            context=build_conversation(talked.exchanges[:number], exchange.said).turns,
            a=a,
            b=b,
            asked=mode.compared,
            picks=(Said(talked.rater_id, _side(pick.place), abs(pick.strength)),),
            levels=MAX_STRENGTH,
            edits=_edits(talked.rater_id, mode, pick),
            models=(types[0], types[1]),
            ranked_by=_ranked_by(exchange),
            phase=_phase(chat, exchange),
        )


def to_attempt(talked: CompletedChat, chat: ChatSettings) -> Attempt | None:
    """Return a conversation as a red-team attempt, None where none of its modes asks for an intent or a success.

    Models are those whose responses the conversation went on with; of several all types are named.
    """
    modes = [chat.mode(exchange.mode) for exchange in talked.exchanges]
    if not any(mode is not None and (mode.intent or mode.success) for mode in modes):
        return None
    types, sizes = _models(talked, chat)
    return Attempt(
        transcript=join_hh((turn.speaker, turn.text) for turn in build_conversation(talked.exchanges).turns),
        min_harmlessness_score_transcript=None,
        num_params=sizes,
        model_type=types,
        rating=talked.success,
        task_description=talked.intent or "",
        task_description_harmlessness_score=None,
        red_team_member_id=talked.member,
        is_upworker=None,
        tags=None,
    )


def to_item(talked: CompletedChat, chat: ChatSettings) -> Item | None:
    """Return a conversation up to the last response as an item to be rated, None where there was no response.

    Its attributes say the mode in which it began, with what it was had, and what was tried.
    """
    answered = max((number for number, one in enumerate(talked.exchanges, 1) if one.response is not None), default=0)
    if not answered:
        return None
    types, sizes = _models(talked, chat)
    said = {"item_model_type": types, "item_num_params": sizes, "item_intent": talked.intent}
    known = {name: value for name, value in said.items() if value}
    return Item(
        talked.id, build_conversation(talked.exchanges[:answered]), {"phase": talked.exchanges[0].mode, **known}
    )


def _models(talked: CompletedChat, chat: ChatSettings) -> tuple[str, str | None]:
    """Return types and sizes of the chatbots whose responses a conversation went on with."""
    models = {_model(chat, one.candidates[one.continues]) for one in talked.exchanges if one.continues is not None}
    types, sizes = ({model[place] for model in models} for place in range(2))
    return BETWEEN.join(sorted(types)), BETWEEN.join(sorted(filter(None, sizes))) or None


def _model(chat: ChatSettings, candidate: ResponseCandidate) -> tuple[str, str]:
    """Return type and size of the model that gave a response: of what a line did not choose, those of who was asked."""
    chatbot = chat.chatbot(candidate.chatbot)
    if chatbot is None:
        return "", ""
    if (
        isinstance(chatbot.source, BestOfNSettings)
        and chatbot.registered_model is not None
        and candidate.ranked_by is None
    ):
        chatbot = chatbot.source.of
    return chatbot.model_type, chatbot.num_params


def _ranked_by(exchange: Exchange) -> tuple[str | None, str | None]:
    a, b = (one.ranked_by for one in exchange.candidates)
    return a, b


def _phase(chat: ChatSettings, exchange: Exchange) -> Phase | None:
    """Return how a line chose a response, going on or by one version; None where types of models tell the phase."""
    chose = [chat.chatbot(one.chatbot) for one in exchange.candidates if one.ranked_by is not None]
    lines = [
        chatbot.registered_model for chatbot in chose if chatbot is not None and chatbot.registered_model is not None
    ]
    if any(line.version is None for line in lines):
        return "online"
    return "rejection-sampled" if lines else None


def _side(place: Place | None) -> Side | None:
    return None if place is None else SIDES[place]


def _edits(rater_id: str, mode: ChatMode, pick: ResponsePick) -> tuple[Edit, ...]:
    side = _side(choose_better_response(mode, pick))
    return () if pick.edit is None or side is None else (Edit(rater_id, side, pick.edit),)
