"""Campaigns, their definitions, and working copies of these."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, ForeignKey, Select, bindparam, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.errors import Conflict, NotFound
from dissensus.schema.campaign.definition import Campaign, CampaignState
from dissensus.schema.campaign.parser import parse_campaign
from dissensus.schema.campaign.roles import Role, parse_role
from dissensus.schema.canonical_json import digest_json
from dissensus.schema.hints import format_value
from dissensus.store import audit_log
from dissensus.store.core.orm import HASH, ID, Base, check_in, find_row, list_columns, list_rows, new_id
from dissensus.store.identity.api_tokens import ApiTokenExclusionTable
from dissensus.store.members import MemberTable


class CampaignTable(Base):
    """A campaign with its definition as one document, which is frozen on opening."""

    __tablename__ = "campaign"
    __table_args__ = (check_in("state", "draft", "open", "paused", "closed"),)

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"), index=True, doc="Creator; grants nothing.")
    state: Mapped[str]
    definition: Mapped[dict[str, Any]]
    digest: Mapped[str] = mapped_column(HASH)
    key: Mapped[str | None] = mapped_column(doc="Key of the open link; null if entry is by invitation only.")
    n_raters: Mapped[int] = mapped_column(default=0, doc="Raters so far; the number of the next rater.")
    created_at: Mapped[datetime]
    changed_at: Mapped[datetime]
    archived_at: Mapped[datetime | None]
    judge_url: Mapped[str | None] = mapped_column(doc="Address of a judge to which its texts may be sent.")
    deleted_at: Mapped[datetime | None] = mapped_column(
        doc="Time of the deletion; the row stays for the audit log, without definition, key and members."
    )


MAX_CACHED_DEFINITIONS = 64
"""Definitions that a worker caches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignRow:
    """A campaign without its definition."""

    id: str
    name: str
    staff_id: str
    state: CampaignState
    digest: str
    key: str | None  # Key of the open link; None if entry is by invitation only
    n_raters: int
    created_at: datetime
    changed_at: datetime  # Time of the last change of the definition or the state
    archived_at: datetime | None
    judge_url: str | None = None  # Address of a judge to which its texts may be sent


IS_PRESENT = CampaignTable.deleted_at.is_(None)
CAMPAIGN_COLUMNS = list_columns(CampaignTable, CampaignRow)


_SELECT_BY_ID = select(*CAMPAIGN_COLUMNS).where(CampaignTable.id == bindparam("campaign_id"))


def add_campaign(tx: Connection, campaign: Campaign, *, staff_id: str, key: str | None, now: datetime) -> str:
    """Insert a draft, with its creator as owner, and return its id."""
    campaign_id = new_id(now)
    row = {"id": campaign_id, "staff_id": staff_id, "state": "draft", "key": key, "n_raters": 0, "created_at": now}
    try:
        tx.execute(insert(CampaignTable).values(**row, **_definition_columns(campaign, now)))
    except IntegrityError:
        raise Conflict(f"There is a campaign called {campaign.name}. Choose another name.") from None
    member = {"campaign_id": campaign_id, "staff_id": staff_id, "role": "owner", "created_at": now}
    tx.execute(insert(MemberTable).values(**member))
    audit_log.add_chain(tx, campaign_id)
    return campaign_id


def set_definition(tx: Connection, campaign_id: str, campaign: Campaign, *, now: datetime) -> None:
    """Replace the definition of a campaign."""
    tx.execute(
        update(CampaignTable).where(CampaignTable.id == campaign_id).values(**_definition_columns(campaign, now))
    )


def _definition_columns(campaign: Campaign, now: datetime) -> dict[str, Any]:
    mapping = campaign.as_mapping()
    return {"name": campaign.name, "definition": mapping, "digest": campaign.digest, "changed_at": now}


def set_campaign_state(tx: Connection, campaign_id: str, state: CampaignState, *, now: datetime) -> None:
    """Set the state of a campaign."""
    tx.execute(update(CampaignTable).where(CampaignTable.id == campaign_id).values(state=state, changed_at=now))


def set_archived(tx: Connection, campaign_id: str, at: datetime | None) -> None:
    """Archive a campaign, or take it out of the archive."""
    tx.execute(update(CampaignTable).where(CampaignTable.id == campaign_id).values(archived_at=at))


def set_judge_url(tx: Connection, campaign_id: str, url: str | None) -> None:
    """Permit that texts are sent to a judge at an address, or to none."""
    tx.execute(update(CampaignTable).where(CampaignTable.id == campaign_id).values(judge_url=url))


def blank_campaign(tx: Connection, campaign_row: CampaignRow, *, now: datetime) -> None:
    """Leave a row that stands for a deleted campaign, to which the audit log refers; its name is free again."""
    name = f"{campaign_row.name} (deleted, {campaign_row.id})"
    blank: dict[str, Any] = {"definition": {}, "digest": digest_json({}), "key": None, "n_raters": 0}
    blank |= {"judge_url": None, "name": name, "state": "closed", "deleted_at": now, "changed_at": now}
    tx.execute(update(CampaignTable).where(CampaignTable.id == campaign_row.id).values(**blank))


def get_campaign_by_name(tx: Connection, name: str, *, lock: bool = False) -> CampaignRow:
    """Return a campaign by its name; `lock` locks its row."""
    query = select(*CAMPAIGN_COLUMNS).where(CampaignTable.name == name, IS_PRESENT)
    row = find_row(tx, _lock_row(query, lock), CampaignRow)
    if row is None:
        raise NotFound(f"There is no campaign {format_value(name)}.")
    return row


def get_campaign(tx: Connection, campaign_id: str, *, lock: bool = False) -> CampaignRow:
    """Return a campaign by its id."""
    return CampaignRow(**tx.execute(_lock_row(_SELECT_BY_ID, lock), {"campaign_id": campaign_id}).one()._mapping)


def is_deleted(tx: Connection, campaign_id: str) -> bool:
    """Return whether a row stands for a deleted campaign."""
    return bool(tx.scalar(select(~IS_PRESENT).where(CampaignTable.id == campaign_id)))


def list_member_campaigns(tx: Connection, staff_id: str) -> tuple[CampaignRow, ...]:
    """Return the campaigns of a member, the latest first."""
    owned = select(MemberTable.campaign_id).where(MemberTable.staff_id == staff_id)
    query = select(*CAMPAIGN_COLUMNS).where(CampaignTable.id.in_(owned)).order_by(CampaignTable.id.desc())
    return list_rows(tx, query, CampaignRow)


def list_campaigns(tx: Connection) -> tuple[CampaignRow, ...]:
    """Return all campaigns, the latest first."""
    query = select(*CAMPAIGN_COLUMNS).where(IS_PRESENT).order_by(CampaignTable.id.desc())
    return list_rows(tx, query, CampaignRow)


def load_all_roles(tx: Connection) -> dict[str, list[tuple[str, Role]]]:
    """Return the campaigns, by name, and roles of all staff members by their ids."""
    query = select(MemberTable.staff_id, CampaignTable.name, MemberTable.role)
    query = query.join(CampaignTable, CampaignTable.id == MemberTable.campaign_id).where(IS_PRESENT)
    result: defaultdict[str, list[tuple[str, Role]]] = defaultdict(list)
    for staff_id, campaign, role in tx.execute(query.order_by(CampaignTable.name)):
        result[staff_id].append((campaign, parse_role(role)))
    return result


def list_campaign_ids(tx: Connection) -> dict[str, str]:
    """Return the id of each campaign by its name, deleted ones too, the earliest created first."""
    query = select(CampaignTable.name, CampaignTable.id).order_by(CampaignTable.id)
    return {row.name: row.id for row in tx.execute(query)}


def _lock_row(query: Select[Any], lock: bool) -> Select[Any]:
    # SQLite ignores the lock: it has one writer at a time.
    return query.with_for_update() if lock else query


class DefinitionCache:
    """Cache of parsed definitions, one per worker: parsing one takes milliseconds."""

    def __init__(self) -> None:
        self._campaigns: dict[str, Campaign] = {}

    def load(self, tx: Connection, campaign_row: CampaignRow) -> Campaign:
        """Return the parsed definition of a campaign, cached by its digest."""
        cached = self._campaigns.get(campaign_row.digest)
        if cached is not None:
            return cached
        # The digest is read again: the definition may have changed since `campaign_row` was read.
        row = tx.execute(
            select(CampaignTable.definition, CampaignTable.digest).where(CampaignTable.id == campaign_row.id)
        ).one()
        result = parse_campaign(row.definition)
        if len(self._campaigns) >= MAX_CACHED_DEFINITIONS:
            self._campaigns = {}
        self._campaigns[row.digest] = result
        return result


def list_member_campaigns_after(
    tx: Connection, staff_id: str, *, token_id: str, after: str, most: int
) -> tuple[CampaignRow, ...]:
    """Return campaigns of a member in which a token has not ended, in the order of their ids, after an id."""
    joined = select(MemberTable.campaign_id).where(MemberTable.staff_id == staff_id)
    ended = select(ApiTokenExclusionTable.campaign_id).where(ApiTokenExclusionTable.token_id == token_id)
    query = select(*CAMPAIGN_COLUMNS).where(
        CampaignTable.id.in_(joined), CampaignTable.id.not_in(ended), CampaignTable.id > after
    )
    return list_rows(tx, query.order_by(CampaignTable.id).limit(most), CampaignRow)


HEAD_LENGTH = 2_000
"""Characters of a working copy that a list reads; the whole text may have millions."""


class WorkingCopyTable(Base):
    """A definition as TOML, with or without faults, of a new campaign or of an existing one."""

    __tablename__ = "working_copy"

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"), index=True, doc="Member of staff who began it.")
    campaign_id: Mapped[str | None] = mapped_column(
        ForeignKey("campaign.id"), unique=True, doc="Campaign that it changes; null for a new one."
    )
    text: Mapped[str]
    revision: Mapped[int] = mapped_column(doc="Number of saves, so that none overwrites another unseen.")
    changed_at: Mapped[datetime]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingCopyRow:
    """A working copy."""

    id: str
    staff_id: str
    text: str
    revision: int
    changed_at: datetime


_SELECT_COPY = select(*list_columns(WorkingCopyTable, WorkingCopyRow))


def add_working_copy(tx: Connection, text: str, *, staff_id: str, campaign_id: str | None, now: datetime) -> str:
    """Insert a working copy, and return its id."""
    copy_id = new_id(now)
    row = {"id": copy_id, "staff_id": staff_id, "campaign_id": campaign_id, "text": text, "changed_at": now}
    try:
        tx.execute(insert(WorkingCopyTable).values(**row, revision=1))
    except IntegrityError:
        raise Conflict("The definition was changed elsewhere meanwhile. Load the page again.") from None
    return copy_id


def find_working_copy(tx: Connection, copy_id: str) -> WorkingCopyRow | None:
    """Return the working copy of a new campaign, None if there is none."""
    is_new = WorkingCopyTable.campaign_id.is_(None)
    return find_row(tx, _SELECT_COPY.where(WorkingCopyTable.id == copy_id, is_new), WorkingCopyRow)


def find_campaign_copy(tx: Connection, campaign_id: str) -> WorkingCopyRow | None:
    """Return the working copy of a campaign, None if there is none."""
    return find_row(tx, _SELECT_COPY.where(WorkingCopyTable.campaign_id == campaign_id), WorkingCopyRow)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedWorkingCopy:
    """A working copy in a list."""

    id: str
    head: str  # Beginning of the text, in which the name stands
    changed_at: datetime


def list_working_copies(tx: Connection, staff_id: str) -> tuple[ListedWorkingCopy, ...]:
    """Return the working copies of new campaigns that a member of staff began, the latest first."""
    mine = (WorkingCopyTable.staff_id == staff_id) & WorkingCopyTable.campaign_id.is_(None)
    head = func.substr(WorkingCopyTable.text, 1, HEAD_LENGTH).label("head")
    query = select(WorkingCopyTable.id, head, WorkingCopyTable.changed_at)
    return list_rows(tx, query.where(mine).order_by(WorkingCopyTable.id.desc()), ListedWorkingCopy)


def count_working_copies(tx: Connection, staff_id: str) -> int:
    """Return the number of working copies of new campaigns that a member of staff began."""
    mine = (WorkingCopyTable.staff_id == staff_id) & WorkingCopyTable.campaign_id.is_(None)
    return tx.scalar(select(func.count()).where(mine)) or 0


def update_working_copy(tx: Connection, copy_id: str, text: str, *, revision: int, now: datetime) -> None:
    """Replace the text of a working copy that still has a revision."""
    same = (WorkingCopyTable.id == copy_id) & (WorkingCopyTable.revision == revision)
    values = {"text": text, "revision": revision + 1, "changed_at": now}
    _check_matched(tx.execute(update(WorkingCopyTable).where(same).values(**values)).rowcount)


def delete_working_copy(tx: Connection, copy_id: str, *, revision: int) -> None:
    """Delete a working copy that still has a revision."""
    same = (WorkingCopyTable.id == copy_id) & (WorkingCopyTable.revision == revision)
    _check_matched(tx.execute(delete(WorkingCopyTable).where(same)).rowcount)


def delete_campaign_copy(tx: Connection, campaign_id: str, *, revision: int) -> None:
    """Delete the working copy of a campaign that still has a revision."""
    same = (WorkingCopyTable.campaign_id == campaign_id) & (WorkingCopyTable.revision == revision)
    _check_matched(tx.execute(delete(WorkingCopyTable).where(same)).rowcount)


def _check_matched(n_rows: int) -> None:
    if not n_rows:
        raise Conflict("The definition was changed elsewhere since this page was loaded.")
