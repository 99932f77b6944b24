"""Release page: plan, the verdict of the command, signatures of two owners, roles, log."""

import re
from html import unescape
from pathlib import Path

import httpx
import pytest
from tests.databases import sqlite_only
from tests.support.campaigns import NOW
from tests.support.rated_campaigns import rated_campaign
from tests.support.releases import CROWDED, failed, find_check, plan_text
from tests.support.staff_site import StaffSite, send

from dissensus.campaign.audit_log import EventKind
from dissensus.errors import InvalidInput
from dissensus.files.releases.folder import read_record
from dissensus.schema.release.parser import parse_plan
from dissensus.store import audit_log, staff
from dissensus.store.campaigns import CampaignRow
from dissensus.workflows.campaign import members
from dissensus.workflows.rater import withdrawal
from dissensus.workflows.release.release import prepare_release, write_prepared

pytestmark = sqlite_only
PAGE = "/campaigns/crowded/release"
PLAN = plan_text(**CROWDED)


@pytest.fixture
def campaign(staff_site: StaffSite) -> CampaignRow:
    """A campaign of two owners, ada and grace, both of whom sign."""
    row = rated_campaign(staff_site.platform, 6, 9, release_signers=2)
    for name in ("ada", "grace"):
        members.add_member(staff_site.platform, "crowded", name, "owner", staff_id=row.staff_id, now=NOW)
    members.add_member(staff_site.platform, "crowded", "alan", "analyst", staff_id=row.staff_id, now=NOW)
    return row


def read_outcomes(page: httpx.Response) -> dict[str, str]:
    """The outcome of each check on the page."""
    return dict(re.findall(r'<details id="check-(\w+)"[^>]*>\s*<summary><strong class="state (\w+)"', page.text))


def find_codes(page: httpx.Response) -> dict[str, str]:
    """The codes of the checks that the person may sign."""
    forms = re.findall(r'name="code" value="(\w+)">\s*<button class="secondary" name="check" value="(\w+)"', page.text)
    return {check: code for code, check in forms}


def leave(staff_site: StaffSite, campaign: CampaignRow) -> None:
    """One rater withdraws."""
    with staff_site.platform.database.reading() as tx:
        rater_id = next(iter(audit_log.iterate_events(tx, campaign.id, "entered"))).rater_id
    withdrawal.withdraw_rater(staff_site.platform, str(rater_id), now=staff_site.live.clock())


def count_events(staff_site: StaffSite, campaign: CampaignRow, kind: EventKind) -> int:
    with staff_site.platform.database.reading() as tx:
        return len(list(audit_log.iterate_events(tx, campaign.id, kind)))


@pytest.mark.slow
def test_two_owners_sign_what_the_command_then_writes(
    staff_site: StaffSite, campaign: CampaignRow, tmp_path: Path
) -> None:
    ada, grace = staff_site.owner(), staff_site.owner("grace")
    draft = ada.get(PAGE)
    assert "campaign = &#34;crowded&#34;" in draft.text
    assert read_outcomes(draft) == {}
    refused = send(ada, PAGE, plan=PLAN.replace('licence = "CC-BY-4.0"\n', ""))
    assert refused.status_code == 422
    assert "licence: It is missing." in refused.text
    assert send(ada, PAGE, plan=PLAN).status_code == send(ada, PAGE, plan=PLAN).status_code == 303
    assert count_events(staff_site, campaign, "release_planned") == 1

    # The verdict is that of the command.
    prepared = prepare_release(parse_plan(PLAN), tmp_path, staff_site.platform)
    page = ada.get(PAGE)
    outcomes = {judged.check.name: judged.outcome for judged in prepared.assessed.verdict.checks}
    assert read_outcomes(page) == {**outcomes, "key": "deferred"}
    assert outcomes["membership"] == outcomes["texts"] == "unsigned"
    for judged in prepared.assessed.verdict.checks:
        if judged.check.name != "key":
            assert set(judged.check.evidence) <= set(unescape(page.text).replace("<li>", "</li>").split("</li>"))
    codes = find_codes(page)
    assert codes == {each.check.name: each.code for each in prepared.assessed.verdict.checks if each.code is not None}

    # One signature is not enough, twice the same one either.
    for check, code in codes.items():
        for _ in range(2):
            assert send(ada, f"{PAGE}/signatures", check=check, code=code).status_code == 303
    assert "Signed by ada, one of 2." in ada.get(PAGE).text
    assert find_codes(ada.get(PAGE)) == {}
    for check, code in find_codes(grace.get(PAGE)).items():
        send(grace, f"{PAGE}/signatures", check=check, code=code)
    assert "Ready to be written" in grace.get(PAGE).text
    assert count_events(staff_site, campaign, "release_signed") == 2 * len(codes)
    assert grace.get(f"{PAGE}/plan.toml").text.strip() == PLAN.strip()

    prepared = prepare_release(parse_plan(grace.get(f"{PAGE}/plan.toml").text), tmp_path, staff_site.platform)
    write_prepared(prepared, tmp_path / "out", platform=staff_site.platform, now=staff_site.live.clock())
    signed = {check["check"]: check["signed_by"] for check in read_record(tmp_path / "out")["checks"]}
    assert signed["texts"] == signed["membership"] == ["ada", "grace"]
    assert "crowded 1.0" in grace.get(PAGE).text
    # Who withdraws later is still in copies, of whose users the page thinks.
    staff_site.live.clock.forward(minutes=1)
    leave(staff_site, campaign)
    assert "1 rater withdrew since crowded 1.0" in grace.get(PAGE).text
    assert "Please delete all copies of it" in grace.get(PAGE).text
    with pytest.raises(InvalidInput, match="asks for signatures on the page of the release"):
        prepare_release(
            parse_plan(PLAN + '\n[[signatures]]\ncheck = "texts"\nby = "Eve"\ncode = "0"\n'),
            tmp_path,
            staff_site.platform,
        )


@pytest.mark.slow
def test_signatures_lapse_and_others_see_nothing(staff_site: StaffSite, campaign: CampaignRow, tmp_path: Path) -> None:
    ada, analyst = staff_site.owner(), staff_site.owner("alan")
    for path in (PAGE, f"{PAGE}/plan.toml"):
        assert analyst.get(path).status_code == 403
    assert send(analyst, PAGE, plan=PLAN).status_code == 403
    assert ada.get(f"{PAGE}/plan.toml").status_code == 404
    assert send(ada, PAGE, plan=PLAN.replace('campaign = "crowded"', 'campaign = "other"')).status_code == 422
    send(ada, PAGE, plan=PLAN)
    codes = find_codes(ada.get(PAGE))
    send(ada, f"{PAGE}/signatures", check="texts", code=codes["texts"])
    leave(staff_site, campaign)
    page = ada.get(PAGE)
    assert "Signed by" not in page.text
    assert set(find_codes(page)) == set(codes)
    late = send(ada, f"{PAGE}/signatures", check="membership", code=codes["membership"])
    assert late.status_code == 422
    assert "Nothing was signed" in late.text
    assert failed(prepare_release(parse_plan(PLAN), tmp_path, staff_site.platform).assessed.verdict) == []
    # Nobody writes names into the plan, and owners who may not sign any more do not count.
    with staff_site.platform.database.reading() as tx:
        staff_id = str(staff.find_staff_by_name(tx, "ada").id)  # type: ignore[union-attr]
    named = PLAN + '\n[[signatures]]\ncheck = "texts"\nby = "Grace"\ncode = "0"\n'
    assert "The plan on the site has none" in send(ada, PAGE, plan=named).text
    send(ada, PAGE, plan=PLAN)
    send(ada, f"{PAGE}/signatures", check="texts", code=find_codes(ada.get(PAGE))["texts"])
    assert "Signed by ada, one of 2." in ada.get(PAGE).text
    with staff_site.platform.database.writing() as tx:
        staff.set_disabled(tx, staff_id, at=NOW)
    judged = find_check(prepare_release(parse_plan(PLAN), tmp_path, staff_site.platform).assessed.verdict, "texts")
    assert judged.signed_by == ()
    with staff_site.platform.database.writing() as tx:
        staff.set_disabled(tx, staff_id, at=None)
    # A plan that the data do not support is kept, with the reason, of which the log says who saw it.
    looked = count_events(staff_site, campaign, "viewed")
    send(ada, PAGE, plan=PLAN.replace("rater_age", "rater_height"))
    shown = ada.get(PAGE)
    assert "There is no column &#39;rater_height&#39;" in shown.text
    assert read_outcomes(shown) == {}
    assert count_events(staff_site, campaign, "viewed") == looked + 1
    assert send(ada, PAGE, plan="nonsense =").status_code == 422
    assert count_events(staff_site, campaign, "viewed") == looked + 2
