"""A campaign with resources of each kind, for random requests to the API."""

from tests.support.api_programs import open_api_campaign, rate
from tests.support.campaigns import NOW
from tests.support.gold_campaigns import SMALL, YES, label_item
from tests.support.prolific_server import Prolific
from tests.support.raters import enter
from tests.support.recruited_raters import PAYING, add_submission
from tests.support.staff_site import StaffSite

from dissensus.workflows.campaign import members
from dissensus.workflows.platform import sign_in_links
from dissensus.workflows.rater import rating


def create_resources(staff_site: StaffSite, prolific: Prolific) -> dict[str, str]:
    """Create a campaign with resources of each kind; return path parameters of existing ones, and of no item."""
    platform, campaign = staff_site.platform, open_api_campaign(staff_site, gold=SMALL, **PAYING)
    rate(staff_site, campaign, 3)
    rater = enter(platform, campaign.key)
    rating.report_item(platform, rater, "help", "I am not well.", assignment_id=None, now=NOW)
    submission = add_submission(platform, prolific, campaign.id, rater.id)
    add_submission(platform, prolific, campaign.id, None)
    owner_id = sign_in_links.create_sign_in_link(platform, "ada", now=NOW).staff.id
    members.add_member(platform, "pilot", "eve", "expert", staff_id=owner_id, now=NOW)
    label_item(platform, sign_in_links.create_sign_in_link(platform, "eve", now=NOW).staff.id, YES)
    return {"name": "pilot", "rater_id": rater.id, "submission": submission, "number": "99"}
