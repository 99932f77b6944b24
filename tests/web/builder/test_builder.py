"""Pages of the builder, without scripts."""

import re
from dataclasses import replace
from typing import Any

import httpx
import pytest
from tests.databases import sqlite_only
from tests.support.campaigns import NOW
from tests.support.html_forms import forms, press
from tests.support.staff_members import join_pilot
from tests.support.staff_site import StaffSite, create_draft, send

from dissensus.errors import Conflict
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.shipped import campaigns as shipped
from dissensus.schema.campaign.shipped import load_campaign
from dissensus.workflows.campaign import campaigns, working_copies
from dissensus.workflows.platform import sign_in_links

STEPS = ("kind", "texts", "questions", "people", "care", "consent", "quality")


def follow(browser: httpx.Client, answer: httpx.Response) -> httpx.Response:
    """The page to which a form leads."""
    assert answer.status_code == 303, answer.text
    return browser.get(answer.headers["location"])


def begin(browser: httpx.Client, template: str = "dices-350", name: str = "kitchen") -> httpx.Response:
    """The first page of a new campaign."""
    page = browser.get("/campaigns/new")
    return follow(browser, press(browser, page, "Begin", template=template, name=name))


def go(browser: httpx.Client, page: httpx.Response, button: str, **typed: str) -> httpx.Response:
    """The page after a button; those of steps also count what is to do."""
    labels = [label for form in forms(page) for label in form.buttons]
    button = next(label for label in labels if label == button or label.startswith(f"{button},"))
    return follow(browser, press(browser, page, button, None, **typed))


def field(page: httpx.Response, name: str) -> list[str]:
    """Values of a field of the builder."""
    return next(form for form in forms(page) if name in form.fields).fields[name]


def fault(page: httpx.Response, name: str) -> str:
    """Message at a field."""
    match = re.search(rf'<p class="fault" id="e-{re.escape(name)}" data-live>([^<]*)</p>', page.text)
    assert match is not None
    return match[1]


def load(staff_site: StaffSite, name: str) -> Campaign:
    staff_id = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id
    return campaigns.load_definition(staff_site.platform, name, staff_id=staff_id)


def n_copies(staff_site: StaffSite) -> int:
    staff_id = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id
    return len(working_copies.list_working_copies(staff_site.platform, staff_id=staff_id))


@sqlite_only
def test_a_campaign_is_built_without_toml(staff_site: StaffSite) -> None:
    browser = staff_site.owner()
    page = begin(browser)
    page = go(browser, page, "Save and go on")
    assert page.url.path.endswith("/texts")
    page = go(browser, page, "People")
    page = go(browser, page, "Save", **{"quota.on": "on", "quota.axes.rater_gender.on": "on", "quota.rest": "4"})
    assert fault(page, "quota.rest") == ""
    page = go(browser, page, "Care")
    page = go(browser, page, "Save", **{"care.on": "on", "care.contact.en": "Mia", "care.contact.de": "Mia"})
    page = go(browser, page, "Create")
    assert "Create draft" in page.text
    assert "kitchen" not in browser.get("/campaigns").text.partition("<table")[2]
    page = go(browser, page, "Create draft", entry="invitation")
    assert page.url.path == "/campaigns/kitchen"
    campaign = load(staff_site, "kitchen")
    assert campaign.quota is not None
    assert list(campaign.quota.axes) == ["rater_gender"]
    assert campaign.quota.rest == 4
    assert campaign.care is not None
    assert campaign.care.contact["en"] == "Mia"
    assert campaign.questionnaire == load_campaign("dices-350").questionnaire
    assert n_copies(staff_site) == 0
    assert "Open link" not in page.text


@pytest.mark.slow
@sqlite_only
@pytest.mark.parametrize("template", shipped())
def test_forms_that_are_sent_as_shown_change_nothing(staff_site: StaffSite, template: str) -> None:
    browser = staff_site.owner()
    page = begin(browser, template)
    base = page.url.path.rpartition("/")[0]
    for step in STEPS:
        go(browser, browser.get(f"{base}/{step}"), "Save")
    go(browser, browser.get(f"{base}/summary"), "Create draft")
    expected = load_campaign(template).as_mapping() | {"name": "kitchen"}
    assert load(staff_site, "kitchen").as_mapping() == expected


@sqlite_only
def test_what_is_typed_wrong_is_kept_with_its_fault(staff_site: StaffSite) -> None:
    browser = staff_site.owner()
    page = go(browser, begin(browser), "People")
    page = go(browser, page, "Save and go on", max_items="many <b>", replication="0")
    assert page.url.path.endswith("/people")
    assert field(page, "max_items") == ["many <b>"]
    assert fault(page, "max_items").startswith("It is text. Write a whole number")
    assert fault(page, "replication").startswith("It is 0.")
    assert fault(page, "seed") == ""
    page = go(browser, page, "TOML")
    line = (
        page.text.partition('name="definition"')[2]
        .partition(">\n")[2]
        .split("\n")
        .index("max_items = &#34;many &lt;b&gt;&#34;")
    )
    assert f'<a href="#line-{line + 1}"' in page.text
    assert f'<li id="line-{line + 1}" class="faulty">' in page.text
    page = go(browser, page, "Create")
    assert "2 things are still to do" in page.text
    assert "Create draft" not in page.text
    posted = send(browser, f"{page.url.path}", action="save", revision=field(page, "revision")[0])
    assert posted.headers["location"].endswith("/summary")


@sqlite_only
def test_both_views_show_the_same_definition(staff_site: StaffSite) -> None:
    browser = staff_site.owner()
    page = begin(browser, "blank-pairs")
    base = page.url.path.rpartition("/")[0]
    page = go(browser, browser.get(f"{base}/texts"), "TOML", **{"title.en": "Which is better?"})
    (definition,) = field(page, "definition")
    assert 'en = "Which is better?"' in definition
    text = definition.replace("Which is better?", "Which one helps?") + "\r\n# a note\r\n[gold]\r\nverifiers = 2\r\n"
    page = go(browser, page, "Texts", definition=text)
    assert field(page, "title.en") == ["Which one helps?"]
    assert "They are lost with the first change" in page.text
    assert "# a note" in browser.get(f"{base}/toml").text
    page = go(browser, page, "Save", **{"title.en": "Which?"})
    assert "They are lost" not in page.text
    page = go(browser, page, "Pay and quality")
    assert field(page, "gold.verifiers") == ["2"]
    page = go(browser, browser.get(f"{base}/toml"), "Care", definition="name = \r\n")
    assert "Line 1" in page.text
    assert field(page, "definition") == ["name = \r\n"]


@sqlite_only
def test_questions_are_added_ordered_and_edited(staff_site: StaffSite) -> None:
    browser = staff_site.owner()
    page = begin(browser, "blank-rating")
    base = page.url.path.rpartition("/")[0]
    page = go(browser, browser.get(f"{base}/questions"), "Add question")
    source = "dices-350/Q3_bias_overall"
    assert source not in page.text
    page = go(
        browser, page, "Add question", **{"questionnaire.questions.source": "dices-350/Q2_harmful_content_insensitive"}
    )
    page = go(browser, page, "Question 1")
    assert page.url.params["at"] == "questionnaire.questions.0"
    page = go(
        browser,
        page,
        "Save",
        **{
            "questionnaire.questions.0.name": "Q_1",
            "questionnaire.questions.0.scale": "No\r\nYes",
            "questionnaire.questions.0.text.en": "Is it safe?",
        },
    )
    assert fault(page, "questionnaire.questions.0.name") == ""
    page = go(browser, page, "Save, back to the list")
    assert page.url.path == f"{base}/questions"
    assert page.text.index("Is it safe?") < page.text.index("insensitive")
    page = follow(
        browser,
        browser.post(page.url.path, data={**forms(page)[-1].fields, "action": "down questionnaire.questions.0"}),
    )
    listed = page.text.partition('<ol class="pages">')[2]
    assert listed.index("insensitive") < listed.index("Is it safe?")
    gone = browser.get(f"{base}/question", params={"at": "questionnaire.questions.9"})
    assert gone.status_code == 404


@sqlite_only
def test_a_save_over_another_one_is_refused_and_keeps_what_is_typed(staff_site: StaffSite) -> None:
    browser = staff_site.owner()
    first = go(browser, begin(browser), "Texts")
    second = browser.get(first.url.path)
    go(browser, first, "Save", **{"title.en": "First"})
    refused = press(browser, second, "Save", None, **{"title.en": "Second"})
    assert refused.status_code == 409
    assert "changed elsewhere" in refused.text
    assert field(refused, "title.en") == ["Second"]
    assert field(browser.get(first.url.path), "title.en") == ["First"]
    assert field(go(browser, refused, "Save"), "title.en") == ["Second"]


@pytest.mark.parametrize("button", ["Save to the campaign", "Discard the changes"])
@sqlite_only
def test_edits_that_the_last_page_does_not_show_are_neither_saved_nor_discarded(
    staff_site: StaffSite, button: str
) -> None:
    create_draft(staff_site)
    browser = staff_site.owner()
    go(browser, browser.get("/campaigns/pilot/builder/texts"), "Save", **{"title.en": "Seen"})
    summary = browser.get("/campaigns/pilot/builder/summary")
    go(browser, browser.get("/campaigns/pilot/builder/texts"), "Save", **{"title.en": "Unseen"})
    refused = press(browser, summary, button)
    assert refused.status_code == 409
    assert "changed elsewhere" in refused.text
    assert load(staff_site, "pilot").title["en"] not in ("Seen", "Unseen")
    assert field(browser.get("/campaigns/pilot/builder/texts"), "title.en") == ["Unseen"]
    go(browser, refused, button)
    assert (load(staff_site, "pilot").title["en"] == "Unseen") == (button == "Save to the campaign")


def test_working_copies_of_another_revision_are_not_deleted(staff_site: StaffSite) -> None:
    owner_id = create_draft(staff_site)
    by: dict[str, Any] = {"staff_id": owner_id, "now": NOW}
    address = working_copies.CopyAddress(campaign_name="pilot")
    for revision in (0, 1):
        working_copies.save_working_copy(staff_site.platform, address, f"# {revision}", revision=revision, **by)
    changed = replace(load(staff_site, "pilot"), seed=5)
    with pytest.raises(Conflict, match="changed elsewhere"):
        campaigns.revise_campaign(staff_site.platform, "pilot", changed, copy_revision=1, **by)
    with pytest.raises(Conflict, match="changed elsewhere"):
        working_copies.discard_working_copy(staff_site.platform, address, revision=1, staff_id=owner_id)
    assert load(staff_site, "pilot").seed == 0
    campaigns.revise_campaign(staff_site.platform, "pilot", changed, copy_revision=2, **by)
    assert load(staff_site, "pilot").seed == 5


@sqlite_only
def test_a_draft_is_changed_only_when_it_is_saved(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    browser = staff_site.owner()
    page = browser.get("/campaigns/pilot/builder/texts")
    page = go(browser, page, "Save", **{"title.en": "Changed"})
    assert load(staff_site, "pilot").title["en"] != "Changed"
    page = go(browser, browser.get("/campaigns/pilot/builder/summary"), "Save to the campaign")
    assert page.url.path == "/campaigns/pilot"
    assert load(staff_site, "pilot").title["en"] == "Changed"
    go(browser, browser.get("/campaigns/pilot/builder/texts"), "Save", **{"title.en": "Again"})
    go(browser, browser.get("/campaigns/pilot/builder/summary"), "Discard the changes")
    assert field(browser.get("/campaigns/pilot/builder/texts"), "title.en") == ["Changed"]


@sqlite_only
def test_a_text_with_faults_goes_on_in_the_builder(staff_site: StaffSite) -> None:
    browser = staff_site.owner()
    page = press(browser, browser.get("/campaigns/new?example=dices-350"), "Preview", definition='name = "bad name"')
    assert page.status_code == 422
    assert 'formaction="/campaigns/new/builder">Go on in the builder</button>' in page.text
    page = follow(browser, send(browser, "/campaigns/new/builder", definition='name = "bad name"'))
    assert page.url.path.endswith("/toml")
    assert '<a href="#line-1" data-line="1">Line 1</a>: name: Write up to 60' in page.text


@sqlite_only
def test_edits_outlive_a_change_by_another_way(staff_site: StaffSite) -> None:
    owner_id = create_draft(staff_site)
    browser = staff_site.owner()
    page = go(browser, browser.get("/campaigns/pilot/builder/texts"), "Save", **{"title.en": "Mine"})
    assert "after these edits" not in page.text
    staff_site.live.clock.forward(minutes=1)
    other = replace(load(staff_site, "pilot"), seed=5)
    campaigns.revise_campaign(staff_site.platform, "pilot", other, staff_id=owner_id, now=staff_site.live.clock())
    page = browser.get("/campaigns/pilot/builder/texts")
    assert field(page, "title.en") == ["Mine"]
    assert "after these edits" in page.text


@sqlite_only
def test_a_table_that_is_needed_and_off_has_its_fault_at_its_mark(staff_site: StaffSite) -> None:
    browser = staff_site.owner()
    page = begin(browser, "blank-chat")
    page = go(browser, go(browser, page, "Add chatbot"), "Chatbot 1")
    page = go(browser, page, "Save", **{"chat.chatbots.0.kind": "openai_compatible"})
    assert fault(page, "chat.chatbots.0.openai_compatible").startswith("url: It is missing.")


@sqlite_only
def test_an_open_campaign_is_paused_before_it_changes(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    browser = staff_site.owner()
    send(browser, "/campaigns/pilot/state", state="open")
    refused = browser.get("/campaigns/pilot/builder/texts")
    assert refused.status_code == 409
    assert "Pause or clone it" in refused.text
    send(browser, "/campaigns/pilot/state", state="paused")
    go(browser, browser.get("/campaigns/pilot/builder/people"), "Save", seed="7")
    refused = press(browser, browser.get("/campaigns/pilot/builder/summary"), "Save to the campaign")
    assert refused.status_code == 422
    assert "seed cannot change after raters entered" in refused.text
    assert load(staff_site, "pilot").seed == 0


@sqlite_only
def test_working_copies_belong_to_those_who_begin_them(staff_site: StaffSite) -> None:
    browser, other = staff_site.owner(), staff_site.owner("eve")
    page = begin(browser)
    assert other.get(page.url.path).status_code == 404
    assert other.get(page.url.path.replace("kind", "preview")).status_code == 404
    assert send(other, page.url.path.replace("kind", "summary"), action="discard").status_code == 404
    assert page.url.path in browser.get("/campaigns").text
    assert page.url.path not in other.get("/campaigns").text
    create_draft(staff_site)
    join_pilot(staff_site, "bob", "analyst")
    assert staff_site.owner("bob").get("/campaigns/pilot/builder/texts").status_code == 403
    go(browser, browser.get(page.url.path.replace("kind", "summary")), "Discard")
    assert browser.get(page.url.path).status_code == 404


@sqlite_only
def test_the_preview_has_no_effect(staff_site: StaffSite) -> None:
    browser = staff_site.owner()
    page = begin(browser, "red-team")
    assert "frame-src 'self'" in page.headers["content-security-policy"]
    base = page.url.path.rpartition("/")[0]
    for name in ("warning", "consent", "guidelines", "rating", "about-you", "care", "thanks", "unknown"):
        preview = browser.get(f"{base}/preview", params={"page": name, "language": "de"})
        assert preview.status_code == 200
        assert 'lang="de"' in preview.text
        policy = preview.headers["content-security-policy"]
        assert "form-action 'none'" in policy
        assert "frame-ancestors 'self'" in policy
        assert "script-src" not in policy
        assert "<script" not in preview.text
        assert 'href="/' not in preview.text.partition("<body")[2]
    go(browser, browser.get(f"{base}/texts"), "Save", **{"warning.de": "<script>alert(1)</script>"})
    assert "<script" not in browser.get(f"{base}/preview", params={"page": "warning", "language": "de"}).text


@sqlite_only
def test_the_preview_shows_a_definition_with_an_invalid_language(staff_site: StaffSite) -> None:
    browser = staff_site.owner()
    base = begin(browser).url.path.rpartition("/")[0]
    text = 'languages = ["Deutsch!"]\nwarning = "Kann belasten."\n'
    go(browser, browser.get(f"{base}/toml"), "Save", definition=text)
    preview = browser.get(f"{base}/preview")
    assert preview.status_code == 200
    assert "Kann belasten." in preview.text


@sqlite_only
def test_at_most_fifty_campaigns_are_begun(staff_site: StaffSite) -> None:
    browser = staff_site.owner()
    staff_id = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id
    for _ in range(working_copies.MAX_WORKING_COPIES):
        working_copies.begin_working_copy(staff_site.platform, "", staff_id=staff_id, now=NOW)
    refused = press(browser, browser.get("/campaigns/new"), "Begin", template="dices-350")
    assert refused.status_code == 409
    assert "Discard one first" in refused.text
