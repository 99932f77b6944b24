"""Release plans of campaigns on the site: one for each campaign, as TOML, checked there by the gate."""

from sqlalchemy import Connection, ForeignKey, delete, insert, select
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.store.core.orm import Base


class ReleasePlanTable(Base):
    """The current release plan of a campaign."""

    __tablename__ = "release_plan"

    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"), primary_key=True)
    text: Mapped[str] = mapped_column(doc="TOML.")


def save_plan(tx: Connection, campaign_id: str, text: str) -> None:
    """Replace the release plan of a campaign, which must be locked."""
    tx.execute(delete(ReleasePlanTable).where(ReleasePlanTable.campaign_id == campaign_id))
    tx.execute(insert(ReleasePlanTable).values(campaign_id=campaign_id, text=text))


def find_plan(tx: Connection, campaign_id: str) -> str | None:
    """Return the release plan of a campaign, None if there is none."""
    return tx.scalar(select(ReleasePlanTable.text).where(ReleasePlanTable.campaign_id == campaign_id))
