"""Membership of staff in campaigns, and the authorisation check for campaign access."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection

from dissensus.errors import Conflict, NotAllowed, NotFound
from dissensus.schema.campaign.roles import Role
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.store import api_tokens, campaigns
from dissensus.store import members as store
from dissensus.store import staff as people
from dissensus.store.campaigns import CampaignRow
from dissensus.store.core.ids import new_key
from dissensus.store.members import MemberRow, PendingInvitation
from dissensus.store.staff import StaffRow
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.platform.staff import SESSION_LIFETIME, validate_name

INVITATION_LIFETIME: Final = timedelta(days=7)
"""How long staff can be invited by a link."""


@dataclass(frozen=True, slots=True)
class MemberInvitation:
    """Campaign and role that an invitation link grants."""

    campaign: str
    role: Role


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipView:
    """A person's role in a campaign; without a campaign, a person who is known to the platform."""

    campaign: str | None
    person: str
    role: Role | None
    since: datetime  # since joining, or since becoming known


def campaign_for_member(tx: Connection, name: str, staff_id: str, *, lock: bool = False) -> tuple[CampaignRow, Role]:
    """Return a campaign and the member's role; to others it does not exist."""
    campaign_row = campaigns.get_campaign_by_name(tx, name, lock=lock)
    role = store.find_role(tx, campaign_row.id, staff_id)
    if role is None:
        raise NotFound(f"There is no campaign {format_value(name)}.")
    return campaign_row, role


def member_role(platform: Platform, name: str, staff_id: str) -> Role:
    """Return the member's role in a campaign; refuses like `campaign_for_member`."""
    with platform.database.reading() as tx:
        return campaign_for_member(tx, name, staff_id)[1]


def list_members(
    platform: Platform, name: str, *, staff_id: str, now: datetime
) -> tuple[tuple[MemberRow, ...], tuple[PendingInvitation, ...]]:
    """Return the members of a campaign and its open invitations."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        return store.list_members(tx, campaign_row.id), store.list_pending_invitations(tx, campaign_row.id, now=now)


def add_member(platform: Platform, name: str, person: str, role: Role, *, staff_id: str, now: datetime) -> None:
    """Add a person to a campaign, registering them if they are new."""
    person = validate_name(person)
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=True)
        found = people.find_staff_by_name(tx, person) or people.add_staff(tx, person, now=now)
        _add_membership(tx, campaign_row, found, role, now)
        log_staff_event(tx, campaign_row.id, "members_changed", staff_id, now, person=found.id, role=role)


def create_member_invitation(platform: Platform, name: str, role: Role, *, staff_id: str, now: datetime) -> str:
    """Return the key of a single-use invitation link, valid for one week."""
    key = new_key()
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        api_tokens.delete_expired(tx, now=now)
        store.add_staff_invitation(tx, campaign_row.id, key, role, expires_at=now + INVITATION_LIFETIME)
    return key


def revoke_member_invitation(platform: Platform, name: str, invitation_id: str, *, staff_id: str) -> None:
    """Revoke an unused invitation link."""
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        if not store.revoke_invitation(tx, campaign_row.id, invitation_id):
            raise NotFound(f"{name} has no such link; it was used, has ended or was taken back. Load the list again.")


def preview_member_invitation(platform: Platform, key: str, *, now: datetime) -> MemberInvitation:
    """Return the campaign and role of an invitation link without using it."""
    with platform.database.reading() as tx:
        campaign_row, role = _load_invitation(tx, key, now)
        return MemberInvitation(campaign_row.name, role)


def accept_invitation(platform: Platform, key: str, *, staff_id: str, now: datetime) -> str:
    """Use an invitation link for a signed-in person and return the campaign's name."""
    with platform.database.writing() as tx:
        return _use_invitation(tx, key, staff_id, now)


def accept_invitation_as_new(platform: Platform, key: str, person: str, *, now: datetime) -> tuple[str, str]:
    """Use an invitation link for a new person; return the campaign's name and a session key."""
    person = validate_name(person)
    with platform.database.writing() as tx:
        _load_invitation(tx, key, now)
        if people.find_staff_by_name(tx, person) is not None:
            raise Conflict(
                f"Somebody is called {format_value(person)}. If that is you, sign in first; else choose another."
            )
        staff = people.add_staff(tx, person, now=now)
        session = new_key()
        people.add_staff_session(tx, staff.id, session, expires_at=now + SESSION_LIFETIME)
        return _use_invitation(tx, key, staff.id, now), session


def _use_invitation(tx: Connection, key: str, staff_id: str, now: datetime) -> str:
    campaign_row, role = _load_invitation(tx, key, now)
    campaigns.get_campaign(tx, campaign_row.id, lock=True)
    if not store.use_invitation(tx, key, now=now):
        raise _stale_invitation()
    _add_membership(tx, campaign_row, StaffRow(id=staff_id, name="You", created_at=now), role, now)
    log_staff_event(tx, campaign_row.id, "members_changed", staff_id, now, person=staff_id, role=role)
    return campaign_row.name


def _load_invitation(tx: Connection, key: str, now: datetime) -> tuple[CampaignRow, Role]:
    found = store.find_invitation(tx, key, now=now)
    if found is None:
        raise _stale_invitation()
    return campaigns.get_campaign(tx, found[0]), found[1]


def _stale_invitation() -> NotAllowed:
    return NotAllowed(
        f"This link was used, was taken back, is older than {INVITATION_LIFETIME.days} days, or is not whole. Ask an "
        "owner of the campaign for another one."
    )


def _add_membership(tx: Connection, campaign_row: CampaignRow, staff: StaffRow, role: Role, now: datetime) -> None:
    known = store.find_role(tx, campaign_row.id, staff.id)
    if known is not None:
        raise Conflict(
            f"{staff.name} belong{'' if staff.name == 'You' else 's'} to {campaign_row.name} already, as {known}."
        )
    store.add_member(tx, campaign_row.id, staff.id, role, now=now)


def change_role(platform: Platform, name: str, person: str, role: Role, *, staff_id: str, now: datetime) -> None:
    """Change the role of a member."""
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=True)
        member = _find_member(tx, campaign_row, person)
        if role != "owner":
            _keep_an_owner(tx, campaign_row, member)
        store.set_role(tx, campaign_row.id, member.staff_id, role)
        log_staff_event(tx, campaign_row.id, "members_changed", staff_id, now, person=member.staff_id, role=role)


def remove_member(platform: Platform, name: str, person: str, *, staff_id: str, now: datetime) -> None:
    """Remove a member from a campaign; their open pages lose access at once."""
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=True)
        member = _find_member(tx, campaign_row, person)
        _keep_an_owner(tx, campaign_row, member)
        store.remove_member(tx, campaign_row.id, member.staff_id)
        log_staff_event(tx, campaign_row.id, "members_changed", staff_id, now, person=member.staff_id, role=None)


def _find_member(tx: Connection, campaign_row: CampaignRow, person: str) -> MemberRow:
    found = store.list_members(tx, campaign_row.id)
    names = [one.name for one in found]
    if person.strip() not in names:
        hint = suggest(person, names)
        raise NotFound(
            f"Nobody called {format_value(person)} belongs to {campaign_row.name}.{hint} "
            f"There are {format_list(names)}."
        )
    return found[names.index(person.strip())]


def _keep_an_owner(tx: Connection, campaign_row: CampaignRow, member: MemberRow) -> None:
    if member.role == "owner" and store.count_owners(tx, campaign_row.id) == 1:
        raise Conflict(f"{member.name} is the last owner of {campaign_row.name}. Make somebody else an owner first.")


def list_memberships(platform: Platform, name: str | None = None) -> tuple[MembershipView, ...]:
    """Return all memberships, or those of one campaign, for the operator of the platform."""
    with platform.database.reading() as tx:
        found = campaigns.list_campaigns(tx) if name is None else (campaigns.get_campaign_by_name(tx, name),)
        belong = [
            MembershipView(campaign=campaign_row.name, person=one.name, role=one.role, since=one.created_at)
            for campaign_row in sorted(found, key=lambda campaign_row: campaign_row.name)
            for one in store.list_members(tx, campaign_row.id)
        ]
        known = {one.person for one in belong}
        others = [one for one in people.list_staff(tx) if name is None and one.name not in known]
    alone = [MembershipView(campaign=None, person=one.name, role=None, since=one.created_at) for one in others]
    return tuple(belong + alone)
