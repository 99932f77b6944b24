"""Images of a campaign: add and remove them while it is a draft, and load them for staff and raters."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final

import polars as pl
from sqlalchemy import Connection

from dissensus.errors import Conflict, InvalidInput, NotFound
from dissensus.schema.hints import format_value
from dissensus.schema.ratings.columns import ITEM_ID
from dissensus.schema.records.image import IMAGE, IMAGE_ALT, StoredImage
from dissensus.schema.records.item import Item
from dissensus.store import assignments, campaigns, images, notices
from dissensus.store.campaigns import CampaignRow
from dissensus.store.images import ImageRow
from dissensus.store.items import count_items, iterate_items
from dissensus.store.raters import RaterRow
from dissensus.text.markdown import find_images
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.platform.platform import Platform

MAX_CAMPAIGN_IMAGES: Final = 10_000
MAX_CAMPAIGN_BYTES: Final = 1 << 30
"""Bytes of the images of a campaign."""


def add_images(
    platform: Platform, name: str, new_images: Sequence[StoredImage], *, staff_id: str, now: datetime
) -> tuple[ImageRow, ...]:
    """Add images to a draft, instead of those with the same names, and return all its images."""
    with platform.database.writing() as tx:
        campaign_row = _lock_draft(tx, name, staff_id)
        if new_images:
            sizes = {row.name: row.n_bytes for row in images.list_images(tx, campaign_row.id)}
            sizes |= {image.name: len(image.content) for image in new_images}
            _check_names(sizes)
            _check_sizes(name, sizes.values())
            images.add_images(tx, campaign_row.id, new_images)
            digests = {image.name: image.digest for image in new_images}
            log_staff_event(tx, campaign_row.id, "images_changed", staff_id, now, added=digests)
        return images.list_images(tx, campaign_row.id)


def _check_names(names: Iterable[str]) -> None:
    """Raise if names differ in case alone, since many file systems take them for one."""
    known: dict[str, str] = {}
    for name in names:
        other = known.setdefault(name.casefold(), name)
        if other != name:
            raise Conflict(
                f"The names of the images {format_value(other)} and {format_value(name)} differ in case alone. Rename "
                "one, or give both the same name to replace the earlier."
            )


def _check_sizes(name: str, sizes: Collection[int]) -> None:
    """Raise if a campaign would have too many images, or too many bytes of them."""
    if len(sizes) > MAX_CAMPAIGN_IMAGES or sum(sizes) > MAX_CAMPAIGN_BYTES:
        raise Conflict(
            f"{name} would have {len(sizes):,} images with {sum(sizes):,} bytes, and {MAX_CAMPAIGN_IMAGES:,} with "
            f"{MAX_CAMPAIGN_BYTES:,} are allowed. Add fewer, or shrink them."
        )


def remove_images(platform: Platform, name: str, *, staff_id: str, now: datetime) -> int:
    """Remove all images of a draft without items, and return their number."""
    with platform.database.writing() as tx:
        campaign_row = _lock_draft(tx, name, staff_id)
        if count_items(tx, campaign_row.id):
            raise Conflict(f"Items of {name} may show its images. Remove the items first.")
        n = images.delete_images(tx, campaign_row.id)
        if n:
            log_staff_event(tx, campaign_row.id, "images_changed", staff_id, now, removed=n)
        return n


def _lock_draft(tx: Connection, name: str, staff_id: str) -> CampaignRow:
    campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=True)
    if campaign_row.state != "draft":
        raise Conflict(
            f"{name} is {campaign_row.state}: its images cannot change. Clone the campaign and change the clone."
        )
    return campaign_row


def list_images(platform: Platform, name: str, *, staff_id: str) -> tuple[CampaignRow, tuple[ImageRow, ...]]:
    """Return a campaign with its images."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        return campaign_row, images.list_images(tx, campaign_row.id)


def iterate_images(platform: Platform, name: str, *, staff_id: str) -> Iterator[StoredImage]:
    """Yield the images of a campaign with their content, one at a time."""
    campaign_row, rows = list_images(platform, name, staff_id=staff_id)
    for row in rows:
        with platform.database.reading() as tx:
            image = images.find_image(tx, campaign_row.id, row.name)
        if image is not None:
            yield image


def load_image_table(platform: Platform, name: str, *, staff_id: str) -> pl.DataFrame:
    """Return the image and the alternative text of each item that has one."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        items_with_image = [item for item in iterate_items(tx, campaign_row.id) if IMAGE in item.attributes]
        rows = [(item.item_id, item.attributes[IMAGE], item.attributes[IMAGE_ALT]) for item in items_with_image]
    return pl.DataFrame(rows, schema=dict.fromkeys((ITEM_ID, IMAGE, IMAGE_ALT), pl.String), orient="row")


def load_image(platform: Platform, name: str, image_name: str, *, staff_id: str) -> StoredImage:
    """Return an image of a campaign for a member."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        return _require(images.find_image(tx, campaign_row.id, image_name))


def load_assigned_image(platform: Platform, rater: RaterRow, assignment_id: str) -> StoredImage:
    """Return the image of an item that a rater was assigned, unless the item is withheld or the rater reported it."""
    with platform.database.reading() as tx:
        assignment = assignments.find_assignment(tx, rater.id, assignment_id)
        if assignment is None or rater.state == "withdrawn":
            raise NotFound("You have no such item.")
        reported = assignment.item_id in notices.list_reported_items(tx, rater.id)
        if reported or assignments.is_withheld(tx, assignment.item_id):
            raise NotFound("This item is not shown any more.")
        image_name = assignment.item.attributes.get(IMAGE)
        return _require(None if image_name is None else images.find_image(tx, rater.campaign_id, image_name))


def load_guideline_image(platform: Platform, rater: RaterRow, image_name: str) -> StoredImage:
    """Return an image that the guidelines of a rater's campaign show."""
    with platform.database.reading() as tx:
        campaign_row = campaigns.get_campaign(tx, rater.campaign_id)
        guidelines = platform.definitions.load(tx, campaign_row).guidelines
        image_names = {address for text in guidelines.values() for address, _ in find_images(text)}
        return _require(images.find_image(tx, campaign_row.id, image_name) if image_name in image_names else None)


def _require(image: StoredImage | None) -> StoredImage:
    if image is None:
        raise NotFound("There is no such image.")
    return image


def check_item_images(items: Sequence[Item], names: frozenset[str]) -> None:
    """Raise unless the campaign has the images of items."""
    for item in items:
        image_name = item.attributes.get(IMAGE)
        if image_name is not None and image_name not in names:
            raise InvalidInput(
                f"Item {format_value(item.item_id)} shows the image {format_value(image_name)}, which the campaign "
                "does not have. Add the image first, then the item."
            )
