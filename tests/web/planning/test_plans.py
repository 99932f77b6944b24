"""Plan pages: each question computed from the draft, adopted into its definition and its log; what is refused."""

import json
from dataclasses import replace
from html import unescape
from typing import Any

import httpx
import pytest
from tests.databases import sqlite_only
from tests.support.campaigns import NOW, items
from tests.support.staff_site import StaffSite, send, token_of

from dissensus.campaign.audit_log import AuditEvent
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.shipped import load_campaign
from dissensus.store import audit_log
from dissensus.store import campaigns as campaign_store
from dissensus.workflows.campaign import audit, campaigns, members
from dissensus.workflows.platform import sign_in_links

PAGE = "/campaigns/dices-350/plans"
FIELDS = {
    "groups": {
        "preset": "dices-350",
        "by": "gender",
        "statistic": "share",
        "difference": "0.15",
        "power": "0.8",
        "level": "0.05",
        "n_items": "60",
        "per_items": "10,20",
        "hourly_rate": "12",
        "minutes_per_item": "2",
    },
    "precision": {"preset": "dices-350", "raters": "20,50", "items": "60", "groups": "2"},
    "pool": {
        "axes": "rater_gender=Man:0.49,Woman:0.5",
        "seats": "10",
        "dropout": "0.1",
        "removal": "0.1\nMan = 0.23",
        "confidence": "0.9",
        "items": "60",
    },
    "comparison": {
        "preset": "dices-350",
        "metric": "share",
        "budget": "300",
        "perturbation": "0.3",
        "per_items": "1, 5",
        "load": "20",
        "hourly_rate": "12",
    },
}


@pytest.fixture
def ada(staff_site: StaffSite) -> httpx.Client:
    """A browser of the owner of a draft."""
    owner_id = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id
    campaigns.create_campaign(staff_site.platform, load_campaign("dices-350"), items(3), staff_id=owner_id, now=NOW)
    return staff_site.owner()


def compute(browser: httpx.Client, question: str, **changes: str) -> httpx.Response:
    return send(browser, PAGE, question=question, **{**FIELDS[question], **changes})


def find_definition(staff_site: StaffSite) -> tuple[Campaign, list[AuditEvent]]:
    """The definition of the draft, and its events of plans."""
    with staff_site.platform.database.reading() as tx:
        row = campaign_store.get_campaign_by_name(tx, "dices-350")
        return staff_site.platform.definitions.load(tx, row), list(audit_log.iterate_events(tx, row.id, "planned"))


@pytest.mark.slow
def test_a_draft_follows_its_plans_and_its_log_has_them(staff_site: StaffSite, ada: httpx.Client) -> None:
    """Pool, then raters of a group, then a comparison: a campaign is made from each."""
    assert "rater_gender=" in ada.get(f"{PAGE}?question=pool").text
    addresses = {}
    for question in FIELDS:
        done = compute(ada, question)
        assert done.status_code == 303, unescape(done.text)
        addresses[question] = done.headers["location"]
    assert find_definition(staff_site)[1] == []

    assert "raters per group on 60 items with 10 ratings each reach a power of .80" in ada.get(addresses["groups"]).text
    light, dark = (ada.get(f"{addresses['groups']}/figures/plan-cost/{kind}") for kind in ("svg", "narrow.dark.svg"))
    assert light.headers["content-type"] == dark.headers["content-type"] == "image/svg+xml"
    assert "#0A3B63" in light.text
    assert "#C9E4F8" in dark.text
    refused = send(ada, f"{addresses['groups']}/adoption")
    assert refused.status_code == 422
    assert "the campaign has no quota of one axis" in refused.text

    for question in ("pool", "groups", "comparison"):
        assert send(ada, f"{addresses[question]}/adoption").status_code == 303
    campaign, planned = find_definition(staff_site)
    smallest = json.loads(ada.get(f"{addresses['groups']}/plan.json").text)["smallest"]
    assert campaign.quota is not None
    assert campaign.quota.targets["Woman"] == smallest
    assert (campaign.replication, campaign.max_items) in ((1, 20), (5, 20))
    assert [event.content["question"] for event in planned] == ["pool", "groups", "comparison"]
    assert audit.audit_campaign(staff_site.platform, "dices-350").holds
    assert "the campaign follows it" in ada.get(addresses["comparison"]).text
    assert "the campaign follows it" not in ada.get(addresses["pool"]).text
    assert "Take these numbers" not in ada.get(addresses["precision"]).text

    owner_id = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id
    other = replace(campaign, replication=3)
    campaigns.revise_campaign(staff_site.platform, "dices-350", other, staff_id=owner_id, now=NOW)
    changed = ada.get(addresses["comparison"])
    assert "The definition was changed since, and has other numbers now." in changed.text
    assert "Take these numbers" in changed.text
    assert "the campaign follows it" not in changed.text + ada.get(PAGE).text
    assert send(ada, f"{addresses['comparison']}/adoption").status_code == 303
    assert "the campaign follows it" in ada.get(PAGE).text
    members.add_member(staff_site.platform, "dices-350", "alan", "analyst", staff_id=owner_id, now=NOW)
    campaigns.change_state(staff_site.platform, "dices-350", "open", staff_id=owner_id, now=NOW)
    refusal = "plans can be made only for drafts"
    late = send(ada, f"{addresses['pool']}/adoption")
    assert (late.status_code, refusal in late.text) == (422, True)
    lost = compute(ada, "pool", dropout="0.123")
    assert (lost.status_code, refusal in lost.text, "0.123" in lost.text) == (409, True, True)
    assert "Compute the plan" not in ada.get(PAGE).text
    assert staff_site.owner("alan").get(PAGE).status_code == 403


BAD_INPUT: tuple[tuple[str, dict[str, str], str], ...] = (
    ("groups", {"difference": "0.7"}, "at most 0.67 remain"),
    ("groups", {"difference": "0.001"}, "No number of raters detects a difference of 0.001"),
    ("groups", {"difference": "ten"}, "'ten' is not a number in “Difference to detect”"),
    ("groups", {"n_items": "0"}, "in “Items”. Write a whole number from 1 to 5,000"),
    ("groups", {"statistic": "mean"}, "'mean' cannot be chosen. Choose 'share'"),
    ("groups", {"by": "shoe size"}, "has no effects of shoe size"),
    ("groups", {"statistic": "alpha", "raters": "2000", "n_items": "5000"}, "too large to be simulated here"),
    ("groups", {"n_items": ""}, "There is no number of items"),
    ("groups", {"n_items": "60,90,120", "per_items": "5,10,20"}, "9 sizes of the campaign, and a page computes 8"),
    ("precision", {"raters": ""}, "There is no number of raters"),
    ("precision", {"raters": "1,2,3,4,5,6,7,8,9"}, "has 9 numbers, and a page computes 8"),
    ("pool", {"axes": "rater_gender=Man:0.6,Woman:0.6"}, "The shares of rater_gender add up to 1.200"),
    ("pool", {"removal": "0.1\n" * 500 + "0"}, "has more than 2,000 characters"),
    ("pool", {"axes": "Man"}, "Write it like rater_gender=Man:0.5,Woman:0.5"),
    ("comparison", {"budget": "1"}, "is below one seat: a rater with 20 answers costs"),
    ("comparison", {"hourly_rate": ""}, "Give the pay of an hour, such as 12."),
    ("comparison", {"hourly_rate": "0"}, "a rater costs nothing. Give pay above 0"),
    ("comparison", {"budget": "2,000"}, "'2,000' is not a number in “"),
    ("comparison", {"budget": "nan"}, "budget is nan; give a number from 0"),
    ("comparison", {"budget": "inf"}, "budget is inf; give a number from 0"),
    ("comparison", {"budget": "999999"}, "are too many to be simulated here"),
)


@sqlite_only
def test_what_cannot_be_planned_is_said_in_the_form(ada: httpx.Client) -> None:
    for question, changes, words in BAD_INPUT:
        refused = compute(ada, question, **changes)
        text = unescape(refused.text)
        assert (refused.status_code, words in text) == (422, True), (changes, text)
        # What was typed stands in the form again.
        assert all(value in text for value in changes.values())


@sqlite_only
def test_a_pilot_is_measured_and_a_small_one_refused(ada: httpx.Client) -> None:
    cells = [(r, i, "Yes" if (r * 7 + i * 3 + r * i) % 5 < r % 4 else "No") for r in range(12) for i in range(12)]
    data: dict[str, Any] = {"form_token": token_of(ada.get(PAGE)), "question": "precision", **FIELDS["precision"]}
    for n_raters, status in ((12, 303), (2, 422)):
        rows = [f"r{r},i{i},{answer}" for r, i, answer in cells if r < n_raters]
        file = "\n".join(["rater_id,item_id,Q_overall", *rows])
        files = {"pilot": ("pilot.csv", file.encode(), "text/csv")}
        # The fit takes seconds of a free processor.
        done = ada.post(PAGE, data=data, files=files, timeout=60)
        assert done.status_code == status, unescape(done.text)
    assert "The pilot has 2 raters, too few to show how much raters differ. The least that works is 8" in done.text
