"""JSON of a rater's step, for page scripts and for programs."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dissensus.pipeline.collect.chat import build_conversation, choose_next_step
from dissensus.schema.campaign.definition import localise
from dissensus.web.core.renderer import PageRenderer
from dissensus.workflows.rater.next_step import RaterStep

if TYPE_CHECKING:
    from dissensus.store.assignments import AssignmentRow


def step_to_json(step: RaterStep, renderer: PageRenderer | None, *, with_current_html: bool = True) -> dict[str, Any]:
    """Serialise a rater's step; steps other than an item are shown by their page at /rate."""
    return {
        "stage": step.stage,
        "done": step.progress.n_done,
        "total": _n_items(step),
        "pause": step.is_break_due,
        "revision": step.revision,
        "answers": {name: asdict(answer) for name, answer in step.answers.items()},
        "item": _item(step, step.assignment, renderer if with_current_html else None),
        "next_item": _item(step, step.next_assignment, renderer),
    }


def step_to_program_json(step: RaterStep, form_token: str) -> dict[str, Any]:
    """Serialise a rater's step for a program, with turns and CSRF token."""
    return {
        **step_to_json(step, None),
        **_list_turns(step.assignment),
        "check": _check(step),
        "chat": _chat(step),
        "form_token": form_token,
    }


def _list_turns(assignment: "AssignmentRow | None") -> dict[str, Any]:
    """Return the turns of the item as the rater sees it, and the responses of a pair from left to right."""
    if assignment is None:
        return {"turns": None, "responses": []}
    turns = assignment.item.conversation.to_dicts()
    responses = assignment.item.responses(assignment.shown_first)
    return {"turns": turns[:-1] if responses else turns, "responses": list(responses)}


def _chat(step: RaterStep) -> dict[str, Any] | None:
    """Return the open conversation without the names of the chatbots."""
    chat, talk = step.campaign.chat, step.chat
    if chat is None or talk is None or talk.done:
        return None
    return {
        "id": talk.id,
        "step": choose_next_step(chat, talk.exchanges),
        "mode": talk.last_mode,
        "turns": build_conversation(talk.exchanges).to_dicts() if talk.exchanges else [],
        "exchange": talk.exchange_ids[-1] if talk.exchanges else None,
        "responses": [candidate.text for candidate in talk.exchanges[-1].candidates] if talk.exchanges else [],
        "failures": [candidate.failure for candidate in talk.exchanges[-1].candidates] if talk.exchanges else [],
    }


def _check(step: RaterStep) -> dict[str, Any] | None:
    """Return the attention check that is due, without its kind and expected answer."""
    if step.due is None:
        return None
    check, language = step.due.check, step.rater.language
    answers = {response: check.label(response, language) for response in check.scale}
    return {"name": check.name, "attempt": step.due.attempt, "text": localise(check.text, language), "answers": answers}


def _item(step: RaterStep, assignment: "AssignmentRow | None", renderer: PageRenderer | None) -> dict[str, Any] | None:
    if assignment is None:
        return None
    if renderer is None:
        return {"assignment": assignment.id}
    html = renderer.render_fragment(
        "rater/conversation.html", language=step.rater.language, assignment=assignment, step=step
    )
    return {"assignment": assignment.id, "html": html}


def _n_items(step: RaterStep) -> int | None:
    """Return the number of items of this rater, or its limit under replication; None without a limit."""
    if step.campaign.replication is None:
        return step.progress.n_done + step.progress.n_open
    return step.campaign.max_items
