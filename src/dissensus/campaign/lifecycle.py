"""States of a campaign and their allowed transitions."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from dissensus.errors import Conflict
from dissensus.schema.campaign.definition import STATES, CampaignState

TRANSITIONS: Final[Mapping[CampaignState, tuple[CampaignState, ...]]] = MappingProxyType(
    {"draft": ("open",), "open": ("paused", "closed"), "paused": ("open", "closed"), "closed": ("paused",)}
)
"""A closed campaign can be paused again, to undo a mistake."""


def check_transition(state: CampaignState, to: CampaignState) -> CampaignState:
    """Return the new state, or raise if the transition is not allowed.

    Examples
    --------
    >>> check_transition("draft", "open")
    'open'
    >>> check_transition("draft", "closed")
    Traceback (most recent call last):
        ...
    dissensus.errors.Conflict: A campaign that is draft cannot become closed; it can become open.
    """
    if to not in STATES or to not in TRANSITIONS[state]:
        raise Conflict(
            f"A campaign that is {state} cannot become {to}; it can become {' or '.join(TRANSITIONS[state])}."
        )
    return to
