"""Guidelines: before the first item, and behind a link on every later page."""

from pathlib import Path

from tests.databases import sqlite_only
from tests.support.campaigns import CHECKS, NOW, definition, items, open_campaign, owner
from tests.support.image_files import draw
from tests.support.live_site import LiveSite
from tests.support.rating_pages import page_text

from dissensus.files.images import read_image
from dissensus.workflows.campaign import campaigns, images, opening
from dissensus.workflows.campaign.opening import SiteServices

GUIDELINES = "Judge **the last answer** alone.\n\nSee [our policy](https://example.org/policy)."


@sqlite_only
def test_guidelines_come_before_the_first_item_and_stay_reachable(live: LiveSite) -> None:
    key = str(open_campaign(live.platform, 3, guidelines=GUIDELINES).key)
    visitor = live.visitor()
    page = visitor.enter(key)
    assert "<strong>the last answer</strong>" in page.text
    assert 'href="https://example.org/policy" rel="noopener noreferrer" target="_blank"' in page.text
    assert 'id="answers"' not in page.text
    item = visitor.get("/rate", params={"begin": "1"})
    assert 'id="answers"' in item.text
    for shown in (item, visitor.rate(item, Q_safe="Yes")):
        assert '<a href="#guidelines">Guidelines</a>' in shown.text
        assert '<dialog id="guidelines"' in shown.text
    # Afterwards the address of items leads to the next one.
    assert 'id="answers"' in visitor.get("/rate").text
    program = live.visitor()
    program.enter(key)
    assert program.get("/rate", headers={"accept": "application/json"}).json()["stage"] == "rate"


@sqlite_only
def test_an_item_that_was_begun_comes_without_the_guidelines(live: LiveSite) -> None:
    visitor = live.visitor()
    visitor.enter(str(open_campaign(live.platform, 3, guidelines=GUIDELINES, click_to_reveal=True).key))
    assert "Begin" in page_text(visitor.get("/rate"))
    page = visitor.get("/rate", params={"begin": "1"})
    refused = visitor.rate(page)
    assert refused.status_code == 422
    assert 'id="answers"' in refused.text
    assert 'id="answers"' in visitor.get("/rate", params={"opened": "x"}).text


@sqlite_only
def test_comprehension_checks_show_the_guidelines(live: LiveSite) -> None:
    key = str(open_campaign(live.platform, 3, guidelines=GUIDELINES, checks=CHECKS[2:], estimated_minutes=5).key)
    page = live.visitor().enter(key)
    assert "What do you judge?" in page_text(page)
    assert "<strong>the last answer</strong>" in page.text


@sqlite_only
def test_campaigns_without_guidelines_have_no_link(live: LiveSite) -> None:
    page = live.visitor().enter(str(open_campaign(live.platform, 3).key))
    assert 'id="answers"' in page.text
    assert "guidelines" not in page.text


def test_images_of_guidelines_are_sent_to_raters_of_their_campaign(live: LiveSite) -> None:
    staff_id = owner(live.platform.database)
    guidelines = {"en": "![A scale](scale.png) ![](bare.png) ![Elsewhere](https://example.org/x.png)"}
    campaigns.create_campaign(live.platform, definition(guidelines=guidelines), items(2), staff_id=staff_id, now=NOW)
    services = SiteServices(chatbot_hosts=frozenset(), model_registry=Path("none"), languages=("en",))

    def list_problems() -> list[str]:
        findings = opening.check_draft(live.platform, "pilot", services, staff_id=staff_id)
        return [finding.problem for finding in findings if finding.location == "guidelines"]

    missing = "The guidelines show the image 'scale.png', which the campaign does not have."
    bare = "The image 'bare.png' of the guidelines has no alternative text."
    elsewhere = "The guidelines have an image from elsewhere, 'https://example.org/x.png', which is not loaded"
    assert [problem.partition(":")[0] for problem in list_problems()] == [missing, bare, elsewhere.partition(":")[0]]
    drawn = [read_image(name, draw()) for name in ("scale.png", "other.png")]
    images.add_images(live.platform, "pilot", drawn, staff_id=staff_id, now=NOW)
    assert missing not in list_problems()
    key = campaigns.change_state(live.platform, "pilot", "open", staff_id=staff_id, now=NOW).key
    visitor = live.visitor()
    page = visitor.enter(str(key))
    assert '<img src="/guidelines/images/scale.png" alt="A scale" loading="lazy">' in page.text
    assert page.text.count("<img") == 2, "the page and its dialog"
    sent = visitor.get("/guidelines/images/scale.png")
    assert (sent.status_code, sent.headers["content-type"]) == (200, "image/png")
    # Images of items are sent with the items alone, and nothing to strangers.
    assert visitor.get("/guidelines/images/other.png").status_code == 404
    assert live.visitor().get("/guidelines/images/scale.png").status_code == 403
