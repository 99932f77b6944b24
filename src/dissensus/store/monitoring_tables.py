"""What is seen of a campaign that is under way, and what somebody decided about a flagged rater."""

from datetime import datetime

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.store.core.columns import Number
from dissensus.store.core.orm import ID, Base, among


class Snapshot(Base):
    """A campaign in figures, as they were made last; they can be made again from the answers."""

    __tablename__ = "snapshot"

    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"), primary_key=True)
    content: Mapped[str] = mapped_column(doc="JSON, as it was written: its order is that of the scales.")
    through: Mapped[int] = mapped_column(Number, doc="The last save that was looked at.")
    made_at: Mapped[datetime] = mapped_column(doc="When the figures last changed.")
    read_at: Mapped[datetime] = mapped_column(doc="As of when they hold.")


class FlagDecision(Base):
    """What somebody decided about a rater, and why; the last one holds, and the others stay."""

    __tablename__ = "flag_decision"
    __table_args__ = (among("verdict", "keep", "exclude"),)

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    rater_id: Mapped[str] = mapped_column(ForeignKey("rater.id"), index=True)
    verdict: Mapped[str]
    reason: Mapped[str]
    evidence: Mapped[str] = mapped_column(doc="The criteria that were met when it was decided, a line each.")
    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"))
    at: Mapped[datetime]
