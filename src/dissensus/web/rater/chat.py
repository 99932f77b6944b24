"""Chat pages: forms that work without scripts, and responses as an event stream."""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal
from uuid import UUID, uuid4

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import RedirectResponse, Response, StreamingResponse
from starlette.datastructures import FormData

from dissensus.errors import Conflict, InvalidInput
from dissensus.pipeline.collect.chat import Moment, ResponsePick, choose_next_step
from dissensus.schema.campaign.chat import MAX_STRENGTH, ChatMode
from dissensus.web.core.forms import MAX_MS, check_storable
from dissensus.web.core.rater_auth import UNPROCESSABLE, SessionKey, rater_of_form, rater_of_session
from dissensus.web.core.responses import SEE_OTHER, SubmittedForm, page
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import Public, SiteOf
from dissensus.workflows.rater import chat, chat_responses, journey
from dissensus.workflows.rater.chat import ConversationEnd, NewConversation
from dissensus.workflows.rater.journey import RaterState

if TYPE_CHECKING:
    from dissensus.store.raters import RaterRow

router = APIRouter(dependencies=[Depends(check_storable), Depends(Public("rate"))])

LATEST_TURN: Final = "/rate#now"
Id = Annotated[str, Path(max_length=36)]
Act = Callable[["RaterRow"], RaterState]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatPage:
    """A conversation with chatbots: before it, during it, or choosing between responses."""

    template: ClassVar[str] = "rater/chat.html"

    language: str
    step: RaterState
    form_token: str
    fresh: str  # The id of what is sent next; a form that is sent twice is kept once
    failed: bool = False  # True if a response did not come
    typed: Mapping[str, str] = field(default_factory=dict)  # What was typed and could not be taken, with the fault
    noted: bool = False  # True if a message for help was just kept

    @property
    def moment(self) -> Moment | Literal["begin"]:
        """Next step of the conversation."""
        talk, chat = self.step.chat, self.step.campaign.chat
        return "begin" if talk is None or chat is None or talk.done else choose_next_step(chat, talk.exchanges)

    @property
    def mode(self) -> ChatMode | None:
        """Current mode of the conversation."""
        talk, chat = self.step.chat, self.step.campaign.chat
        return None if talk is None or chat is None else chat.mode(talk.last_mode)

    @property
    def asks_success(self) -> bool:
        """True if the end form asks for success."""
        talk, chat = self.step.chat, self.step.campaign.chat
        modes = [] if talk is None or chat is None else [chat.mode(one.mode) for one in talk.exchanges]
        return any(mode is not None and mode.success for mode in modes)

    @property
    def strengths(self) -> tuple[int, ...]:
        """Allowed preference strengths, from much better A to much better B."""
        equal = self.step.campaign.chat is not None and self.step.campaign.chat.equal
        return tuple(one for one in range(-MAX_STRENGTH, MAX_STRENGTH + 1) if one or equal)


@router.post("/chat/begin")
def begin(site: SiteOf, request: Request, sent: SubmittedForm, session: SessionKey = "") -> Response:
    """Begin a conversation."""

    def act(rater: "RaterRow") -> RaterState:
        beginning = NewConversation(id=_id(sent), mode=str(sent.get("mode", "")), intent=str(sent.get("intent", "")))
        return chat.begin_conversation(site.platform, rater, beginning, now=site.clock())

    return _do(site, request, session, sent, act)


@router.post("/chat/finish")
def finish(site: SiteOf, request: Request, sent: SubmittedForm, session: SessionKey = "") -> Response:
    """Finish all conversations."""
    return _do(site, request, session, sent, lambda one: chat.finish_chatting(site.platform, one, now=site.clock()))


@router.post("/chat/{chat_id}/say")
def say(site: SiteOf, request: Request, chat_id: Id, sent: SubmittedForm, session: SessionKey = "") -> Response:
    """Send a message and request the responses."""

    def act(rater: "RaterRow") -> RaterState:
        said, mode = str(sent.get("text", "")), str(sent.get("mode", "")) or None
        now, one = site.clock(), _id(sent)
        step = chat.send_message(site.platform, rater, chat_id, one, said, mode=mode, worked_ms=_worked(sent), now=now)
        site.chat_responder.ask(rater, one)
        return step

    return _do(site, request, session, sent, act)


@router.post("/chat/{exchange_id}/again")
def again(site: SiteOf, request: Request, exchange_id: Id, sent: SubmittedForm, session: SessionKey = "") -> Response:
    """Retry failed responses."""

    def act(rater: "RaterRow") -> RaterState:
        chat_responses.retry_responses(site.platform, rater, exchange_id, now=site.clock())
        site.chat_responder.ask(rater, exchange_id)
        return journey.next_state(site.platform, rater, now=site.clock())

    return _do(site, request, session, sent, act)


@router.post("/chat/{exchange_id}/pick")
def pick(site: SiteOf, request: Request, exchange_id: Id, sent: SubmittedForm, session: SessionKey = "") -> Response:
    """Store a preference between two responses."""

    def act(rater: "RaterRow") -> RaterState:
        found = ResponsePick(strength=_number(sent, "strength", "Say which response you mean."))
        edit = _edit(site, rater, exchange_id, sent, found)
        picked = ResponsePick(strength=found.strength, edit=edit)
        worked, now = _worked(sent), site.clock()
        return chat.pick_response(site.platform, rater, exchange_id, picked, worked_ms=worked, now=now)

    return _do(site, request, session, sent, act)


@router.post("/chat/{chat_id}/end")
def end(site: SiteOf, request: Request, chat_id: Id, sent: SubmittedForm, session: SessionKey = "") -> Response:
    """End a conversation."""

    def act(rater: "RaterRow") -> RaterState:
        success = _number(sent, "success", "Say how well it went by a number.") if sent.get("success") else None
        ending = ConversationEnd(success=success, comment=str(sent.get("comment", "")))
        return chat.end_conversation(site.platform, rater, chat_id, ending, now=site.clock())

    return _do(site, request, session, sent, act)


@router.get("/chat/{exchange_id}/responses")
def responses(site: SiteOf, exchange_id: Id, session: SessionKey = "") -> StreamingResponse:
    """Stream the responses of an exchange as server-sent events."""
    rater = rater_of_session(site, session)
    chat_responses.response_state(site.platform, rater, exchange_id, now=site.clock())

    async def told() -> AsyncIterator[str]:
        async for kind, data in site.chat_responder.follow(rater, exchange_id):
            yield f"event: {kind}\ndata: {json.dumps(data)}\n\n"

    return StreamingResponse(told(), media_type="text/event-stream", headers={"x-accel-buffering": "no"})


def chat_page(
    site: Site, step: RaterState, session: str, *, noted: bool = False, typed: Mapping[str, str] | None = None
) -> ChatPage:
    """Return the chat page, requesting responses that nobody has requested yet."""
    token, fresh = site.tokens.form(session), str(uuid4())
    context = ChatPage(
        language=step.rater.language, step=step, form_token=token, fresh=fresh, noted=noted, typed=typed or {}
    )
    talk = step.chat
    if talk is None or context.moment != "answering":
        return context
    standing = chat_responses.response_state_of(talk, talk.exchange_ids[-1], now=site.clock())
    if standing == "free":
        site.chat_responder.ask(step.rater, talk.exchange_ids[-1])
    return replace(context, failed=standing == "failed")


def _do(site: Site, request: Request, session: str, sent: FormData, act: Act) -> Response:
    """Apply a form, or show it again with the error."""
    rater = rater_of_form(site, request, session, sent)
    try:
        act(rater)
    except (Conflict, InvalidInput) as error:
        step = journey.next_state(site.platform, rater, now=site.clock())
        if step.stage != "chat":
            raise
        typed = {name: str(sent.get(name, "")) for name in ("text", "intent", "comment", "mode")}
        return page(site, chat_page(site, step, session, typed={**typed, "fault": str(error)}), UNPROCESSABLE)
    return RedirectResponse(LATEST_TURN, SEE_OTHER)


def _edit(site: Site, rater: "RaterRow", exchange_id: str, sent: FormData, pick: ResponsePick) -> str | None:
    """Return the rater's edit of the preferred response; None if unchanged."""
    place = pick.place
    text = None if place is None else sent.get(f"edit_{place}")
    if text is None or place is None:
        return None
    original = chat.load_response(site.platform, rater, exchange_id, place)
    edited = str(text).replace("\r\n", "\n")
    return None if edited.strip() == (original or "").replace("\r\n", "\n").strip() else edited


def _id(sent: FormData) -> str:
    """Return the idempotency key of a form."""
    try:
        return str(UUID(str(sent.get("id", ""))))
    except ValueError:
        raise InvalidInput("The form is not one of this page. Reload the page.") from None


def _number(sent: FormData, name: str, fault: str) -> int:
    text = str(sent.get(name, ""))
    if len(text) > 3 or not text.removeprefix("-").isdecimal() or not text.isascii():
        raise InvalidInput(fault)
    return int(text)


def _worked(sent: FormData) -> int:
    text = str(sent.get("worked_ms", ""))
    return min(int(text), MAX_MS) if text.isascii() and text.isdecimal() and len(text) < 12 else 0
