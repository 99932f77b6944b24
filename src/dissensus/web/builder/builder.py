"""Builder pages: the steps of a new campaign or of a draft, its TOML, its check and its preview."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query
from fastapi.responses import Response
from starlette.datastructures import FormData

from dissensus.campaign.builder.check import (
    TOML_STEP,
    DefinitionCheck,
    check_definition,
    follow_languages,
    place_faults,
    step_of,
    write_definition,
)
from dissensus.campaign.builder.field import ACTION, FormNode
from dissensus.campaign.builder.question import (
    question_faults,
    read_question,
    show_question,
    step_of_question,
    title_of_question,
)
from dissensus.campaign.builder.step import STEPS, Step, find_step
from dissensus.campaign.builder.template import load_template
from dissensus.errors import Conflict, InvalidInput
from dissensus.schema.advice import site_message
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.characters import normalise_line_ends
from dissensus.schema.definition_errors import DefinitionFault
from dissensus.web.builder.preview import list_languages, list_pages, render_preview
from dissensus.web.core.responses import page, redirect_to
from dissensus.web.core.site import Site
from dissensus.web.core.slow_requests import SlowRequestSlot
from dissensus.web.core.staff_auth import Name, Require, SiteOf, StaffForm, StaffPage, StaffRequest
from dissensus.web.middleware.security_headers import CONTENT_SECURITY_POLICY
from dissensus.workflows.campaign import campaigns, working_copies
from dissensus.workflows.campaign.working_copies import CopyAddress, WorkingCopy

router = APIRouter()

BUILDER_POLICY: Final = f"{CONTENT_SECURITY_POLICY}; frame-src 'self'"
"""Content security policy of pages that frame the preview."""
SUMMARY: Final = "summary"
QUESTION: Final = "question"
PREVIEW: Final = "preview"
NEW: Final = "/campaigns/new"
MAX_PARAMETER_LENGTH: Final = 60
Parameter = Annotated[str, Query(max_length=MAX_PARAMETER_LENGTH)]


@dataclass(frozen=True, slots=True)
class Draft:
    """The definition that pages edit: of a new campaign, or of an existing one."""

    site: Site
    caller: StaffRequest
    address: CopyAddress

    @property
    def path(self) -> str:
        """Path of its pages, without the name of a step."""
        address = self.address
        return f"/campaigns/{address.campaign_name}/builder" if address.campaign_name else f"{NEW}/{address.copy_id}"

    def load(self) -> WorkingCopy:
        """Return its working copy."""
        return working_copies.load_working_copy(self.site.platform, self.address, staff_id=self.caller.staff.id)

    def save(self, text: str, revision: int) -> None:
        """Save its working copy."""
        staff_id, now = self.caller.staff.id, self.site.clock()
        working_copies.save_working_copy(
            self.site.platform, self.address, text, revision=revision, staff_id=staff_id, now=now
        )

    def discard(self, revision: int) -> None:
        """Discard its working copy."""
        working_copies.discard_working_copy(
            self.site.platform, self.address, revision=revision, staff_id=self.caller.staff.id
        )

    def finish(self, campaign: Campaign, revision: int, *, open_link: bool) -> None:
        """Create the campaign from a revision, or change it as far as it may be changed."""
        platform, staff_id, now = self.site.platform, self.caller.staff.id, self.site.clock()
        name = self.address.campaign_name
        if not name:
            campaigns.create_campaign(
                platform,
                campaign,
                (),
                staff_id=staff_id,
                open_link=open_link,
                copy_id=self.address.copy_id,
                copy_revision=revision,
                now=now,
            )
            return
        campaigns.revise_campaign(platform, name, campaign, staff_id=staff_id, copy_revision=revision, now=now)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Parts of a page that the request determines."""

    at: str = ""  # name of a question, or page of the preview
    checked: bool = False  # True if faults are shown at their fields
    alert: str = ""  # refusal of a save
    open_link: bool = True  # True if one open link shall admit anybody


@dataclass(frozen=True, slots=True, kw_only=True)
class BuilderPage(StaffPage):
    """Fields that all pages of the builder have."""

    template: ClassVar[str] = "staff/builder.html"
    steps: ClassVar[tuple[Step, ...]] = STEPS

    path: str  # of the pages, without the name of a step
    campaign_name: str  # empty for a new campaign
    copy: WorkingCopy
    check: DefinitionCheck
    current: str  # step
    preview: str  # page of raters
    languages: tuple[str, ...]
    view: View

    @property
    def preview_pages(self) -> Mapping[str, str]:
        """Pages of the preview."""
        return list_pages(self.check.table)

    @property
    def first_page(self) -> str:
        """Page of the preview that is shown first."""
        return self.preview if self.preview in self.preview_pages else "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPage(BuilderPage):
    """Fields of one step, or of one question."""

    template: ClassVar[str] = "staff/builder-step.html"

    title: str
    explanation: str
    nodes: tuple[FormNode, ...]
    messages: Mapping[str, tuple[str, ...]]  # by field
    next_step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TomlPage(BuilderPage):
    """Definition as TOML, with its faults at their lines."""

    template: ClassVar[str] = "staff/builder-toml.html"

    @property
    def faulty_lines(self) -> frozenset[int]:
        """Lines with faults."""
        return frozenset(fault.line for fault in self.check.faults if fault.line is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryPage(BuilderPage):
    """Faults by step, and the buttons that save or discard everything."""

    template: ClassVar[str] = "staff/builder-summary.html"

    @property
    def by_step(self) -> Mapping[str, tuple[DefinitionFault, ...]]:
        """Faults by the step that has their field."""
        faults = self.check.faults
        return {name: tuple(fault for fault in faults if step_of(fault.path) == name) for name in self.check.n_faults}


@router.post("/campaigns/new/builder")
def begin_campaign(
    site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("create"))], form: StaffForm
) -> Response:
    """Begin a campaign with a template, or with a text in TOML."""
    text = normalise_line_ends(str(form.get("definition", "")))
    is_typed = bool(text.strip())
    if not is_typed:
        text = load_template(str(form.get("template", "")), str(form.get("name", "")).strip())
    copy_id = working_copies.begin_working_copy(site.platform, text, staff_id=caller.staff.id, now=site.clock())
    return _redirect(f"{NEW}/{copy_id}", TOML_STEP if is_typed else STEPS[0].name)


def read_view(at: Parameter = "", checked: bool = False, page: Parameter = "") -> View:
    """Return the part of a page that the query names."""
    return View(at=at or page, checked=checked)


def edit_new(site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("create"))], copy_id: str) -> Draft:
    """Return the definition of a new campaign."""
    return Draft(site, caller, CopyAddress(copy_id=copy_id))


def edit_draft(site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("revise"))], name: Name) -> Draft:
    """Return the definition of an existing campaign."""
    return Draft(site, caller, CopyAddress(campaign_name=name))


ViewOf = Annotated[View, Depends(read_view)]
NewDraft = Annotated[Draft, Depends(edit_new)]
ExistingDraft = Annotated[Draft, Depends(edit_draft)]


@router.get("/campaigns/new/{copy_id}/{step}")
def show_new(draft: NewDraft, step: str, view: ViewOf, _slot: SlowRequestSlot, language: Parameter = "") -> Response:
    """Show a page of a new campaign."""
    return _show(draft, step, view, language)


@router.post("/campaigns/new/{copy_id}/{step}")
def save_new(draft: NewDraft, step: str, form: StaffForm, _slot: SlowRequestSlot, at: Parameter = "") -> Response:
    """Save a page of a new campaign."""
    return _save(draft, step, at, form)


@router.get("/campaigns/{name}/builder/{step}")
def show_draft(
    draft: ExistingDraft, step: str, view: ViewOf, _slot: SlowRequestSlot, language: Parameter = ""
) -> Response:
    """Show a page of an existing campaign."""
    return _show(draft, step, view, language)


@router.post("/campaigns/{name}/builder/{step}")
def save_draft(
    draft: ExistingDraft, step: str, form: StaffForm, _slot: SlowRequestSlot, at: Parameter = ""
) -> Response:
    """Save a page of an existing campaign."""
    return _save(draft, step, at, form)


def _show(draft: Draft, step: str, view: View, language: str) -> Response:
    copy = draft.load()
    if step == PREVIEW:
        table = copy.check.table or {}
        languages = list_languages(table)
        shown = language if language in languages else next(iter(languages), "en")
        return render_preview(draft.site.renderer, table, view.at, shown, copy.item)
    return _page(draft, copy, step, view)


def _save(draft: Draft, step: str, at: str, form: FormData) -> Response:
    """Save what was typed, with or without faults, and go where the button leads."""
    copy = draft.load()
    if step == SUMMARY:
        return _finish(draft, copy, form)
    table = copy.check.table
    if step == TOML_STEP or table is None:
        text = normalise_line_ends(str(form.get("definition", copy.text)))
    else:
        text = write_definition(_read(step, at, form, table))
    try:
        _check_revision(copy, form)
        if text != copy.text:
            draft.save(text, copy.revision)
    except Conflict as error:
        alert = f"{site_message(error)} What you typed is below and not saved. Save again to keep it."
        return _page(draft, replace(draft.load(), text=text), step, View(at=at, checked=True, alert=alert), 409)
    return _redirect_by_button(draft.path, step, at, form, check_definition(text))


def _check_revision(copy: WorkingCopy, form: FormData) -> None:
    if str(form.get("revision")) != str(copy.revision):
        raise Conflict("The definition was changed elsewhere since this page was loaded.")


def _read(step: str, at: str, form: FormData, table: Mapping[str, Any]) -> dict[str, Any]:
    values = {key: value for key, value in form.items() if isinstance(value, str)}
    if step == QUESTION:
        return read_question(values, table, at)
    return follow_languages(table, find_step(step).read(values, table))


def _redirect_by_button(path: str, step: str, at: str, form: FormData, check: DefinitionCheck) -> Response:
    """Redirect to the page that a button names; the next step only if this one has no faults."""
    target, action = str(form.get("to", "")), str(form.get(ACTION, ""))
    verb, _, name = target.partition(" ")
    place = {"at": at} if at else {}
    if verb == QUESTION:
        return _redirect(path, QUESTION, {"at": name})
    if verb not in ("", "next", "stay"):
        return _redirect(path, verb)
    if verb == "next" and not (question_faults(check.faults, at) if at else check.n_faults.get(step)):
        return _redirect(path, name)
    # Buttons of rows, and scripts that save while somebody types, show faults only where they are shown already.
    checked = form.get("checked") == "1" or bool(verb)
    return _redirect(path, step, {**place, **({"checked": "1"} if checked else {})}, action)


def _redirect(path: str, step: str, query: Mapping[str, str] | None = None, action: str = "") -> Response:
    fragment = f"#f-{action.partition(' ')[2]}" if action else ""
    return redirect_to(f"{path}/{step}{'?' if query else ''}{urlencode(query or {})}{fragment}")


def _finish(draft: Draft, copy: WorkingCopy, form: FormData) -> Response:
    """Discard the working copy, or create or change the campaign."""
    action, campaign = form.get(ACTION), copy.check.campaign
    open_link = form.get("entry") != "invitation"
    if action in ("save", "discard"):
        try:
            _check_revision(copy, form)
        except Conflict as error:
            alert = f"{site_message(error)} This is the definition as it is now."
            return _page(draft, copy, SUMMARY, View(alert=alert, open_link=open_link), 409)
    if action == "discard":
        draft.discard(copy.revision)
        return redirect_to(f"/campaigns/{draft.address.campaign_name}".rstrip("/"))
    if action != "save" or campaign is None:
        target = str(form.get("to", ""))
        return _redirect(draft.path, SUMMARY if target in ("", "stay") else target)
    try:
        draft.finish(campaign, copy.revision, open_link=open_link)
    except (InvalidInput, Conflict) as error:
        return _page(draft, copy, SUMMARY, View(alert=site_message(error), open_link=open_link), 422)
    return redirect_to(f"/campaigns/{campaign.name}")


def _page(draft: Draft, copy: WorkingCopy, step: str, view: View, status: int = 200) -> Response:
    check = copy.check
    fields: dict[str, Any] = {
        "path": draft.path,
        "campaign_name": draft.address.campaign_name,
        "copy": copy,
        "check": check,
        "current": step,
        "preview": "warning",
        "languages": list_languages(check.table) or ("en",),
        "view": view,
    }
    if step == SUMMARY:
        context: BuilderPage = draft.caller.page(SummaryPage, **fields)
    elif step == TOML_STEP or check.table is None:
        context = draft.caller.page(TomlPage, **{**fields, "current": TOML_STEP})
    else:
        context = draft.caller.page(StepPage, **{**fields, **_fields(step, view.at, check)})
    response = page(draft.site, context, status)
    response.headers["content-security-policy"] = BUILDER_POLICY
    return response


def _fields(step: str, at: str, check: DefinitionCheck) -> dict[str, Any]:
    """Return the fields of a step or a question, with their faults."""
    table = check.table or {}
    owner = find_step(step_of_question(at) if step == QUESTION else step)
    nodes = show_question(table, at) if step == QUESTION else owner.show(table)
    names = [*(each.name for each in STEPS), SUMMARY]
    return {
        "title": title_of_question(at) if step == QUESTION else owner.title,
        "explanation": "" if step == QUESTION else owner.explanation,
        "nodes": nodes,
        "messages": place_faults(nodes, check.faults),
        "next_step": owner.name if step == QUESTION else names[names.index(step) + 1],
        "preview": owner.preview,
        "current": owner.name,
    }
