"""Chat pages: forms that work without scripts, and responses as an event stream."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from time import monotonic
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal
from uuid import UUID, uuid4

import anyio.to_thread
from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import Response, StreamingResponse
from starlette.datastructures import FormData

from dissensus.errors import Conflict, InvalidInput
from dissensus.pipeline.collect.chat import ChatStep, ResponsePick, choose_next_step
from dissensus.schema.advice import site_message
from dissensus.schema.campaign.chat import ChatMode
from dissensus.schema.characters import normalise_line_ends
from dissensus.schema.numbers import parse_digits
from dissensus.schema.records.preference import MAX_STRENGTH
from dissensus.web.core.chat_responder import StreamEvent
from dissensus.web.core.forms import MAX_MS, check_storable
from dissensus.web.core.rater_auth import SessionKey, rater_of_form, rater_of_session
from dissensus.web.core.renderer import MAX_RENDERED_LENGTH, format_response
from dissensus.web.core.responses import SubmittedForm, page, redirect_to
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import Public, SiteOf
from dissensus.workflows.rater import chat, chat_responses, next_step
from dissensus.workflows.rater.chat import ConversationEnd, NewConversation
from dissensus.workflows.rater.next_step import RaterStep

if TYPE_CHECKING:
    from dissensus.store.raters import RaterRow

router = APIRouter(dependencies=[Depends(check_storable), Depends(Public("rate"))])

RENDER_S: Final = 0.2
"""Interval at which a growing response is rendered."""
LATEST_TURN: Final = "/rate#current-step"
Id = Annotated[str, Path(max_length=36)]
Transition = Callable[["RaterRow"], RaterStep]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatPage:
    """A conversation with chatbots: before it, during it, or choosing between responses."""

    template: ClassVar[str] = "rater/chat.html"

    language: str
    step: RaterStep
    form_token: str
    new_id: str  # Id of the next message; a form that is sent twice is stored once
    typed: Mapping[str, str] = field(default_factory=dict)  # Rejected input with its fault
    receipt: bool = False  # True if a help request was just stored

    @property
    def chat_step(self) -> ChatStep | Literal["begin"]:
        """Next step of the conversation."""
        talk, chat = self.step.chat, self.step.campaign.chat
        return "begin" if talk is None or chat is None or talk.done else choose_next_step(chat, talk.exchanges)

    @property
    def mode(self) -> ChatMode | None:
        """Current mode of the conversation."""
        talk, chat = self.step.chat, self.step.campaign.chat
        return None if talk is None or chat is None else chat.mode(talk.last_mode)

    @property
    def can_resend(self) -> bool:
        """True if another message fits into the conversation."""
        talk, chat = self.step.chat, self.step.campaign.chat
        return talk is not None and chat is not None and len(talk.exchanges) < chat.max_turns

    @property
    def asks_success(self) -> bool:
        """True if the end form asks for success."""
        talk, chat = self.step.chat, self.step.campaign.chat
        modes = [] if talk is None or chat is None else [chat.mode(exchange.mode) for exchange in talk.exchanges]
        return any(mode is not None and mode.success for mode in modes)

    @property
    def strengths(self) -> tuple[int, ...]:
        """Allowed preference strengths, from much better A to much better B."""
        allow_ties = self.step.campaign.chat is not None and self.step.campaign.chat.allow_ties
        return tuple(strength for strength in range(-MAX_STRENGTH, MAX_STRENGTH + 1) if strength or allow_ties)


@router.post("/chat/begin")
def begin(site: SiteOf, request: Request, form: SubmittedForm, session: SessionKey = "") -> Response:
    """Begin a conversation."""

    def transition(rater: "RaterRow") -> RaterStep:
        conversation = NewConversation(id=_id(form), mode=str(form.get("mode", "")), intent=_read_text(form, "intent"))
        return chat.begin_conversation(site.platform, rater, conversation, now=site.clock())

    return _apply(site, request, session, form, transition)


@router.post("/chat/finish")
def finish(site: SiteOf, request: Request, form: SubmittedForm, session: SessionKey = "") -> Response:
    """Finish all conversations."""
    return _apply(
        site, request, session, form, lambda rater: chat.finish_chatting(site.platform, rater, now=site.clock())
    )


@router.post("/chat/{chat_id}/messages")
def send_message(
    site: SiteOf, request: Request, chat_id: Id, form: SubmittedForm, session: SessionKey = ""
) -> Response:
    """Send a message and request the responses."""

    def transition(rater: "RaterRow") -> RaterStep:
        text, mode = _read_text(form, "text"), str(form.get("mode", "")) or None
        exchange_id, now = _id(form), site.clock()
        step = chat.send_message(
            site.platform, rater, chat_id, exchange_id, text, mode=mode, worked_ms=_worked_ms(form), now=now
        )
        site.chat_responder.request_responses(rater, exchange_id)
        return step

    return _apply(site, request, session, form, transition)


@router.post("/chat/{exchange_id}/retry")
def retry(site: SiteOf, request: Request, exchange_id: Id, form: SubmittedForm, session: SessionKey = "") -> Response:
    """Retry failed responses."""

    def transition(rater: "RaterRow") -> RaterStep:
        chat_responses.retry_responses(site.platform, rater, exchange_id, now=site.clock())
        site.chat_responder.request_responses(rater, exchange_id)
        return next_step.find_next_step(site.platform, rater, now=site.clock())

    return _apply(site, request, session, form, transition)


@router.post("/chat/{exchange_id}/continue")
def continue_with_response(
    site: SiteOf, request: Request, exchange_id: Id, form: SubmittedForm, session: SessionKey = ""
) -> Response:
    """Continue with the only response that arrived."""

    def transition(rater: "RaterRow") -> RaterStep:
        return chat.continue_with_response(site.platform, rater, exchange_id, now=site.clock())

    return _apply(site, request, session, form, transition)


@router.post("/chat/{exchange_id}/pick")
def pick(site: SiteOf, request: Request, exchange_id: Id, form: SubmittedForm, session: SessionKey = "") -> Response:
    """Store a preference between two responses."""

    def transition(rater: "RaterRow") -> RaterStep:
        preference = ResponsePick(strength=_number(form, "strength", "Choose one of the responses."))
        edit = _edit(site, rater, exchange_id, form, preference)
        return chat.pick_response(
            site.platform,
            rater,
            exchange_id,
            replace(preference, edit=edit),
            worked_ms=_worked_ms(form),
            now=site.clock(),
        )

    return _apply(site, request, session, form, transition)


@router.post("/chat/{chat_id}/end")
def end(site: SiteOf, request: Request, chat_id: Id, form: SubmittedForm, session: SessionKey = "") -> Response:
    """End a conversation."""

    def transition(rater: "RaterRow") -> RaterStep:
        success = _number(form, "success", "Choose how well it went.") if form.get("success") else None
        ending = ConversationEnd(success=success, comment=_read_text(form, "comment"))
        return chat.end_conversation(site.platform, rater, chat_id, ending, now=site.clock())

    return _apply(site, request, session, form, transition)


@router.get("/chat/{exchange_id}/responses")
def stream_responses(site: SiteOf, exchange_id: Id, session: SessionKey = "") -> StreamingResponse:
    """Stream the responses of an exchange as server-sent events."""
    rater = rater_of_session(site, session)
    # Refuse an unknown exchange before the stream begins.
    chat_responses.response_state(site.platform, rater, exchange_id, now=site.clock())
    is_rendered = chat_responses.load_response_format(site.platform, rater) == "markdown"

    async def events() -> AsyncIterator[str]:
        stream = site.chat_responder.follow(rater, exchange_id)
        async for kind, data in _render_chunks(stream) if is_rendered else stream:
            yield f"event: {kind}\ndata: {json.dumps(data)}\n\n"

    return StreamingResponse(events(), media_type="text/event-stream", headers={"x-accel-buffering": "no"})


async def _render_chunks(stream: AsyncIterator[StreamEvent]) -> AsyncIterator[StreamEvent]:
    """Replace each chunk by its response so far as HTML, rendered from Markdown at most every `RENDER_S`."""
    texts: dict[object, str] = {}
    sent_at: dict[object, float] = {}
    unsent: set[object] = set()
    next_event = asyncio.ensure_future(anext(stream, None))
    try:
        while True:
            # The timeout renders the last chunks of a response although no further event arrives.
            await asyncio.wait({next_event}, timeout=RENDER_S if unsent else None)
            kind: Literal["start", "chunk", "end"] | None = None
            data: dict[str, object] = {}
            if next_event.done():
                if (event := next_event.result()) is None:
                    return
                kind, data = event
                next_event = asyncio.ensure_future(anext(stream, None))
            if kind == "chunk":
                position = data["position"]
                texts[position] = f"{texts.get(position, '')}{data['text']}"
                unsent.add(position)
            for position in _list_due(unsent, sent_at, all_due=kind == "end"):
                unsent.discard(position)
                # The page of a longer response shows it when it reloads.
                if len(texts[position]) <= MAX_RENDERED_LENGTH:
                    html = await anyio.to_thread.run_sync(format_response, texts[position])
                    sent_at[position] = monotonic()
                    yield "chunk", {"position": position, "html": html}
            if kind is not None and kind != "chunk":
                yield kind, data
    finally:
        next_event.cancel()


def _list_due(unsent: Iterable[object], sent_at: Mapping[object, float], *, all_due: bool) -> list[object]:
    """Return the positions of unsent responses that were last rendered long enough ago, or all of them."""
    now = monotonic()
    return [position for position in unsent if all_due or now - sent_at.get(position, 0.0) >= RENDER_S]


def chat_page(
    site: Site, step: RaterStep, session: str, *, receipt: bool = False, typed: Mapping[str, str] | None = None
) -> ChatPage:
    """Return the chat page, and request the responses that no process is requesting."""
    token, new_id = site.tokens.csrf_token(session), str(uuid4())
    context = ChatPage(
        language=step.rater.language, step=step, form_token=token, new_id=new_id, receipt=receipt, typed=typed or {}
    )
    talk = step.chat
    if talk is not None and context.chat_step == "answering":
        state = chat_responses.response_state_of(talk, talk.exchange_ids[-1], now=site.clock())
        if state == "unclaimed":
            site.chat_responder.request_responses(step.rater, talk.exchange_ids[-1])
    return context


def _apply(site: Site, request: Request, session: str, form: FormData, transition: Transition) -> Response:
    """Apply a form, or show it again with the error."""
    rater = rater_of_form(site, request, session, form)
    try:
        transition(rater)
    except (Conflict, InvalidInput) as error:
        step = next_step.find_next_step(site.platform, rater, now=site.clock())
        if step.stage != "chat":
            raise
        typed = {name: str(form.get(name, "")) for name in ("text", "intent", "comment", "mode", "success")}
        return page(
            site,
            chat_page(site, step, session, typed={**typed, "fault": site_message(error)}),
            HTTPStatus.UNPROCESSABLE_ENTITY,
        )
    return redirect_to(LATEST_TURN)


def _edit(site: Site, rater: "RaterRow", exchange_id: str, form: FormData, pick: ResponsePick) -> str | None:
    """Return the edited text of the preferred response; None if unchanged."""
    position = pick.position
    text = None if position is None else form.get(f"edit_{position}")
    if text is None or position is None:
        return None
    original = chat.load_response(site.platform, rater, exchange_id, position)
    edited = normalise_line_ends(str(text))
    return None if edited.strip() == normalise_line_ends(original or "").strip() else edited


def _read_text(form: FormData, name: str) -> str:
    """Return a typed text; browsers count a line end as one character, but send two."""
    return normalise_line_ends(str(form.get(name, "")))


def _id(form: FormData) -> str:
    """Return the idempotency key of a form."""
    try:
        return str(UUID(str(form.get("id", ""))))
    except ValueError:
        raise InvalidInput("The form does not belong to this page. Reload the page.") from None


def _number(form: FormData, name: str, fault: str) -> int:
    text = str(form.get(name, ""))
    if parse_digits(text.removeprefix("-"), 3) is None:
        raise InvalidInput(fault)
    return int(text)


def _worked_ms(form: FormData) -> int:
    text = str(form.get("worked_ms", ""))
    return min(parse_digits(text, 11) or 0, MAX_MS)
