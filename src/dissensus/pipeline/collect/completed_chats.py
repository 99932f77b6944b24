"""Preferences, red-team attempts and items from completed conversations."""

from collections.abc import Iterator
from dataclasses import dataclass

from dissensus.pipeline.collect.chat import (
    Exchange,
    Position,
    ResponseCandidate,
    ResponseFailure,
    ResponsePick,
    build_conversation,
    choose_better_response,
)
from dissensus.schema.campaign.chat import ChatMode, ChatSettings
from dissensus.schema.campaign.chatbot import BestOfNSettings
from dissensus.schema.ratings.columns import INTENT
from dissensus.schema.records.attempt import Attempt
from dissensus.schema.records.item import Item
from dissensus.schema.records.preference import MAX_STRENGTH, SIDES, Edit, Phase, Pick, Preference, Side
from dissensus.text.transcripts import join_hh

SEPARATOR = " + "
"""Separator of the types of several models in one conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletedChat:
    """A conversation that has ended."""

    id: str  # Id in files
    rater_id: str
    member: int  # Number of the rater among the red-teamers of a file
    exchanges: tuple[Exchange, ...]
    intent: str | None = None  # Intent stated before the conversation
    success: int | None = None  # Self-rated success, from 0 to 4
    is_upworker: bool | None = None  # True if Upwork sent the rater; None if no recruiter is known


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedResponse:
    """A response that did not arrive, with the message that asked for it."""

    conversation_id: str
    exchange: int  # One-based number of the message in the conversation
    rater_id: str
    phase: str  # Name of the chat mode
    message: str
    side: Side
    model: str  # Type of the model
    outcome: ResponseFailure
    continued: bool  # True if the conversation continued with the other response


def to_preferences(completed: CompletedChat, chat: ChatSettings) -> Iterator[Preference]:
    """Yield the picks of a conversation as preferences."""
    for index, exchange in enumerate(completed.exchanges):
        mode, pick = chat.mode(exchange.mode), exchange.pick
        if mode is None or mode.criterion is None or pick is None:
            continue
        a, b = (candidate.text or "" for candidate in exchange.candidates)
        types = [_describe_model(chat, candidate)[0] for candidate in exchange.candidates]
        yield Preference(
            preference_id=f"{completed.id}-{index + 1}",
            conversation_id=completed.id,
            context=build_conversation(completed.exchanges[:index], exchange.message).turns,
            a=a,
            b=b,
            criterion=mode.criterion,
            picks=(Pick(completed.rater_id, _to_side(pick.position), abs(pick.strength)),),
            levels=MAX_STRENGTH,
            edits=_list_edits(completed.rater_id, mode, pick),
            models=(types[0], types[1]),
            ranked_by=_ranked_by(exchange),
            phase=_phase(chat, exchange),
        )


def to_attempt(completed: CompletedChat, chat: ChatSettings) -> Attempt | None:
    """Return a conversation as a red-team attempt; None without a response, or a mode with an intent or a success.

    It ends with the last response. Models are those whose responses continued the conversation; the types of several
    are joined.
    """
    modes = [chat.mode(exchange.mode) for exchange in completed.exchanges]
    responded = _exchanges_with_response(completed)
    if not responded or not any(mode is not None and (mode.intent or mode.success) for mode in modes):
        return None
    types, sizes = _describe_models(completed, chat)
    return Attempt(
        transcript=join_hh((turn.speaker, turn.text) for turn in build_conversation(responded).turns),
        min_harmlessness_score_transcript=None,
        num_params=sizes,
        model_type=types,
        rating=completed.success,
        task_description=completed.intent or "",
        task_description_harmlessness_score=None,
        red_team_member_id=completed.member,
        is_upworker=completed.is_upworker,
        tags=None,
    )


def to_item(completed: CompletedChat, chat: ChatSettings) -> Item | None:
    """Return a conversation up to the last response as an item to be rated; None without a response.

    Its attributes are the mode in which it began, the models and the intent.
    """
    responded = _exchanges_with_response(completed)
    if not responded:
        return None
    types, sizes = _describe_models(completed, chat)
    optional = {"item_model_type": types, "item_num_params": sizes, INTENT: completed.intent}
    attributes = {"phase": completed.exchanges[0].mode, **{name: value for name, value in optional.items() if value}}
    return Item(completed.id, build_conversation(responded), attributes)


def list_failures(completed: CompletedChat, chat: ChatSettings) -> Iterator[FailedResponse]:
    """Yield the responses of a conversation that were refused by the provider or failed."""
    for number, exchange in enumerate(completed.exchanges, 1):
        for candidate in exchange.candidates:
            if candidate.failure is not None:
                yield FailedResponse(
                    conversation_id=completed.id,
                    exchange=number,
                    rater_id=completed.rater_id,
                    phase=exchange.mode,
                    message=exchange.message,
                    side=SIDES[candidate.position],
                    model=_describe_model(chat, candidate)[0],
                    outcome=candidate.failure,
                    continued=exchange.continues is not None,
                )


def _exchanges_with_response(completed: CompletedChat) -> tuple[Exchange, ...]:
    return tuple(exchange for exchange in completed.exchanges if exchange.response is not None)


def _describe_models(completed: CompletedChat, chat: ChatSettings) -> tuple[str, str | None]:
    """Return types and sizes of the models whose responses continued a conversation."""
    models = {
        _describe_model(chat, exchange.candidates[exchange.continues])
        for exchange in completed.exchanges
        if exchange.continues is not None
    }
    types, sizes = {model[0] for model in models}, {model[1] for model in models}
    return SEPARATOR.join(sorted(types)), SEPARATOR.join(sorted(filter(None, sizes))) or None


def _describe_model(chat: ChatSettings, candidate: ResponseCandidate) -> tuple[str, str]:
    """Return type and size of a response's model: of the underlying chatbot if no registered model ranked it."""
    chatbot = chat.chatbot(candidate.chatbot)
    if chatbot is None:
        return "", ""
    if (
        isinstance(chatbot.source, BestOfNSettings)
        and chatbot.registered_model is not None
        and candidate.ranked_by is None
    ):
        chatbot = chatbot.source.chatbot
    return chatbot.model_type, chatbot.num_params


def _ranked_by(exchange: Exchange) -> tuple[str | None, str | None]:
    a, b = (candidate.ranked_by for candidate in exchange.candidates)
    return a, b


def _phase(chat: ChatSettings, exchange: Exchange) -> Phase | None:
    """Return the phase if a registered model ranked a response; None where types of models tell the phase."""
    chatbots = [chat.chatbot(candidate.chatbot) for candidate in exchange.candidates if candidate.ranked_by is not None]
    models = [
        chatbot.registered_model for chatbot in chatbots if chatbot is not None and chatbot.registered_model is not None
    ]
    if any(model.version is None for model in models):
        return "online"
    return "rejection-sampled" if models else None


def _to_side(position: Position | None) -> Side | None:
    return None if position is None else SIDES[position]


def _list_edits(rater_id: str, mode: ChatMode, pick: ResponsePick) -> tuple[Edit, ...]:
    side = _to_side(choose_better_response(mode, pick))
    return () if pick.edit is None or side is None else (Edit(rater_id, side, pick.edit),)
