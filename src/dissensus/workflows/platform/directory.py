"""Directory of staff accounts for operators: who can sign in, and disabling an account."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from dissensus.errors import Conflict
from dissensus.schema.campaign.roles import Role
from dissensus.store import campaigns
from dissensus.store import staff as store
from dissensus.store.identity import sessions
from dissensus.store.identity.second_factors import list_second_factor_owners
from dissensus.store.identity.security_log import SecurityEventKind, load_last_sign_ins, log_security_event
from dissensus.store.staff import StaffRow
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.platform.staff import find_staff


@dataclass(frozen=True, slots=True, kw_only=True)
class StaffAccount:
    """A staff account as operators see it."""

    staff: StaffRow
    disabled_at: datetime | None
    last_sign_in: datetime | None  # None if the security log has none
    has_second_factor: bool
    roles: Sequence[tuple[str, Role]]  # campaigns and the role in each


def list_accounts(platform: Platform) -> tuple[StaffAccount, ...]:
    """Return all accounts by name, for operators."""
    with platform.database.reading() as tx:
        roles, protected = campaigns.load_all_roles(tx), list_second_factor_owners(tx)
        last, disabled = load_last_sign_ins(tx), store.load_disabled_accounts(tx)
        return tuple(
            StaffAccount(
                staff=staff,
                disabled_at=disabled.get(staff.id),
                last_sign_in=last.get(staff.id),
                has_second_factor=staff.id in protected,
                roles=tuple(roles.get(staff.id, ())),
            )
            for staff in store.list_staff(tx)
        )


def disable_account(platform: Platform, name: str, *, by: StaffRow | None = None, now: datetime) -> None:
    """Disable an account: its sessions and links end, and neither it nor its tokens are admitted.

    `by` is the operator, None for the command line.
    """
    with platform.database.writing() as tx:
        staff = find_staff(tx, name)
        if by is not None and staff.id == by.id:
            raise Conflict("You cannot disable your own account. Ask another operator.")
        if store.is_disabled(tx, staff.id):
            return
        store.set_disabled(tx, staff.id, at=now)
        sessions.end_all_sessions(tx, staff.id)
        log_security_event(tx, "account_disabled", staff.id, now, _actor(by))


def enable_account(platform: Platform, name: str, *, by: StaffRow | None = None, now: datetime) -> None:
    """Enable a disabled account."""
    with platform.database.writing() as tx:
        staff = find_staff(tx, name)
        if store.is_disabled(tx, staff.id):
            store.set_disabled(tx, staff.id, at=None)
            log_security_event(tx, "account_enabled", staff.id, now, _actor(by))


def set_operator(platform: Platform, name: str, *, operator: bool, now: datetime) -> None:
    """Grant the directory of staff to a person, or take it away."""
    with platform.database.writing() as tx:
        staff = find_staff(tx, name)
        if staff.operator != operator:
            store.set_operator(tx, staff.id, operator=operator)
            kind: SecurityEventKind = "operator_added" if operator else "operator_removed"
            log_security_event(tx, kind, staff.id, now, _actor(None))


def _actor(by: StaffRow | None) -> dict[str, str]:
    return {"by": "the operator" if by is None else by.name}
