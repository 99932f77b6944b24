"""Who belongs to a campaign, and what follows from it: one place tells whether somebody may know that it is there."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection

from dissensus.errors import Conflict, NotAllowed, NotFound
from dissensus.schema.campaign.roles import Role
from dissensus.schema.hints import suggest, format_list, format_value
from dissensus.store import campaigns
from dissensus.store import membership as store
from dissensus.store import staff as people
from dissensus.store.campaigns import Kept
from dissensus.store.core.ids import new_key
from dissensus.store.membership import Member, Pending
from dissensus.store.staff import Staff
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.platform.staff import SESSION_LIFETIME, validate_name

INVITATION_LIFETIME: Final = timedelta(days=7)
"""How long staff can be invited by a link."""


@dataclass(frozen=True, slots=True)
class MemberInvitation:
    """What a link lets somebody into."""

    campaign: str
    role: Role  # Who they will be


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipView:
    """That somebody belongs to a campaign, or to none."""

    campaign: str | None
    person: str
    role: Role | None  # Who they are there
    since: datetime  # Since when, or since when they are known


def campaign_for_member(tx: Connection, name: str, staff_id: str, *, lock: bool = False) -> tuple[Kept, Role]:
    """Return a campaign and who somebody is in it."""
    kept = campaigns.campaign_named(tx, name, lock=lock)
    role = store.role_of(tx, kept.id, staff_id)
    if role is None:
        raise NotFound(f"There is no campaign {format_value(name)}.")
    return kept, role


def member_role(platform: Platform, name: str, staff_id: str) -> Role:
    """Return who somebody is in a campaign, and refuse it as `campaign_for_member` does."""
    with platform.database.reading() as tx:
        return campaign_for_member(tx, name, staff_id)[1]


def list_members(
    platform: Platform, name: str, *, staff_id: str, now: datetime
) -> tuple[tuple[Member, ...], tuple[Pending, ...]]:
    """Return who belongs to a campaign, and the links by which others may come to."""
    with platform.database.reading() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id)
        return store.members_of(tx, kept.id), store.pending_of(tx, kept.id, now=now)


def add_member(platform: Platform, name: str, person: str, role: Role, *, staff_id: str, now: datetime) -> None:
    """Let somebody belong to a campaign; who is not known yet is then."""
    person = validate_name(person)
    with platform.database.writing() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id, lock=True)
        found = people.staff_named(tx, person) or people.add_staff(tx, person, now=now)
        _add_membership(tx, kept, found, role, now)
        log_staff_event(tx, kept.id, "staff", staff_id, now, person=found.id, role=role)


def create_member_invitation(platform: Platform, name: str, role: Role, *, staff_id: str, now: datetime) -> str:
    """Return the key of a link by which somebody comes to belong to a campaign, once and within a week."""
    key = new_key()
    with platform.database.writing() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id)
        people.forget_ended(tx, now=now)
        store.invite(tx, kept.id, key, role, expires_at=now + INVITATION_LIFETIME)
    return key


def revoke_member_invitation(platform: Platform, name: str, invitation_id: str, *, staff_id: str) -> None:
    """Take a link of a campaign back that nobody has used."""
    with platform.database.writing() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id)
        if not store.take_back(tx, kept.id, invitation_id):
            raise NotFound(f"{name} has no such link; it was used, has ended or was taken back. Load the list again.")


def preview_member_invitation(platform: Platform, key: str, *, now: datetime) -> MemberInvitation:
    """Return what a link lets somebody into, and leave it as it is."""
    with platform.database.reading() as tx:
        kept, role = _load_invitation(tx, key, now)
        return MemberInvitation(kept.name, role)


def accept_invitation(platform: Platform, key: str, *, staff_id: str, now: datetime) -> str:
    """Let somebody belong to a campaign by a link, use the link up, and return the campaign's name."""
    with platform.database.writing() as tx:
        return _use_invitation(tx, key, staff_id, now)


def accept_invitation_as_new(platform: Platform, key: str, person: str, *, now: datetime) -> tuple[str, str]:
    """Let somebody new belong to a campaign by a link; return the campaign's name and the key of a session."""
    person = validate_name(person)
    with platform.database.writing() as tx:
        _load_invitation(tx, key, now)
        if people.staff_named(tx, person) is not None:
            raise Conflict(f"Somebody is called {format_value(person)}. If that is you, sign in first; else choose another.")
        staff = people.add_staff(tx, person, now=now)
        session = new_key()
        people.sign_in(tx, staff.id, session, expires_at=now + SESSION_LIFETIME)
        return _use_invitation(tx, key, staff.id, now), session


def _use_invitation(tx: Connection, key: str, staff_id: str, now: datetime) -> str:
    kept, role = _load_invitation(tx, key, now)
    campaigns.campaign_of(tx, kept.id, lock=True)
    if not store.use_invitation(tx, key, now=now):
        raise _stale_invitation()
    _add_membership(tx, kept, Staff(id=staff_id, name="You", created_at=now), role, now)
    log_staff_event(tx, kept.id, "staff", staff_id, now, person=staff_id, role=role)
    return kept.name


def _load_invitation(tx: Connection, key: str, now: datetime) -> tuple[Kept, Role]:
    found = store.invited(tx, key, now=now)
    if found is None:
        raise _stale_invitation()
    return campaigns.campaign_of(tx, found[0]), found[1]


def _stale_invitation() -> NotAllowed:
    return NotAllowed(
        f"This link was used, was taken back, is older than {INVITATION_LIFETIME.days} days, or is not whole. Ask an owner of "
        "the campaign for another one."
    )


def _add_membership(tx: Connection, kept: Kept, staff: Staff, role: Role, now: datetime) -> None:
    known = store.role_of(tx, kept.id, staff.id)
    if known is not None:
        raise Conflict(f"{staff.name} belong{'' if staff.name == 'You' else 's'} to {kept.name} already, as {known}.")
    store.join(tx, kept.id, staff.id, role, now=now)


def change_role(platform: Platform, name: str, person: str, role: Role, *, staff_id: str, now: datetime) -> None:
    """Make somebody who belongs to a campaign somebody else there."""
    with platform.database.writing() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id, lock=True)
        member = _find_member(tx, kept, person)
        if role != "owner":
            _keep_an_owner(tx, kept, member)
        store.set_role(tx, kept.id, member.staff_id, role)
        log_staff_event(tx, kept.id, "staff", staff_id, now, person=member.staff_id, role=role)


def remove_member(platform: Platform, name: str, person: str, *, staff_id: str, now: datetime) -> None:
    """Let somebody not belong to a campaign any more; pages that they have open lose it at once."""
    with platform.database.writing() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id, lock=True)
        member = _find_member(tx, kept, person)
        _keep_an_owner(tx, kept, member)
        store.leave(tx, kept.id, member.staff_id)
        log_staff_event(tx, kept.id, "staff", staff_id, now, person=member.staff_id, role=None)


def _find_member(tx: Connection, kept: Kept, person: str) -> Member:
    found = store.members_of(tx, kept.id)
    names = [one.name for one in found]
    if person.strip() not in names:
        hint = suggest(person, names)
        raise NotFound(f"Nobody called {format_value(person)} belongs to {kept.name}.{hint} There are {format_list(names)}.")
    return found[names.index(person.strip())]


def _keep_an_owner(tx: Connection, kept: Kept, member: Member) -> None:
    if member.role == "owner" and store.n_owners(tx, kept.id) == 1:
        raise Conflict(f"{member.name} is the last owner of {kept.name}. Make somebody else an owner first.")


def list_memberships(platform: Platform, name: str | None = None) -> tuple[MembershipView, ...]:
    """Return who belongs to a campaign or to any, and who to none, for whoever runs the platform and may know all."""
    with platform.database.reading() as tx:
        found = campaigns.all_campaigns(tx) if name is None else (campaigns.campaign_named(tx, name),)
        belong = [
            MembershipView(campaign=kept.name, person=one.name, role=one.role, since=one.created_at)
            for kept in sorted(found, key=lambda kept: kept.name)
            for one in store.members_of(tx, kept.id)
        ]
        known = {one.person for one in belong}
        others = [one for one in people.all_staff(tx) if name is None and one.name not in known]
    alone = [MembershipView(campaign=None, person=one.name, role=None, since=one.created_at) for one in others]
    return tuple(belong + alone)
