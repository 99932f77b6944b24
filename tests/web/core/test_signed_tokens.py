"""Lifetimes of signed tokens."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.support.campaigns import NOW
from tests.support.live_site import SECRET

from dissensus.encryption import SecretKeys
from dissensus.errors import NotAllowed
from dissensus.web.core.signed_tokens import ARRIVAL_S, OIDC_FLOW_S, OidcFlow, TokenSigner
from dissensus.workflows.rater.enrolment import Arrival

SIGNER = TokenSigner(SecretKeys(SECRET))
ARRIVAL, FLOW = Arrival("pilot", "", "en"), OidcFlow("state", "nonce", "verifier")


@pytest.mark.parametrize(
    ("token", "read", "content", "lifetime_s", "message"),
    [
        (SIGNER.sign_arrival(ARRIVAL, now=NOW), SIGNER.read_arrival, ARRIVAL, ARRIVAL_S, "was open for too long"),
        (SIGNER.sign_oidc_flow(FLOW, now=NOW), SIGNER.read_oidc_flow, FLOW, OIDC_FLOW_S, "Signing in took too long"),
    ],
    ids=["arrival", "OpenID sign-in"],
)
def test_a_token_is_valid_until_its_lifetime_is_over(
    token: str, read: Callable[..., Any], content: object, lifetime_s: int, message: str
) -> None:
    end: datetime = NOW + timedelta(seconds=lifetime_s)
    assert read(token, now=end) == content
    with pytest.raises(NotAllowed, match=message):
        read(token, now=end + timedelta(milliseconds=1))
