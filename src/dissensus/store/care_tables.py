"""How raters said that they felt."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.store.core.orm import Base


class Feeling(Base):
    """How a rater said that they felt, once."""

    __tablename__ = "feeling"

    rater_id: Mapped[str] = mapped_column(ForeignKey("rater.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, doc="How often they had been asked before.")
    answers: Mapped[dict[str, Any]] = mapped_column(doc="Those that were given.")
    told: Mapped[bool] = mapped_column(doc="Whether the contact of the campaign is to know.")
    reach_text: Mapped[str | None] = mapped_column(doc="How they can be reached, where they say so.")
    at: Mapped[datetime]
    settled_at: Mapped[datetime | None] = mapped_column(doc="When the contact had dealt with it.")
