"""Session of a person whom an OpenID provider authenticated."""

from datetime import datetime

from dissensus.errors import NotAllowed
from dissensus.store import staff as store
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.platform.sessions import delete_expired_keys, open_session


def sign_in_by_provider(
    platform: Platform, *, subject: str, email: str | None, network: str | None, now: datetime
) -> str:
    """Return the key of a new session for a person whom a provider authenticated.

    The person is found by the subject of the provider, at the first sign-in by the verified e-mail address. Nobody is
    registered.
    """
    with platform.database.writing() as tx:
        staff = store.find_staff_by_subject(tx, subject=subject)
        if staff is None and email is not None:
            staff = store.claim_subject(tx, email.strip().casefold(), subject)
        if staff is None:
            raise NotAllowed(
                "No account here has your verified e-mail address. Ask the operator: dissensus staff email NAME ADDRESS"
            )
        delete_expired_keys(tx, now=now)
        return open_session(tx, staff.id, "provider", network=network, now=now)
