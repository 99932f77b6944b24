"""Membership of staff in campaigns, and the authorisation check for campaign access."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from argon2 import PasswordHasher
from sqlalchemy import Connection

from dissensus.encryption import SecretKeys
from dissensus.errors import Conflict, InvalidInput, NotAllowed, NotFound
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.roles import Role
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.store import campaigns
from dissensus.store import members as store
from dissensus.store import staff as people
from dissensus.store.campaigns import CampaignRow
from dissensus.store.core.orm import new_key
from dissensus.store.identity import api_tokens, sessions
from dissensus.store.identity.api_tokens import ApiTokenRow
from dissensus.store.identity.mails import add_mail_to
from dissensus.store.identity.security_log import log_security_event
from dissensus.store.members import MemberRow, PendingInvitation, ValidInvitation
from dissensus.store.staff import StaffRow
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.platform.mail_delivery import encrypt_link_key
from dissensus.workflows.platform.passwords import hash_password
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.platform.sessions import delete_expired_keys, open_session
from dissensus.workflows.platform.staff import normalise_email, validate_name

INVITATION_LIFETIME: Final = timedelta(days=7)
"""Validity of an invitation link of staff."""
MAX_MAILED_INVITATIONS: Final = 50
"""Pending invitations of one campaign that were mailed, so that nobody floods addresses by it."""


@dataclass(frozen=True, slots=True)
class MemberInvitation:
    """Campaign and role that an invitation link grants, and the address to which it was mailed."""

    campaign: str
    role: Role
    address: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberList:
    """Members of a campaign, and the links and tokens that they made."""

    members: tuple[MemberRow, ...]
    invitations: tuple[PendingInvitation, ...]
    tokens: tuple[ApiTokenRow, ...]  # Valid tokens that have not ended in the campaign


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


def load_member_campaign(
    tx: Connection, platform: Platform, name: str, staff_id: str, *, lock: bool = False
) -> tuple[CampaignRow, Campaign]:
    """Return a campaign of a member with its definition; to others it does not exist."""
    campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=lock)
    return campaign_row, platform.definitions.load(tx, campaign_row)


def member_role(platform: Platform, name: str, staff_id: str, *, token_id: str | None = None) -> Role:
    """Return the member's role in a campaign; refuses like `campaign_for_member`, and tokens that ended there."""
    with platform.database.reading() as tx:
        campaign_row, role = campaign_for_member(tx, name, staff_id)
        if token_id is not None and (token_id, campaign_row.id) in api_tokens.list_exclusions(tx, [token_id]):
            raise NotAllowed(
                f"This token ended in {name}: an owner ended it, or its maker lost a role there. Create another one."
            )
        return role


def list_members(platform: Platform, name: str, *, staff_id: str, now: datetime) -> MemberList:
    """Return the members of a campaign, its open invitations and the tokens of its members."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        members = store.list_members(tx, campaign_row.id)
        staff_ids = [member.staff_id for member in members]
        return MemberList(
            members=members,
            invitations=store.list_pending_invitations(tx, campaign_id=campaign_row.id, now=now),
            tokens=api_tokens.list_tokens_in_campaign(tx, campaign_row.id, staff_ids, now=now),
        )


def add_member(platform: Platform, name: str, person: str, role: Role, *, staff_id: str, now: datetime) -> None:
    """Add a person to a campaign, registering them if they are new."""
    person = validate_name(person)
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=True)
        staff = people.find_staff_by_name(tx, person) or people.add_staff(tx, person, now=now)
        _add_membership(tx, campaign_row, staff, role, added_by=staff_id, now=now)
        log_staff_event(tx, campaign_row.id, "members_changed", staff_id, now, person=staff.id, role=role, before=None)


def create_member_invitation(
    platform: Platform, name: str, role: Role, *, staff_id: str, token_id: str | None = None, now: datetime
) -> str:
    """Return the key of a single-use invitation link, valid for one week.

    It ends with the ownership of its maker, and with the token through which it was made.
    """
    with platform.database.writing() as tx:
        return _add_invitation(tx, name, role, staff_id=staff_id, token_id=token_id, now=now)


def mail_member_invitation(
    platform: Platform, keys: SecretKeys, name: str, role: Role, address: str, *, staff_id: str, now: datetime
) -> None:
    """Mail a single-use invitation link, which nobody else sees, so that a new account can have the address."""
    address = normalise_email(address)
    with platform.database.writing() as tx:
        key = _add_invitation(tx, name, role, staff_id=staff_id, address=address, now=now)
        _check_mailed_invitations(tx, name, now)
        content = {"campaign": name, "role": role, "by": people.find_staff_name(tx, staff_id)}
        add_mail_to(tx, address, "invitation", now, content | encrypt_link_key(keys, key))


def _check_mailed_invitations(tx: Connection, name: str, now: datetime) -> None:
    campaign_row = campaigns.get_campaign_by_name(tx, name)
    pending = store.list_pending_invitations(tx, campaign_id=campaign_row.id, now=now)
    if sum(one.address is not None for one in pending) > MAX_MAILED_INVITATIONS:
        raise Conflict(
            f"{MAX_MAILED_INVITATIONS} mailed invitations to {name} are not used yet, and more are not allowed. "
            "Revoke some, wait until they are used, or create a link and pass it on."
        )


def _add_invitation(
    tx: Connection,
    name: str,
    role: Role,
    *,
    staff_id: str,
    token_id: str | None = None,
    address: str | None = None,
    now: datetime,
) -> str:
    # Locked, so that a concurrent removal of the maker does not miss the link.
    campaign_row, maker_role = campaign_for_member(tx, name, staff_id, lock=True)
    if maker_role != "owner":
        raise NotAllowed(f"You are a member of {name} as {maker_role}, and only owners may invite. Ask an owner.")
    delete_expired_keys(tx, now=now)
    key = new_key()
    invitation = ValidInvitation(campaign_id=campaign_row.id, role=role, staff_id=staff_id, address=address)
    store.add_staff_invitation(tx, key, invitation, token_id=token_id, expires_at=now + INVITATION_LIFETIME)
    log_security_event(tx, "invitation_created", staff_id, now, {"campaign": name, "role": role})
    return key


def revoke_member_invitation(platform: Platform, name: str, invitation_id: str, *, staff_id: str) -> None:
    """Revoke an unused invitation link."""
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        if not store.revoke_invitation(tx, invitation_id, campaign_id=campaign_row.id):
            raise NotFound(f"{name} has no such link; it was used, has expired or was revoked. Reload the list.")


def list_own_invitations(
    platform: Platform, *, staff_id: str, now: datetime
) -> tuple[tuple[str, PendingInvitation], ...]:
    """Return the valid invitations that a person made, each with the name of its campaign."""
    with platform.database.reading() as tx:
        invitations = store.list_pending_invitations(tx, staff_id=staff_id, now=now)
        return tuple((campaigns.get_campaign(tx, one.campaign_id).name, one) for one in invitations)


def revoke_own_invitation(platform: Platform, invitation_id: str, *, staff_id: str) -> None:
    """Revoke an invitation that the person made, if it is still unused."""
    with platform.database.writing() as tx:
        store.revoke_invitation(tx, invitation_id, staff_id=staff_id)


def end_token(platform: Platform, name: str, token_id: str, *, staff_id: str, now: datetime) -> None:
    """End the token of a member in a campaign, with the invitations that were made through it."""
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=True)
        staff_ids = [member.staff_id for member in store.list_members(tx, campaign_row.id)]
        tokens = api_tokens.list_tokens_in_campaign(tx, campaign_row.id, staff_ids, now=now)
        if token_id not in {token.id for token in tokens}:
            raise NotFound(f"No member of {name} has such a token; it was revoked or has expired. Reload the list.")
        api_tokens.end_tokens_in_campaign(tx, campaign_row.id, token_id=token_id)
        store.revoke_invitations_through(tx, campaign_row.id, token_id)


def list_token_exclusions(platform: Platform, token_ids: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the names of the campaigns in which tokens have ended, by token."""
    names: dict[str, tuple[str, ...]] = {}
    with platform.database.reading() as tx:
        for token_id, campaign_id in sorted(api_tokens.list_exclusions(tx, token_ids)):
            names[token_id] = (*names.get(token_id, ()), campaigns.get_campaign(tx, campaign_id).name)
    return names


def preview_member_invitation(platform: Platform, key: str, *, now: datetime) -> MemberInvitation:
    """Return the campaign and role of an invitation link without using it."""
    with platform.database.reading() as tx:
        campaign_row, invitation = _load_invitation(tx, key, now)
        return MemberInvitation(campaign_row.name, invitation.role, invitation.address)


def accept_invitation(platform: Platform, key: str, *, staff_id: str, now: datetime) -> str:
    """Use an invitation link for a signed-in person and return the campaign's name."""
    with platform.database.writing() as tx:
        return _use_invitation(tx, key, staff_id, now)


def accept_invitation_as_new(
    platform: Platform,
    hasher: PasswordHasher,
    key: str,
    person: str,
    password: str,
    *,
    network: str | None,
    now: datetime,
) -> tuple[str, str]:
    """Use an invitation link for a new person; return the campaign's name and a session key.

    The password may be empty if the link was mailed: its address becomes that of the account, which signs in by mail.
    """
    person = validate_name(person)
    # Hashing takes much time and memory, so it is not for those without a valid link.
    preview_member_invitation(platform, key, now=now)
    password_hash = hash_password(hasher, password, person) if password else None
    with platform.database.writing() as tx:
        _, invitation = _load_invitation(tx, key, now)
        if password_hash is None and invitation.address is None:
            raise InvalidInput("There is no password. Set one, with which you sign in from now on.")
        if people.find_staff_by_name(tx, person) is not None:
            raise Conflict(
                f"Somebody is called {format_value(person)}. If that is you, sign in first; else choose another."
            )
        staff = people.add_staff(tx, person, now=now)
        if password_hash is not None:
            people.set_password_hash(tx, staff.id, password_hash)
        if invitation.address is not None:
            people.set_email(tx, staff.id, invitation.address)
        session = open_session(tx, staff.id, "invitation", network=network, now=now)
        return _use_invitation(tx, key, staff.id, now), session


def _use_invitation(tx: Connection, key: str, staff_id: str, now: datetime) -> str:
    campaign_row, invitation = _load_invitation(tx, key, now)
    campaigns.get_campaign(tx, campaign_row.id, lock=True)
    if not store.use_invitation(tx, key, now=now):
        raise _stale_invitation()
    role, person = invitation.role, StaffRow(id=staff_id, name="You", created_at=now)
    _add_membership(tx, campaign_row, person, role, added_by=invitation.staff_id, now=now)
    log_staff_event(tx, campaign_row.id, "members_changed", staff_id, now, person=staff_id, role=role, before=None)
    return campaign_row.name


def _load_invitation(tx: Connection, key: str, now: datetime) -> tuple[CampaignRow, ValidInvitation]:
    invitation = store.find_invitation(tx, key, now=now)
    if invitation is None:
        raise _stale_invitation()
    return campaigns.get_campaign(tx, invitation.campaign_id), invitation


def _stale_invitation() -> NotAllowed:
    return NotAllowed(
        f"This link was used or revoked, is older than {INVITATION_LIFETIME.days} days, is incomplete, or its maker "
        "is no longer an owner. Ask an owner of the campaign for another one."
    )


def _add_membership(
    tx: Connection, campaign_row: CampaignRow, staff: StaffRow, role: Role, *, added_by: str, now: datetime
) -> None:
    current = store.find_role(tx, campaign_row.id, staff.id)
    if current is not None:
        raise Conflict(
            f"{staff.name} belong{'' if staff.name == 'You' else 's'} to {campaign_row.name} already, as {current}."
        )
    store.add_member(tx, campaign_row.id, staff.id, role, added_by=added_by, now=now)
    content = {"campaign": campaign_row.name, "role": role, "by": people.find_staff_name(tx, added_by)}
    log_security_event(tx, "role_given", staff.id, now, content)


def change_role(
    platform: Platform, name: str, person: str, role: Role, *, staff_id: str, session: str = "", now: datetime
) -> None:
    """Change the role of a member, if it is another one.

    Unless they become an owner, their links, tokens and all sessions but the given one end.
    """
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=True)
        member = _find_member(tx, campaign_row, person)
        if role == member.role:
            return
        if role != "owner":
            _check_owner_remains(tx, campaign_row, member)
            _end_rights(tx, campaign_row, member, session=session)
        store.set_role(tx, campaign_row.id, member.staff_id, role)
        content = {"campaign": name, "role": role, "before": member.role, "by": people.find_staff_name(tx, staff_id)}
        log_security_event(tx, "role_changed", member.staff_id, now, content)
        changed = {"person": member.staff_id, "role": role, "before": member.role}
        log_staff_event(tx, campaign_row.id, "members_changed", staff_id, now, **changed)


def remove_member(
    platform: Platform, name: str, person: str, *, staff_id: str, session: str = "", now: datetime
) -> None:
    """Remove a member from a campaign at once; end their links, tokens and all sessions but the given one."""
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=True)
        member = _find_member(tx, campaign_row, person)
        _check_owner_remains(tx, campaign_row, member)
        _end_rights(tx, campaign_row, member, session=session)
        store.remove_member(tx, campaign_row.id, member.staff_id)
        content = {"campaign": name, "before": member.role, "by": people.find_staff_name(tx, staff_id)}
        log_security_event(tx, "role_lost", member.staff_id, now, content)
        log_staff_event(tx, campaign_row.id, "members_changed", staff_id, now, person=member.staff_id, role=None)


def _end_rights(tx: Connection, campaign_row: CampaignRow, member: MemberRow, *, session: str) -> None:
    """End the links and tokens of a member in a campaign, and their sessions but the one that makes the change."""
    store.revoke_invitations_by(tx, campaign_row.id, member.staff_id)
    api_tokens.end_tokens_in_campaign(tx, campaign_row.id, staff_id=member.staff_id)
    sessions.end_other_sessions(tx, member.staff_id, session)


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
