"""What experts said of items, and what was decided where they differ: only ever added, and erased nowhere."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.schema.campaign.gold import PARTS
from dissensus.store.core.orm import ID, Base, among


class GoldLabel(Base):
    """What an expert said of a part of an item; a correction is one more."""

    __tablename__ = "gold_label"
    __table_args__ = (
        UniqueConstraint("item_id", "part", "place", "revision"),
        UniqueConstraint("item_id", "part", "staff_id", "revision"),
        among("part", *PARTS),
    )

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    item_id: Mapped[str] = mapped_column(ForeignKey("item.id"))
    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"))
    part: Mapped[str]
    place: Mapped[int] = mapped_column(doc="0 for the first expert, whom others verify or check.")
    revision: Mapped[int]
    said: Mapped[dict[str, Any]]
    at: Mapped[datetime]


class GoldDecision(Base):
    """What somebody decided about a part on which experts differ; the last one holds."""

    __tablename__ = "gold_decision"
    __table_args__ = (UniqueConstraint("item_id", "part", "revision"), among("part", *PARTS))

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    item_id: Mapped[str] = mapped_column(ForeignKey("item.id"))
    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"))
    part: Mapped[str]
    revision: Mapped[int]
    said: Mapped[dict[str, Any]]
    why: Mapped[str]
    at: Mapped[datetime]
