"""Pages about pay and submissions, and campaigns that pay."""

import re
from html import unescape
from uuid import uuid4

import httpx
from sqlalchemy import insert
from tests.support.campaigns import NOW, definition, items
from tests.support.recruited_raters import PAYING
from tests.support.staff_site import StaffSite, send

from dissensus.store.campaigns import CampaignRow
from dissensus.store.payments import PaymentTable
from dissensus.store.raters import RaterRow, RaterTable
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform import sign_in_links

PAY_PAGE, QUEUE = "/campaigns/pilot/pay", "/campaigns/pilot/pay/submissions"


def open_paying_campaign(staff_site: StaffSite, **changes: object) -> CampaignRow:
    """Open a paying campaign of ada."""
    staff_id = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id
    campaign = definition(**{**PAYING, **changes})
    campaigns.create_campaign(staff_site.platform, campaign, items(2), staff_id=staff_id, now=NOW)
    return campaigns.change_state(staff_site.platform, "pilot", "open", staff_id=staff_id, now=NOW)


def text_of(page: httpx.Response) -> str:
    """The text of a page, without tags."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page.text)).split())


def address(rater: RaterRow) -> str:
    return f"{PAY_PAGE}/raters/{rater.id}"


def note(browser: httpx.Client, rater: RaterRow, amount: str, payment: str | None = None) -> httpx.Response:
    return send(browser, address(rater), amount=amount, payment=payment or str(uuid4()))


def sums(page: httpx.Response) -> list[str]:
    """Owed, paid and due amounts on the page."""
    return re.findall(r"<dt>(?:Owed|Paid|Due)</dt><dd>([^<]+)</dd>", page.text)[:3]


def add_raters(staff_site: StaffSite, campaign: CampaignRow, n: int) -> None:
    """Insert n withdrawn raters; each worked longer than the previous one, and every third is paid."""
    with staff_site.platform.database.writing() as tx:
        rows = [
            {
                "id": f"{number:036d}",
                "campaign_id": campaign.id,
                "number": number,
                "state": "withdrawn",
                "language": "en",
            }
            for number in range(n)
        ]
        times = {"entered_at": NOW, "last_seen_at": NOW, "changed_at": NOW}
        worked = [{"worked_ms": 300_000 * row["number"], "rehearsal": False} for row in rows]  # type: ignore[operator]
        tx.execute(insert(RaterTable), [{**row, **one, **times} for row, one in zip(rows, worked, strict=True)])
        paid = [
            {"id": str(uuid4()), "rater_id": f"{number:036d}", "amount": 100 * number, "at": NOW}
            for number in range(0, n, 3)
        ]
        tx.execute(insert(PaymentTable), paid)
