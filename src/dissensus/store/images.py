"""Images of campaigns, without metadata."""

from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, ForeignKey, delete, insert, literal, select
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.schema.records.image import StoredImage
from dissensus.store.core.orm import HASH, Base, list_columns, list_rows


class ImageTable(Base):
    """An image that items or texts of a campaign show."""

    __tablename__ = "image"

    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"), primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True, doc="File name, by which items refer to it.")
    digest: Mapped[str] = mapped_column(HASH, doc="SHA-256 of the content; the audit log has it too.")
    media_type: Mapped[str]
    width: Mapped[int]
    height: Mapped[int]
    n_bytes: Mapped[int] = mapped_column(doc="Of the content, before it is encoded in base64.")
    content: Mapped[str] = mapped_column(doc="In base64, which backups hold as text.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRow:
    """An image without its content."""

    name: str
    digest: str
    width: int
    height: int
    n_bytes: int


def add_images(tx: Connection, campaign_id: str, images: Sequence[StoredImage]) -> None:
    """Insert images; those with a name of an earlier one replace it."""
    names = [image.name for image in images]
    tx.execute(delete(ImageTable).where(ImageTable.campaign_id == campaign_id, ImageTable.name.in_(names)))
    rows = [
        {
            "campaign_id": campaign_id,
            "name": image.name,
            "digest": image.digest,
            "media_type": image.media_type,
            "width": image.width,
            "height": image.height,
            "n_bytes": len(image.content),
            "content": b64encode(image.content).decode(),
        }
        for image in images
    ]
    if rows:
        tx.execute(insert(ImageTable), rows)


def copy_images(tx: Connection, campaign_id: str, to: str) -> None:
    """Copy the images of a campaign to another one."""
    names = ("name", "digest", "media_type", "width", "height", "n_bytes", "content")
    same = [getattr(ImageTable, name) for name in names]
    source = select(literal(to), *same).where(ImageTable.campaign_id == campaign_id)
    tx.execute(insert(ImageTable).from_select(["campaign_id", *names], source))


def list_images(tx: Connection, campaign_id: str) -> tuple[ImageRow, ...]:
    """Return the images of a campaign by name, without their content."""
    columns = list_columns(ImageTable, ImageRow)
    query = select(*columns).where(ImageTable.campaign_id == campaign_id).order_by(ImageTable.name)
    return list_rows(tx, query, ImageRow)


def find_image(tx: Connection, campaign_id: str, name: str) -> StoredImage | None:
    """Return an image of a campaign, or None."""
    columns = list_columns(ImageTable, StoredImage)
    query = select(*columns).where(ImageTable.campaign_id == campaign_id, ImageTable.name == name)
    row = tx.execute(query).one_or_none()
    return None if row is None else StoredImage(**{**row._mapping, "content": b64decode(row.content)})


def list_image_names(tx: Connection, campaign_id: str) -> frozenset[str]:
    """Return the names of the images of a campaign."""
    return frozenset(tx.scalars(select(ImageTable.name).where(ImageTable.campaign_id == campaign_id)))


def has_images(tx: Connection, campaign_id: str) -> bool:
    """Return whether a campaign has images."""
    return tx.execute(select(ImageTable.name).where(ImageTable.campaign_id == campaign_id).limit(1)).first() is not None


def delete_images(tx: Connection, campaign_id: str) -> int:
    """Delete the images of a campaign, and return their number."""
    return tx.execute(delete(ImageTable).where(ImageTable.campaign_id == campaign_id)).rowcount
