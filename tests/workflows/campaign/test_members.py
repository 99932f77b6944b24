"""Members of campaigns: single-use invitations, roles, and the last owner."""

import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy import func, select
from tests.support.campaigns import NOW, definition, items, open_campaign

from dissensus.encryption import SecretKeys
from dissensus.errors import Conflict, InvalidInput, NotAllowed, NotFound
from dissensus.schema.campaign.roles import parse_role
from dissensus.store.audit_log import EventTable
from dissensus.store.campaigns import CampaignRow
from dissensus.workflows.campaign import campaigns, overview
from dissensus.workflows.campaign import members as members_workflow
from dissensus.workflows.platform import passwords, sessions, sign_in_links, staff
from dissensus.workflows.platform.platform import Platform

HASHER = passwords.make_hasher(passes=1, memory_mib=1)
PASSWORD = "correct horse battery"
KEYS = SecretKeys("k" * 32)


@pytest.fixture
def pilot(platform: Platform) -> CampaignRow:
    return open_campaign(platform)


def roles_by_name(platform: Platform, pilot: CampaignRow) -> dict[str, str]:
    listed = members_workflow.list_members(platform, "pilot", staff_id=pilot.staff_id, now=NOW)
    return {one.name: one.role for one in listed.members}


def staff_id_of(platform: Platform, name: str) -> str:
    return sign_in_links.create_sign_in_link(platform, name, now=NOW).staff.id


def test_the_creator_of_a_campaign_owns_it(platform: Platform, pilot: CampaignRow) -> None:
    assert roles_by_name(platform, pilot) == {"owner": "owner"}
    campaigns.clone_campaign(platform, "pilot", "second", staff_id=pilot.staff_id, now=NOW)
    assert members_workflow.member_role(platform, "second", pilot.staff_id) == "owner"


def test_an_invitation_works_once(platform: Platform, pilot: CampaignRow) -> None:
    key = members_workflow.create_member_invitation(platform, "pilot", "analyst", staff_id=pilot.staff_id, now=NOW)
    assert members_workflow.preview_member_invitation(platform, key, now=NOW) == members_workflow.MemberInvitation(
        "pilot", "analyst"
    )
    campaign, session = members_workflow.accept_invitation_as_new(
        platform, HASHER, key, " grace ", PASSWORD, network=None, now=NOW
    )
    grace = sessions.staff_of_session(platform, session, now=NOW)
    assert grace is not None
    assert (campaign, grace.name) == ("pilot", "grace")
    assert roles_by_name(platform, pilot) == {"owner": "owner", "grace": "analyst"}
    for action in (
        lambda: members_workflow.preview_member_invitation(platform, key, now=NOW),
        lambda: members_workflow.accept_invitation(platform, key, staff_id=staff_id_of(platform, "eve"), now=NOW),
        lambda: members_workflow.accept_invitation_as_new(
            platform, HASHER, key, "mallory", PASSWORD, network=None, now=NOW
        ),
        # Passwords are read by those with a link alone, since hashing one takes time: this one is too short.
        lambda: members_workflow.accept_invitation_as_new(
            platform, HASHER, key, "mallory", "short", network=None, now=NOW
        ),
    ):
        with pytest.raises(NotAllowed, match=r"This link was used or revoked, is older than 7 days"):
            action()
    assert staff.find_or_create_owner(platform, "grace", now=NOW) == grace


def test_an_invitation_expires_and_can_be_revoked(platform: Platform, pilot: CampaignRow) -> None:
    owner = pilot.staff_id
    first_key, second_key = (
        members_workflow.create_member_invitation(platform, "pilot", "expert", staff_id=owner, now=NOW)
        for _ in range(2)
    )
    pending = members_workflow.list_members(platform, "pilot", staff_id=owner, now=NOW).invitations
    assert {invitation.role for invitation in pending} == {"expert"}
    assert not {first_key, second_key} & {invitation.id for invitation in pending}
    campaigns.create_campaign(platform, definition("other"), items(1), staff_id=staff_id_of(platform, "eve"), now=NOW)
    with pytest.raises(NotFound, match="other has no such link"):
        members_workflow.revoke_member_invitation(
            platform, "other", pending[0].id, staff_id=staff_id_of(platform, "eve")
        )
    assert len(members_workflow.list_members(platform, "pilot", staff_id=owner, now=NOW).invitations) == 2
    for invitation in pending:
        members_workflow.revoke_member_invitation(platform, "pilot", invitation.id, staff_id=pilot.staff_id)
    with pytest.raises(NotAllowed, match="This link was used or revoked, is older than 7 days"):
        members_workflow.preview_member_invitation(platform, second_key, now=NOW)
    late_key = members_workflow.create_member_invitation(platform, "pilot", "expert", staff_id=owner, now=NOW)
    with pytest.raises(NotAllowed, match="This link was used or revoked, is older than 7 days"):
        members_workflow.preview_member_invitation(platform, late_key, now=NOW + timedelta(days=7))


def test_concurrent_uses_of_an_invitation_admit_one_member(platform: Platform, pilot: CampaignRow) -> None:
    key = members_workflow.create_member_invitation(platform, "pilot", "owner", staff_id=pilot.staff_id, now=NOW)
    people = [staff_id_of(platform, f"p{i}") for i in range(6)]

    def enter(person: str) -> None:
        try:
            members_workflow.accept_invitation(platform, key, staff_id=person, now=NOW)
        except NotAllowed:
            return

    _run_concurrently([partial(enter, person) for person in people])
    assert len(roles_by_name(platform, pilot)) == 2


def _run_concurrently(works: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_an_invitation_cannot_take_over_an_existing_name(platform: Platform, pilot: CampaignRow) -> None:
    key = members_workflow.create_member_invitation(platform, "pilot", "owner", staff_id=pilot.staff_id, now=NOW)
    with pytest.raises(Conflict, match=r"Somebody is called 'owner'. If that is you, sign in first"):
        members_workflow.accept_invitation_as_new(platform, HASHER, key, "owner", PASSWORD, network=None, now=NOW)
    with pytest.raises(InvalidInput, match="is not a valid name"):
        members_workflow.accept_invitation_as_new(platform, HASHER, key, "a\nb", PASSWORD, network=None, now=NOW)
    with pytest.raises(Conflict, match=r"You belong to pilot already, as owner"):
        members_workflow.accept_invitation(platform, key, staff_id=pilot.staff_id, now=NOW)
    assert members_workflow.preview_member_invitation(platform, key, now=NOW).role == "owner"


def test_the_last_owner_cannot_be_removed_or_demoted(platform: Platform, pilot: CampaignRow) -> None:
    owner = pilot.staff_id
    last = r"owner is the last owner of pilot. Make somebody else an owner first"
    with pytest.raises(Conflict, match=last):
        members_workflow.remove_member(platform, "pilot", "owner", staff_id=owner, now=NOW)
    with pytest.raises(Conflict, match=last):
        members_workflow.change_role(platform, "pilot", "owner", "analyst", staff_id=owner, now=NOW)
    members_workflow.change_role(platform, "pilot", "owner", "owner", staff_id=owner, now=NOW)
    members_workflow.add_member(platform, "pilot", "grace", "analyst", staff_id=owner, now=NOW)
    members_workflow.change_role(platform, "pilot", "grace", "owner", staff_id=owner, now=NOW)
    members_workflow.remove_member(platform, "pilot", "owner", staff_id=owner, now=NOW)
    with pytest.raises(NotFound, match=r"^There is no campaign 'pilot'\.$"):
        members_workflow.member_role(platform, "pilot", pilot.staff_id)
    assert overview.find_owner_id(platform, "pilot") == staff_id_of(platform, "grace") != pilot.staff_id
    assert overview.list_campaigns_of(platform, staff.find_or_create_owner(platform, "owner", now=NOW)) == ()


def test_owners_who_remove_each_other_concurrently_leave_one(platform: Platform, pilot: CampaignRow) -> None:
    members_workflow.add_member(platform, "pilot", "grace", "owner", staff_id=pilot.staff_id, now=NOW)
    grace = staff_id_of(platform, "grace")

    def remove(person: str, by: str) -> None:
        try:
            members_workflow.remove_member(platform, "pilot", person, staff_id=by, now=NOW)
        except (Conflict, NotFound):
            return

    _run_concurrently([lambda: remove("grace", pilot.staff_id), lambda: remove("owner", grace)])
    assert len([one for one in members_workflow.list_memberships(platform, "pilot") if one.role == "owner"]) == 1


def test_concurrent_registrations_of_a_name_admit_one(platform: Platform, pilot: CampaignRow) -> None:
    keys = [
        members_workflow.create_member_invitation(platform, "pilot", "expert", staff_id=pilot.staff_id, now=NOW)
        for _ in range(6)
    ]
    errors = []

    def enter(key: str) -> None:
        try:
            members_workflow.accept_invitation_as_new(platform, HASHER, key, "grace", PASSWORD, network=None, now=NOW)
        except Conflict as error:
            errors.append(str(error))

    _run_concurrently([partial(enter, key) for key in keys])
    assert len(errors) == 5
    assert all(error_text.startswith("Somebody is called 'grace'") for error_text in errors)
    assert roles_by_name(platform, pilot) == {"owner": "owner", "grace": "expert"}


def test_unknown_members_and_roles_are_refused_with_suggestions(platform: Platform, pilot: CampaignRow) -> None:
    with pytest.raises(NotFound, match=r"Nobody called 'onwer' belongs to pilot. Did you mean 'owner'"):
        members_workflow.remove_member(platform, "pilot", "onwer", staff_id=pilot.staff_id, now=NOW)
    with pytest.raises(InvalidInput, match=r"'analist' is not a role. Did you mean 'analyst'"):
        parse_role("analist")
    members_workflow.add_member(platform, "pilot", "grace", "expert", staff_id=pilot.staff_id, now=NOW)
    with pytest.raises(Conflict, match=r"grace belongs to pilot already, as expert"):
        members_workflow.add_member(platform, "pilot", "grace", "owner", staff_id=pilot.staff_id, now=NOW)


@pytest.mark.usefixtures("pilot")
def test_memberships_list_every_person(platform: Platform) -> None:
    staff_id_of(platform, "eve")
    memberships = members_workflow.list_memberships(platform)
    assert [(membership.campaign, membership.person, membership.role) for membership in memberships] == [
        ("pilot", "owner", "owner"),
        (None, "eve", None),
    ]
    assert [membership.person for membership in members_workflow.list_memberships(platform, "pilot")] == ["owner"]


def test_mailed_invitations_that_wait_are_limited(platform: Platform, pilot: CampaignRow) -> None:
    def invite(number: int) -> None:
        address, by = f"rater{number}@example.org", pilot.staff_id
        members_workflow.mail_member_invitation(platform, KEYS, "pilot", "expert", address, staff_id=by, now=NOW)

    members_workflow.create_member_invitation(platform, "pilot", "expert", staff_id=pilot.staff_id, now=NOW)
    for number in range(members_workflow.MAX_MAILED_INVITATIONS):
        invite(number)
    with pytest.raises(Conflict, match="50 mailed invitations to pilot are not used yet"):
        invite(50)
    listed = members_workflow.list_members(platform, "pilot", staff_id=pilot.staff_id, now=NOW).invitations
    assert len(listed) == 51
    mailed = next(one for one in listed if one.address)
    members_workflow.revoke_member_invitation(platform, "pilot", mailed.id, staff_id=pilot.staff_id)
    invite(50)


def test_the_same_role_changes_nothing(platform: Platform) -> None:
    campaign = open_campaign(platform)
    by: dict[str, Any] = {"staff_id": campaign.staff_id, "now": NOW}
    members_workflow.add_member(platform, "pilot", "grace", "analyst", **by)
    members_workflow.change_role(platform, "pilot", "grace", "analyst", **by)
    with platform.database.reading() as tx:
        assert tx.scalar(select(func.count()).where(EventTable.kind == "members_changed")) == 1
