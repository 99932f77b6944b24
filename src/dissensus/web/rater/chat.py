"""What raters do who talk with chatbots: forms that work without scripts, and responses as they come."""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final
from uuid import UUID, uuid4

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import RedirectResponse, Response, StreamingResponse
from starlette.datastructures import FormData

from dissensus.errors import Conflict, InvalidInput
from dissensus.pipeline.collect.chat import Pick
from dissensus.web.core.contexts import Chatting
from dissensus.web.core.forms import LONGEST_MS, check_storable
from dissensus.web.core.rater_auth import UNPROCESSABLE, SessionKey, rater_of_form, rater_of_session
from dissensus.web.core.responses import SEE_OTHER, SubmittedForm, page
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import Open, SiteOf
from dissensus.workflows.rater import chat, chat_responses, journey
from dissensus.workflows.rater.chat import NewConversation, ConversationEnd
from dissensus.workflows.rater.journey import Step

if TYPE_CHECKING:
    from dissensus.store.raters import Rater

router = APIRouter(dependencies=[Depends(check_storable), Depends(Open("rate"))])

NOW: Final = "/rate#now"
Id = Annotated[str, Path(max_length=36)]
Act = Callable[["Rater"], Step]


@router.post("/chat/begin")
def begin(site: SiteOf, request: Request, sent: SubmittedForm, session: SessionKey = "") -> Response:
    """Begin a conversation."""

    def act(rater: "Rater") -> Step:
        beginning = NewConversation(id=_id(sent), mode=str(sent.get("mode", "")), intent=str(sent.get("intent", "")))
        return chat.begin_conversation(site.platform, rater, beginning, now=site.clock())

    return _do(site, request, session, sent, act)


@router.post("/chat/finish")
def finish(site: SiteOf, request: Request, sent: SubmittedForm, session: SessionKey = "") -> Response:
    """Have no more conversations."""
    return _do(site, request, session, sent, lambda one: chat.finish(site.platform, one, now=site.clock()))


@router.post("/chat/{chat_id}/say")
def say(site: SiteOf, request: Request, chat_id: Id, sent: SubmittedForm, session: SessionKey = "") -> Response:
    """Say something; whoever is asked begins to respond."""

    def act(rater: "Rater") -> Step:
        said, mode = str(sent.get("text", "")), str(sent.get("mode", "")) or None
        now, one = site.clock(), _id(sent)
        step = chat.send_message(site.platform, rater, chat_id, one, said, mode=mode, worked_ms=_worked(sent), now=now)
        site.answering.ask(rater, one)
        return step

    return _do(site, request, session, sent, act)


@router.post("/chat/{exchange_id}/again")
def again(site: SiteOf, request: Request, exchange_id: Id, sent: SubmittedForm, session: SessionKey = "") -> Response:
    """Ask once more for responses that did not come."""

    def act(rater: "Rater") -> Step:
        chat_responses.again(site.platform, rater, exchange_id, now=site.clock())
        site.answering.ask(rater, exchange_id)
        return journey.step(site.platform, rater, now=site.clock())

    return _do(site, request, session, sent, act)


@router.post("/chat/{exchange_id}/pick")
def pick(site: SiteOf, request: Request, exchange_id: Id, sent: SubmittedForm, session: SessionKey = "") -> Response:
    """Keep what somebody prefers of two responses."""

    def act(rater: "Rater") -> Step:
        found = Pick(strength=_number(sent, "strength", "Say which response you mean."))
        edit = _edit(site, rater, exchange_id, sent, found)
        picked = Pick(strength=found.strength, edit=edit)
        worked, now = _worked(sent), site.clock()
        return chat.pick_response(site.platform, rater, exchange_id, picked, worked_ms=worked, now=now)

    return _do(site, request, session, sent, act)


@router.post("/chat/{chat_id}/end")
def end(site: SiteOf, request: Request, chat_id: Id, sent: SubmittedForm, session: SessionKey = "") -> Response:
    """End a conversation."""

    def act(rater: "Rater") -> Step:
        success = _number(sent, "success", "Say how well it went by a number.") if sent.get("success") else None
        ending = ConversationEnd(success=success, comment=str(sent.get("comment", "")))
        return chat.end_conversation(site.platform, rater, chat_id, ending, now=site.clock())

    return _do(site, request, session, sent, act)


@router.get("/chat/{exchange_id}/responses")
def responses(site: SiteOf, exchange_id: Id, session: SessionKey = "") -> StreamingResponse:
    """Tell the responses to an exchange as they come: what a rater waits for holds no thread."""
    rater = rater_of_session(site, session)
    chat_responses.standing(site.platform, rater, exchange_id, now=site.clock())

    async def told() -> AsyncIterator[str]:
        async for kind, data in site.answering.follow(rater, exchange_id):
            yield f"event: {kind}\ndata: {json.dumps(data)}\n\n"

    return StreamingResponse(told(), media_type="text/event-stream", headers={"x-accel-buffering": "no"})


def shown(
    site: Site, step: Step, session: str, *, noted: bool = False, typed: Mapping[str, str] | None = None
) -> Chatting:
    """Return the page of somebody who talks; what nobody has asked for yet is asked for."""
    token, fresh = site.tokens.form(session), str(uuid4())
    context = Chatting(
        language=step.rater.language, step=step, form_token=token, fresh=fresh, noted=noted, typed=typed or {}
    )
    talk = step.chat
    if talk is None or context.moment != "answering":
        return context
    standing = chat_responses.standing_of(talk, talk.exchange_ids[-1], now=site.clock())
    if standing == "free":
        site.answering.ask(step.rater, talk.exchange_ids[-1])
    return replace(context, failed=standing == "failed")


def _do(site: Site, request: Request, session: str, sent: FormData, act: Act) -> Response:
    """Do what a form asks for; where that cannot be, show it again with what was typed."""
    rater = rater_of_form(site, request, session, sent)
    try:
        act(rater)
    except (Conflict, InvalidInput) as error:
        step = journey.step(site.platform, rater, now=site.clock())
        if step.place != "chat":
            raise
        typed = {name: str(sent.get(name, "")) for name in ("text", "intent", "comment", "mode")}
        return page(site, shown(site, step, session, typed={**typed, "fault": str(error)}), UNPROCESSABLE)
    return RedirectResponse(NOW, SEE_OTHER)


def _edit(site: Site, rater: "Rater", exchange_id: str, sent: FormData, pick: Pick) -> str | None:
    """Return what somebody made of the response that they call better; None where it is as it was."""
    place = pick.place
    text = None if place is None else sent.get(f"edit_{place}")
    if text is None or place is None:
        return None
    original = chat.load_response(site.platform, rater, exchange_id, place)
    edited = str(text).replace("\r\n", "\n")
    return None if edited.strip() == (original or "").replace("\r\n", "\n").strip() else edited


def _id(sent: FormData) -> str:
    """Return the id that a page chose, by which the same form sent twice is one."""
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
    return min(int(text), LONGEST_MS) if text.isascii() and text.isdecimal() and len(text) < 12 else 0
