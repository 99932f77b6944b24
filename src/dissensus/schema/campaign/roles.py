"""Roles of staff in a campaign."""

from collections.abc import Mapping
from typing import Final, Literal, get_args

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_list, format_value, suggest

Role = Literal["owner", "analyst", "observer", "expert", "reviewer", "carer"]

ROLES: Final[tuple[Role, ...]] = get_args(Role)
DUTIES: Final[Mapping[Role, str]] = {
    "owner": "runs the campaign, and manages its members",
    "analyst": "works with the ratings of each rater, without their identity",
    "observer": "sees its progress, and results of large groups once it is closed",
    "expert": "labels its items",
    "reviewer": "reviews what comes in: conversations, flagged raters and reports",
    "carer": "supports raters who do not feel well, and has no other access",
}


def parse_role(text: object) -> Role:
    """Parse the name of a role.

    Examples
    --------
    >>> parse_role("analyst")
    'analyst'
    """
    for role in ROLES:
        if role == text:
            return role
    raise InvalidInput(
        f"{format_value(text)} is not a role.{suggest(str(text), ROLES)} Roles are {format_list(ROLES)}."
    )
