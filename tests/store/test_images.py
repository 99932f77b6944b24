"""Images in the store: two campaigns may have one of the same name."""

from dataclasses import replace

from tests.support.campaigns import NOW, definition, open_campaign

from dissensus.schema.records.image import StoredImage
from dissensus.store import images
from dissensus.store.core.database import Database
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform.platform import Platform

RED = StoredImage(name="b.png", media_type="image/png", width=2, height=1, content=b"red")


def test_an_image_belongs_to_its_campaign_and_a_later_one_replaces_it(database: Database) -> None:
    platform = Platform(database)
    pilot = open_campaign(platform)
    other = campaigns.create_campaign(platform, definition("other"), (), staff_id=pilot.staff_id, now=NOW)
    blue, green = replace(RED, content=b"blue"), replace(RED, content=b"green")
    with database.writing() as tx:
        images.add_images(tx, pilot.id, [RED, replace(RED, name="a.png")])
        images.add_images(tx, other.id, [blue])
        images.add_images(tx, pilot.id, [green])
        assert [(row.name, row.n_bytes) for row in images.list_images(tx, pilot.id)] == [("a.png", 3), ("b.png", 5)]
        assert images.find_image(tx, pilot.id, "b.png") == green
        assert images.find_image(tx, other.id, "b.png") == blue
        assert images.find_image(tx, other.id, "a.png") is None
        assert images.delete_images(tx, pilot.id) == 2
        assert (images.has_images(tx, pilot.id), images.has_images(tx, other.id)) == (False, True)
