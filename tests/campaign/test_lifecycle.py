"""States of a campaign and their transitions."""

from itertools import product

import pytest

from dissensus.campaign import check_transition
from dissensus.errors import Conflict
from dissensus.schema.campaign.definition import STATES, CampaignState

ALLOWED = {
    ("draft", "open"),
    ("open", "paused"),
    ("open", "closed"),
    ("paused", "open"),
    ("paused", "closed"),
    ("closed", "paused"),
}


@pytest.mark.parametrize(("state", "to"), list(product(STATES, STATES)))
def test_every_transition(state: CampaignState, to: CampaignState) -> None:
    if (state, to) in ALLOWED:
        assert check_transition(state, to) == to
        return
    with pytest.raises(Conflict, match=f"A campaign that is {state} cannot become {to}; it can become"):
        check_transition(state, to)


def test_an_unknown_state_is_rejected() -> None:
    with pytest.raises(Conflict, match="cannot become gone; it can become paused or closed"):
        check_transition("open", "gone")  # type: ignore[arg-type]
