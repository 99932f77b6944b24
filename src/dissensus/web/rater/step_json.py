"""What a page with scripts gets instead of a whole page: the next item, and the one after it."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dissensus.pipeline.collect.chat import conversation_of, moment
from dissensus.schema.campaign.definition import worded
from dissensus.web.core.renderer import Pages
from dissensus.workflows.rater.journey import Step

if TYPE_CHECKING:
    from dissensus.store.assignments import Assignment


def of_step(step: Step, pages: Pages | None, *, shown: bool = False) -> dict[str, Any]:
    """Return where a rater is, as data; a place that is not an item has a page of its own at /rate."""
    return {
        "place": step.place,
        "done": step.progress.n_done,
        "all": _n_all(step),
        "pause": step.pauses,
        "revision": step.revision,
        "answers": {name: asdict(given) for name, given in step.answers.items()},
        "item": _item(step, step.assignment, None if shown else pages),
        "following": _item(step, step.following, pages),
    }


def as_data(step: Step, form_token: str) -> dict[str, Any]:
    """Return where a rater is, for a program that takes part: the turns themselves, and what forms carry."""
    return {
        **of_step(step, None, shown=True),
        **_rated(step.assignment),
        "check": _check(step),
        "chat": _chat(step),
        "form_token": form_token,
    }


def _rated(assignment: "Assignment | None") -> dict[str, Any]:
    """Return what is rated as the rater sees it, the responses of a pair from left to right."""
    if assignment is None:
        return {"turns": None, "responses": []}
    turns = assignment.item.conversation.to_dicts()
    responses = assignment.item.responses(assignment.shown_first)
    return {"turns": turns[:-1] if responses else turns, "responses": list(responses)}


def _chat(step: Step) -> dict[str, Any] | None:
    """Return the conversation that somebody is in as they see it: nobody is told who responds."""
    chat, talk = step.campaign.chat, step.chat
    if chat is None or talk is None or talk.done:
        return None
    return {
        "id": talk.id,
        "moment": moment(chat, talk.exchanges),
        "mode": talk.last_mode,
        "turns": conversation_of(talk.exchanges).to_dicts() if talk.exchanges else [],
        "exchange": talk.exchange_ids[-1] if talk.exchanges else None,
        "responses": [one.text for one in talk.exchanges[-1].candidates] if talk.exchanges else [],
    }


def _check(step: Step) -> dict[str, Any] | None:
    """Return the check that is due as raters see it: neither its kind nor what is right."""
    if step.due is None:
        return None
    check, language = step.due.check, step.rater.language
    answers = {answer: check.label(answer, language) for answer in check.scale}
    return {"name": check.name, "attempt": step.due.attempt, "text": worded(check.text, language), "answers": answers}


def _item(step: Step, assignment: "Assignment | None", pages: Pages | None) -> dict[str, Any] | None:
    if assignment is None:
        return None
    if pages is None:
        return {"assignment": assignment.id}
    html = pages.fragment("conversation.html", language=step.rater.language, assignment=assignment, step=step)
    return {"assignment": assignment.id, "html": html}


def _n_all(step: Step) -> int | None:
    """Return how many items there are for this rater; None where that depends on what others rate."""
    if step.campaign.replication is None:
        return step.progress.n_done + step.progress.n_open
    return step.campaign.most_items
