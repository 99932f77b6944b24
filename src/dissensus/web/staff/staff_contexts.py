"""What each page about staff shows: signing in, one's own account, and who belongs to a campaign."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dissensus.schema.campaign.roles import Role
from dissensus.web.core.translations import FIRST
from dissensus.workflows.campaign.members import MemberInvitation
from dissensus.workflows.platform.api_tokens import MAX_DAYS
from dissensus.workflows.platform.passwords import MIN_LENGTH

if TYPE_CHECKING:
    from dissensus.store.api_tokens import Token
    from dissensus.store.membership import Member, Pending
    from dissensus.store.staff import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class SignIn:
    """A link is good; a button uses it up."""

    template: ClassVar[str] = "owner/sign-in.html"

    key: str
    form_token: str
    language: str = FIRST


@dataclass(frozen=True, slots=True, kw_only=True)
class ByPassword:
    """The form for a name and a password, and the button of a provider where there is one."""

    template: ClassVar[str] = "owner/password.html"

    form_token: str
    name: str = ""
    provider: str | None = None
    faults: tuple[str, ...] = ()
    language: str = FIRST


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedOut:
    """Nobody is signed in (any more)."""

    template: ClassVar[str] = "owner/signed-out.html"

    language: str = FIRST


@dataclass(frozen=True, slots=True, kw_only=True)
class Joining:
    """A link lets somebody belong to a campaign: who is signed in, or somebody new."""

    template: ClassVar[str] = "owner/join.html"

    key: str
    form_token: str
    welcome: MemberInvitation
    duty: str
    known_as: str | None
    name: str = ""
    faults: tuple[str, ...] = ()
    language: str = FIRST


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One's own password, sessions and tokens."""

    template: ClassVar[str] = "owner/account.html"

    owner: str
    form_token: str
    has_password: bool
    sessions: tuple["Session", ...]
    this_session: str
    tokens: tuple["Token", ...]
    scopes: tuple[tuple[str, str], ...]
    done: str = ""
    faults: tuple[str, ...] = ()
    shortest: int = MIN_LENGTH
    most_days: int = MAX_DAYS
    language: str = FIRST


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenMade:
    """A token, shown once."""

    template: ClassVar[str] = "owner/token.html"

    owner: str
    form_token: str
    key: str
    token: "Token"
    address: str
    language: str = FIRST


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """Who belongs to a campaign."""

    template: ClassVar[str] = "owner/members.html"

    owner: str
    form_token: str
    name: str
    members: tuple["Member", ...]
    pending: tuple["Pending", ...]
    roles: tuple[tuple[Role, str], ...]
    language: str = FIRST


@dataclass(frozen=True, slots=True, kw_only=True)
class StaffInvited:
    """A link for somebody of the staff, shown once."""

    template: ClassVar[str] = "owner/staff-invited.html"

    owner: str
    form_token: str
    name: str
    role: Role
    link: str
    days: int
    language: str = FIRST
