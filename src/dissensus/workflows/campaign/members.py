"""Membership of staff in campaigns, and the authorisation check for campaign access."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection

from dissensus.errors import Conflict, NotAllowed, NotFound
from dissensus.schema.campaign.roles import Role
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.store import campaigns
from dissensus.store import members as store
from dissensus.store import staff as people
from dissensus.store.campaigns import CampaignRow
from dissensus.store.core.orm import new_key
from dissensus.store.members import MemberRow, PendingInvitation
from dissensus.store.staff import StaffRow
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.platform.staff import SESSION_LIFETIME, delete_expired_keys, validate_name

INVITATION_LIFETIME: Final = timedelta(days=7)
"""Validity of an invitation link of staff."""


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
        staff = people.find_staff_by_name(tx, person) or people.add_staff(tx, person, now=now)
        _add_membership(tx, campaign_row, staff, role, now)
        log_staff_event(tx, campaign_row.id, "members_changed", staff_id, now, person=staff.id, role=role)


def create_member_invitation(platform: Platform, name: str, role: Role, *, staff_id: str, now: datetime) -> str:
    """Return the key of a single-use invitation link, valid for one week."""
    key = new_key()
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        delete_expired_keys(tx, now=now)
        store.add_staff_invitation(tx, campaign_row.id, key, role, expires_at=now + INVITATION_LIFETIME)
    return key


def revoke_member_invitation(platform: Platform, name: str, invitation_id: str, *, staff_id: str) -> None:
    """Revoke an unused invitation link."""
    with platform.database.writing() as tx:
        # Locked, so that a concurrent removal of the maker does not miss the link.
        campaign_row, maker_role = campaign_for_member(tx, name, staff_id, lock=True)
        if maker_role != "owner":
            raise NotAllowed(f"You are a member of {name} as {maker_role}, and only owners may invite. Ask an owner.")
        if not store.revoke_invitation(tx, campaign_row.id, invitation_id):
            raise NotFound(f"{name} has no such link; it was used, has expired or was revoked. Reload the list.")


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
    invitation = store.find_invitation(tx, key, now=now)
    if invitation is None:
        raise _stale_invitation()
    campaign_id, role = invitation
    return campaigns.get_campaign(tx, campaign_id), role


def _stale_invitation() -> NotAllowed:
    return NotAllowed(
        f"This link was used or revoked, is older than {INVITATION_LIFETIME.days} days, or is incomplete. Ask an "
        "owner of the campaign for another one."
    )


def _add_membership(tx: Connection, campaign_row: CampaignRow, staff: StaffRow, role: Role, now: datetime) -> None:
    current = store.find_role(tx, campaign_row.id, staff.id)
    if current is not None:
        raise Conflict(
            f"{staff.name} belong{'' if staff.name == 'You' else 's'} to {campaign_row.name} already, as {current}."
        )
    store.add_member(tx, campaign_row.id, staff.id, role, now=now)


def change_role(platform: Platform, name: str, person: str, role: Role, *, staff_id: str, now: datetime) -> None:
    """Change the role of a member."""
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=True)
        member = _find_member(tx, campaign_row, person)
        if role != "owner":
            _check_owner_remains(tx, campaign_row, member)
        store.set_role(tx, campaign_row.id, member.staff_id, role)
        log_staff_event(tx, campaign_row.id, "members_changed", staff_id, now, person=member.staff_id, role=role)


def remove_member(platform: Platform, name: str, person: str, *, staff_id: str, now: datetime) -> None:
    """Remove a member from a campaign; their open pages lose access at once."""
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=True)
        member = _find_member(tx, campaign_row, person)
        _check_owner_remains(tx, campaign_row, member)
        store.remove_member(tx, campaign_row.id, member.staff_id)
        log_staff_event(tx, campaign_row.id, "members_changed", staff_id, now, person=member.staff_id, role=None)


def _find_member(tx: Connection, campaign_row: CampaignRow, person: str) -> MemberRow:
    members = store.list_members(tx, campaign_row.id)
    names = [member.name for member in members]
    if person.strip() not in names:
        hint = suggest(person, names)
        raise NotFound(
            f"Nobody called {format_value(person)} belongs to {campaign_row.name}.{hint} "
            f"There are {format_list(names)}."
        )
    return members[names.index(person.strip())]


def _check_owner_remains(tx: Connection, campaign_row: CampaignRow, member: MemberRow) -> None:
    if member.role == "owner" and store.count_owners(tx, campaign_row.id) == 1:
        raise Conflict(f"{member.name} is the last owner of {campaign_row.name}. Make somebody else an owner first.")


def list_memberships(platform: Platform, name: str | None = None) -> tuple[MembershipView, ...]:
    """Return all memberships, or those of one campaign, for the operator of the platform."""
    with platform.database.reading() as tx:
        rows = campaigns.list_campaigns(tx) if name is None else (campaigns.get_campaign_by_name(tx, name),)
        memberships = [
            MembershipView(campaign=row.name, person=member.name, role=member.role, since=member.created_at)
            for row in sorted(rows, key=lambda row: row.name)
            for member in store.list_members(tx, row.id)
        ]
        staff = people.list_staff(tx) if name is None else ()
    member_names = {membership.person for membership in memberships}
    without_campaign = [
        MembershipView(campaign=None, person=row.name, role=None, since=row.created_at)
        for row in staff
        if row.name not in member_names
    ]
    return tuple(memberships + without_campaign)
