"""Permissions: the table of actions and the roles that may perform them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

from dissensus.schema.campaign.roles import ROLES, Role
from dissensus.schema.hints import suggest

Actor = Literal["stranger", "rater", "staff", "operator"] | Role
"""Strangers are not signed in; staff are signed in, in any role; operators may see all accounts of the site."""

ACTORS: Final[tuple[Actor, ...]] = ("stranger", "rater", "staff", "operator", *ROLES)
ANYONE: Final = frozenset(ACTORS)
ANY_STAFF: Final[frozenset[Actor]] = frozenset({"staff", "operator", *ROLES})
MEMBERS: Final[frozenset[Actor]] = frozenset(get_args(Role))
RESULTS: Final[frozenset[Actor]] = frozenset({"owner", "analyst"})
REVIEWERS: Final[frozenset[Actor]] = frozenset({"owner", "reviewer"})
VIEWERS: Final[frozenset[Actor]] = RESULTS | REVIEWERS | {"observer"}
EXPERTS: Final[frozenset[Actor]] = frozenset({"owner", "expert"})
OWNER: Final[frozenset[Actor]] = frozenset({"owner"})
CARERS: Final[frozenset[Actor]] = frozenset({"carer"})


@dataclass(frozen=True, slots=True)
class Action:
    """An action of the permissions table."""

    description: str  # Completes "may …"
    actors: frozenset[Actor]
    # The site, or one campaign; in a campaign the role there decides
    resource: Literal["site", "campaign"] = "campaign"
    by_token: bool = False  # Available as a scope of API tokens
    shows_raters: bool = False  # Shows records of individual raters, so viewing is logged


ACTIONS: Final[Mapping[str, Action]] = {
    "look": Action("see the start page, check whether the site works, and load static files", ANYONE, "site"),
    "enter": Action("enter a campaign as a rater with a link", ANYONE, "site"),
    "withdraw": Action("withdraw as a rater with a link", ANYONE, "site"),
    "rate": Action("rate items and report problems", frozenset({"rater"}), "site"),
    "recruiter-webhook": Action("report, as a signed recruiter webhook, what became of participants", ANYONE, "site"),
    "sign-in": Action("sign in, and join a campaign with a link", ANYONE, "site"),
    "account": Action("see and change their own password, sessions and tokens", ANY_STAFF, "site"),
    "directory": Action("see all staff accounts, and disable them", frozenset({"operator"}), "site"),
    "list": Action("list the campaigns that they are members of", ANY_STAFF, "site", by_token=True),
    "create": Action(
        "draw a sample of a corpus, and create a campaign, which they own", ANY_STAFF, "site", by_token=True
    ),
    "see": Action("see the state of the campaign, its questions and first items", MEMBERS, by_token=True),
    "numbers": Action("see its progress, and figures of large groups once it is closed", VIEWERS, by_token=True),
    "small-numbers": Action(
        "see its items, figures of all groups, and how its quota fills", RESULTS | REVIEWERS, by_token=True
    ),
    "flags": Action(
        "see which raters are flagged and why, and decide about them", REVIEWERS, by_token=True, shows_raters=True
    ),
    "export": Action("export the finished ratings", RESULTS, by_token=True),
    "label": Action(
        "label items, verify labels of others, and read all labels of an item once they are complete", EXPERTS
    ),
    "adjudicate": Action("adjudicate items on which experts disagree and that they did not label", EXPERTS),
    "gold": Action(
        "see all labels with their history, upload platinum labels, and compare both with the crowd",
        OWNER,
        by_token=True,
    ),
    "notices": Action("read reports of raters, and settle them", REVIEWERS, by_token=True, shows_raters=True),
    "links": Action("see the open link and create personal links", OWNER, by_token=True),
    "raters": Action(
        "list its raters, by random ids, with the progress of each, and read their conversations and answers",
        REVIEWERS,
        by_token=True,
        shows_raters=True,
    ),
    "care": Action("read wellbeing surveys that raters share with them, and settle them", CARERS, shows_raters=True),
    "release": Action("see the verdict on a release, change its plan, and sign its checks", OWNER, shows_raters=True),
    "log": Action("read its audit log", OWNER, by_token=True),
    "webhooks": Action("manage webhooks that receive its audit log", OWNER, by_token=True),
    "state": Action("open, pause and close it", OWNER, by_token=True),
    "archive": Action("archive it once it is closed, and take it out of the archive", OWNER, by_token=True),
    "delete": Action("delete it, with everything but its audit log", OWNER, by_token=True),
    "revise": Action("change its definition", OWNER, by_token=True),
    "items": Action("read, add, withhold and remove items", OWNER, by_token=True),
    "images": Action("see the images of its items", RESULTS | REVIEWERS | EXPERTS),
    "judge": Action("permit that its texts are sent to a model that judges, or take that back", OWNER),
    "rehearse": Action("preview it, and run it with simulated raters", OWNER),
    "clone": Action("clone it", OWNER, by_token=True),
    "pay": Action(
        "see what raters are owed, record payments, and decide on submissions", OWNER, by_token=True, shows_raters=True
    ),
    "withdraw-for": Action("withdraw on behalf of a rater", OWNER, by_token=True),
    "staff": Action("see and change its members and their roles", OWNER, by_token=True),
}
SCOPES: Final = frozenset(name for name, action in ACTIONS.items() if action.by_token)
"""Scopes of API tokens."""


def find_action(name: str) -> Action:
    """Return an action by its name.

    Examples
    --------
    >>> sorted(find_action("export").actors)
    ['analyst', 'owner']
    """
    if name not in ACTIONS:
        raise LookupError(f"{name} is not an action.{suggest(name, list(ACTIONS))}")
    return ACTIONS[name]


def actions_of(actor: Actor) -> frozenset[str]:
    """Return the actions that an actor may perform.

    Examples
    --------
    >>> sorted(actions_of("analyst"))
    ['account', 'create', 'enter', 'export', 'images', 'list', 'look', 'numbers', 'recruiter-webhook',
     'see', 'sign-in', 'small-numbers', 'withdraw']
    """
    return frozenset(name for name, action in ACTIONS.items() if actor in action.actors)


def campaign_actions_of(role: Role) -> frozenset[str]:
    """Return the actions that a role may perform in its campaign.

    Examples
    --------
    >>> sorted(campaign_actions_of("analyst"))
    ['export', 'images', 'numbers', 'see', 'small-numbers']
    """
    return frozenset(name for name in actions_of(role) if ACTIONS[name].resource == "campaign")
