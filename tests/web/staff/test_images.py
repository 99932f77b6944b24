"""Images of items: uploaded by owners, shown to raters who were assigned the item, and exported."""

import re
import zipfile
from io import BytesIO

import httpx
import polars as pl
import pytest
from sqlalchemy import text
from tests.databases import sqlite_only
from tests.support.campaigns import AGREED, NOW, definition
from tests.support.image_files import draw, pack
from tests.support.live_site import Visitor, assignment, hidden
from tests.support.pair_campaigns import pair_definition, pairs, prefer
from tests.support.staff_members import join_pilot
from tests.support.staff_site import StaffSite, send, token_of

from dissensus.errors import Conflict, InvalidInput, NotFound
from dissensus.files.images import read_image
from dissensus.files.items import read_items
from dissensus.schema.records.image import IMAGE, IMAGE_ALT
from dissensus.store.images import add_images
from dissensus.workflows.campaign import audit, campaigns, images
from dissensus.workflows.platform import sign_in_links
from dissensus.workflows.rater import enrolment

IMAGES = "/campaigns/pilot/images"
KNIFE = "A knife on a table."
TABLE = f"""item_id,context,response,image,alt text
1,What is this?,A knife.,knife.png,{KNIFE}
2,And this?,A cup.,cup.png,A cup.
3,And this?,A spoon.,knife.png,
4,Hi,Hello!,,
"""


@pytest.fixture
def owner(staff_site: StaffSite) -> httpx.Client:
    staff_id = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id
    campaigns.create_campaign(staff_site.platform, definition(), (), staff_id=staff_id, now=NOW)
    return staff_site.owner()


def upload(browser: httpx.Client, *files: tuple[str, bytes]) -> httpx.Response:
    parts = [("images", file) for file in files]
    return browser.post(IMAGES, data={"form_token": token_of(browser.get("/campaigns"))}, files=parts)


def add_items(browser: httpx.Client) -> httpx.Response:
    data = {"form_token": token_of(browser.get("/campaigns")), "action": "check"}
    page = browser.post("/campaigns/pilot/items", data=data, files={"items_file": ("items.csv", TABLE.encode())})
    (table,) = re.findall(r'<textarea name="table"[^>]*>\n(.*?)</textarea>', page.text, re.DOTALL)
    roles = re.findall(r'<option value="(\w+)" selected>', page.text)
    assert roles == ["id", "context", "response", "image", "image_alt"]
    fields = {**data, "action": "add", "table": table.replace("&#34;", '"').replace("&#39;", "'"), "role": roles}
    assert browser.post("/campaigns/pilot/items", data=fields, files={"none": ("", b"")}).status_code == 303
    return page


def enter(staff_site: StaffSite, browser: httpx.Client) -> tuple[Visitor, httpx.Response]:
    visitor = staff_site.live.visitor()
    (key,) = re.findall(r"\?key=([\w-]+)", browser.get("/campaigns/pilot").text)
    return visitor, visitor.enter(key)


def test_images_lead_from_an_upload_to_raters_and_exports(staff_site: StaffSite, owner: httpx.Client) -> None:
    page = upload(owner, ("all.zip", pack(pictures___knife__png=draw(), evil__svg=b"<svg/>")))
    assert (page.status_code, "1 image was added" in page.text, "evil.svg" in page.text) == (422, True, True)
    preview = add_items(owner).text
    assert "shows the image &#39;cup.png&#39;, which the campaign does not have" in preview
    assert "The image &#39;knife.png&#39; has no alternative text" in preview
    assert f'src="{IMAGES}/knife.png" alt="{KNIFE}"' in preview
    send(owner, "/campaigns/pilot/state", state="open")
    assert f'src="{IMAGES}/knife.png"' in owner.get("/campaigns/pilot/items/1").text
    rater, first = enter(staff_site, owner)
    seen = [first, rater.rate(first, Q_safe="No")]
    (shown,) = [page for page in seen if "/image" in page.text]
    address = f"/rate/{assignment(shown)}/image"
    assert f'<img src="{address}" alt="{KNIFE}"' in shown.text
    image = rater.get(address)
    assert (image.status_code, image.headers["content-type"]) == (200, "image/png")
    assert image.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in image.headers["content-security-policy"]
    assert image.content == read_image("knife.png", draw()).content == owner.get(f"{IMAGES}/knife.png").content
    (other,) = [page for page in seen if page is not shown]
    assert rater.get(f"/rate/{assignment(other)}/image").status_code == 404
    rater.rate(seen[1], Q_safe="No")
    archive = zipfile.ZipFile(BytesIO(owner.get("/campaigns/pilot/export.zip", params={"purpose": "rating"}).content))
    assert archive.read("pilot/images/knife.png") == image.content
    assert archive.getinfo("pilot/images/knife.png").compress_type == zipfile.ZIP_STORED
    assert "with images of items" in owner.get("/campaigns/pilot").text
    assert "Content warning: " in archive.read("pilot/ratings.csv.README.txt").decode()
    table = archive.read("pilot/ratings.csv").decode()
    assert {"item_image", "item_image_alt"} <= set(table.splitlines()[0].split(","))
    assert KNIFE in table
    assert f"1,knife.png,{KNIFE}" in archive.read("pilot/images.csv").decode()
    assert send(owner, "/campaigns/pilot/clone", new_name="copy").status_code == 303
    assert owner.get("/campaigns/copy/images/knife.png").content == image.content
    assert [audit.audit_campaign(staff_site.platform, name).faults for name in ("pilot", "copy")] == [(), ()]
    with staff_site.platform.database.writing() as tx:
        tx.execute(text("DELETE FROM image"))
    assert "with content warning and sources" in owner.get("/campaigns/pilot").text


@sqlite_only
def test_images_are_shown_to_whoever_may_see_the_item_alone(staff_site: StaffSite, owner: httpx.Client) -> None:
    upload(owner, ("knife.png", draw()))
    add_items(owner)
    send(owner, "/campaigns/pilot/state", state="open")
    rater, page = enter(staff_site, owner)
    stranger, another = staff_site.live.visitor(), enter(staff_site, owner)[0]
    address = f"/rate/{assignment(page)}/image"
    assert (stranger.get(address).status_code, another.get(address).status_code) == (403, 404)
    assert rater.get(f"{IMAGES}/knife.png").status_code == 403
    members = {role: join_pilot(staff_site, role, role) for role in ("carer", "expert")}
    statuses = {role: browser.get(f"{IMAGES}/knife.png").status_code for role, browser in members.items()}
    assert statuses == {"carer": 403, "expert": 200}
    assert staff_site.owner("mia").get(f"{IMAGES}/knife.png").status_code == 404
    # Alternative text only for roles that may not see the image.
    assert IMAGES not in members["carer"].get("/campaigns/pilot").text
    if "/image" not in page.text:
        page = rater.rate(page, Q_safe="No")
        address = f"/rate/{assignment(page)}/image"
    assert rater.get(address).status_code == 200
    rater.send("/notice", **hidden(page), kind="illegal", assignment=assignment(page))
    assert rater.get(address).status_code == 404


def test_images_are_fixed_once_items_show_them_to_raters(staff_site: StaffSite, owner: httpx.Client) -> None:
    platform, staff_id = (
        staff_site.platform,
        sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id,
    )
    with pytest.raises(InvalidInput, match=r"shows the image 'knife.png', which the campaign does not have"):
        add_item(staff_site, staff_id)
    upload(owner, ("knife.png", draw()))
    add_item(staff_site, staff_id)
    with pytest.raises(Conflict, match="Remove the items first"):
        images.remove_images(platform, "pilot", staff_id=staff_id, now=NOW)
    send(owner, "/campaigns/pilot/state", state="open")
    refused = upload(owner, ("knife.png", draw("JPEG")))
    assert (refused.status_code, "its images cannot change" in refused.text) == (409, True)
    assert images.load_image(platform, "pilot", "knife.png", staff_id=staff_id).media_type == "image/png"
    with pytest.raises(NotFound, match="There is no such image"):
        images.load_image(platform, "pilot", "cup.png", staff_id=staff_id)


def test_an_upload_that_adds_nothing_is_named_and_not_logged(staff_site: StaffSite, owner: httpx.Client) -> None:
    staff_id = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id
    empty = upload(owner, ("", b""))
    assert (empty.status_code, "There is no image to add" in empty.text) == (422, True)
    refused = upload(owner, *((f"{i}.svg", b"<svg/>") for i in range(52)))
    assert (refused.status_code, refused.text.count("cannot be the name"), "and 2 more" in refused.text) == (
        422,
        50,
        True,
    )
    assert images.remove_images(staff_site.platform, "pilot", staff_id=staff_id, now=NOW) == 0
    assert count_changes(staff_site) == 0
    upload(owner, ("a.png", draw()))
    assert count_changes(staff_site) == 1


def count_changes(staff_site: StaffSite) -> int:
    with staff_site.platform.database.reading() as tx:
        return int(tx.execute(text("SELECT count(*) FROM event WHERE kind = 'images_changed'")).scalar_one())


def test_names_and_bytes_of_the_images_of_a_campaign_are_checked(staff_site: StaffSite, owner: httpx.Client) -> None:
    upload(owner, ("knife.png", draw()))
    other = upload(owner, ("Knife.png", draw()))
    assert (other.status_code, "&#39;Knife.png&#39; differ in case alone" in other.text) == (409, True)
    with staff_site.platform.database.writing() as tx:
        tx.execute(text("UPDATE image SET n_bytes = 1073741824"))
    full = upload(owner, ("cup.png", draw()))
    assert (full.status_code, "10,000 with 1,073,741,824 are allowed" in full.text) == (409, True)
    # An image may replace itself.
    assert upload(owner, ("knife.png", draw("JPEG"))).status_code == 200


@sqlite_only
def test_an_archive_of_pairs_offers_images_where_there_are_some(staff_site: StaffSite) -> None:
    staff_id = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id
    campaigns.create_campaign(staff_site.platform, pair_definition(), pairs(1), staff_id=staff_id, now=NOW)
    row = campaigns.change_state(staff_site.platform, "pilot", "open", staff_id=staff_id, now=NOW)
    arrival = enrolment.Arrival("pilot", str(row.key), "en")
    prefer(staff_site.platform, enrolment.enrol_rater(staff_site.platform, arrival, AGREED, now=NOW)[0], 1)
    browser = staff_site.owner()
    assert "with preferences, pairs, content warning and sources" in browser.get("/campaigns/pilot").text
    with staff_site.platform.database.writing() as tx:
        add_images(tx, row.id, [read_image("a.png", draw())])
    assert "preferences, pairs, images of items, content warning and sources" in browser.get("/campaigns/pilot").text


def add_item(staff_site: StaffSite, staff_id: str) -> None:
    table = pl.DataFrame(
        {"item_id": ["1"], "context": ["Hi"], "response": ["Ho"], IMAGE: ["knife.png"], IMAGE_ALT: [KNIFE]}
    )
    campaigns.add_items(staff_site.platform, "pilot", read_items(table).items, staff_id=staff_id, now=NOW)
