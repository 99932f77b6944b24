"""Consent texts in versions, and the consent of raters to their purposes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import Any

from sqlalchemy import ColumnElement, Connection, ForeignKey, UniqueConstraint, and_, bindparam, func, insert, select
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.schema.campaign.definition import Consent, parse_consent
from dissensus.schema.questionnaire.mapping import to_mapping
from dissensus.store.core.orm import HASH, ID, Base, RaterData, new_id
from dissensus.store.raters import RaterRow, RaterTable


class ConsentTextTable(Base):
    """A version of the consent text."""

    __tablename__ = "consent_text"
    __table_args__ = (UniqueConstraint("campaign_id", "version"),)

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"))
    version: Mapped[int]
    digest: Mapped[str] = mapped_column(HASH)
    content: Mapped[dict[str, Any]]


class ConsentTable(RaterData, Base):
    """The consent of a rater to one purpose of a consent text."""

    __tablename__ = "consent"

    rater_id: Mapped[str] = mapped_column(ForeignKey("rater.id"), primary_key=True)
    consent_text_id: Mapped[str] = mapped_column(ForeignKey("consent_text.id"), primary_key=True)
    purpose: Mapped[str] = mapped_column(primary_key=True)
    agreed: Mapped[bool]
    at: Mapped[datetime]


def ensure_consent_text(tx: Connection, campaign_id: str, consent: Consent, *, now: datetime) -> tuple[str, int]:
    """Return id and version of a consent text, inserted as the next version if it differs from the last."""
    last = tx.execute(
        select(ConsentTextTable.id, ConsentTextTable.version, ConsentTextTable.digest)
        .where(ConsentTextTable.campaign_id == campaign_id)
        .order_by(ConsentTextTable.version.desc())
        .limit(1)
    ).one_or_none()
    if last is not None and last.digest == consent.digest:
        return last.id, last.version
    text_id, version = new_id(now), 1 if last is None else last.version + 1
    row = {"id": text_id, "campaign_id": campaign_id, "version": version, "digest": consent.digest}
    tx.execute(insert(ConsentTextTable).values(**row, content=to_mapping(consent)))
    return text_id, version


def has_agreed(purposes: Sequence[str]) -> ColumnElement[bool]:
    """Return the condition that a rater agreed to each purpose, in the latest version that they answered."""
    latest = [
        select(ConsentTable.agreed)
        .join(ConsentTextTable, ConsentTextTable.id == ConsentTable.consent_text_id)
        .where(ConsentTable.rater_id == RaterTable.id, ConsentTable.purpose == purpose)
        .order_by(ConsentTextTable.version.desc())
        .limit(1)
        .correlate(RaterTable)
        .scalar_subquery()
        for purpose in purposes
    ]
    return and_(True, *(func.coalesce(agreed, False) for agreed in latest))


def find_latest_version(tx: Connection, campaign_id: str) -> int:
    """Return the version of the current consent text of a campaign, 0 if it has none yet."""
    return tx.scalar(_LATEST_VERSION, {"campaign": campaign_id}) or 0


_LATEST_VERSION = select(func.max(ConsentTextTable.version)).where(
    ConsentTextTable.campaign_id == bindparam("campaign")
)


_COUNT_LATEST = (
    select(func.count(ConsentTable.purpose))
    .select_from(ConsentTextTable)
    .outerjoin(
        ConsentTable,
        (ConsentTable.consent_text_id == ConsentTextTable.id) & (ConsentTable.rater_id == bindparam("rater")),
    )
    .where(
        ConsentTextTable.campaign_id == bindparam("campaign"),
        ConsentTextTable.version == _LATEST_VERSION.scalar_subquery(),
    )
    .group_by(ConsentTextTable.id)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentRow:
    """The consent of a rater to one version of a consent text."""

    version: int
    consent: Consent
    agreed: Mapping[str, bool]  # By the name of the purpose
    at: datetime


def add_consents(tx: Connection, rater_id: str, text_id: str, agreed: Mapping[str, bool], *, now: datetime) -> None:
    """Insert the consent of a rater to each purpose of a text."""
    rows = [
        {"rater_id": rater_id, "consent_text_id": text_id, "purpose": purpose, "agreed": value, "at": now}
        for purpose, value in agreed.items()
    ]
    tx.execute(insert(ConsentTable), rows)


def list_consents(tx: Connection, rater_id: str) -> tuple[ConsentRow, ...]:
    """Return the consents of a rater by version of the text, the latest first."""
    query = (
        select(
            ConsentTextTable.version,
            ConsentTextTable.content,
            ConsentTable.purpose,
            ConsentTable.agreed,
            ConsentTable.at,
        )
        .join(ConsentTable, ConsentTable.consent_text_id == ConsentTextTable.id)
        .where(ConsentTable.rater_id == rater_id)
        .order_by(ConsentTextTable.version.desc())
    )
    result = []
    for version, group in groupby(tx.execute(query), key=attrgetter("version")):
        rows = list(group)
        agreed = {row.purpose: row.agreed for row in rows}
        consent = parse_consent(rows[0].content)
        result.append(ConsentRow(version=version, consent=consent, agreed=agreed, at=rows[0].at))
    return tuple(result)


def has_answered_text(tx: Connection, rater_id: str, text_id: str) -> bool:
    """Return whether a rater answered a version of the consent text."""
    query = select(func.count()).where(ConsentTable.rater_id == rater_id, ConsentTable.consent_text_id == text_id)
    return bool(tx.scalar(query))


def has_answered_latest_text(tx: Connection, rater: RaterRow) -> bool:
    """Return whether a rater answered the current consent text; a draft may have none yet."""
    return tx.scalar(_COUNT_LATEST, {"campaign": rater.campaign_id, "rater": rater.id}) != 0
