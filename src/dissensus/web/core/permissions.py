"""Who may do what: one table, which every route names an action of, and which tests hold the routes to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from dissensus.schema.campaign.roles import ROLES, Role
from dissensus.schema.hints import suggest

Who = Literal["stranger", "rater", "staff"] | Role
"""Strangers are signed in as nobody; staff are, in whatever role."""

WHO: Final[tuple[Who, ...]] = ("stranger", "rater", "staff", *ROLES)
EVERYBODY: Final = frozenset(WHO)
ANY_STAFF: Final[frozenset[Who]] = frozenset({"staff", *ROLES})
MEMBERS: Final[frozenset[Who]] = frozenset(get_args(Role))
RESULTS: Final[frozenset[Who]] = frozenset({"owner", "analyst"})
EXPERTS: Final[frozenset[Who]] = frozenset({"owner", "expert"})
OWNER: Final[frozenset[Who]] = frozenset({"owner"})
CARERS: Final[frozenset[Who]] = frozenset({"carer"})


@dataclass(frozen=True, slots=True)
class Action:
    """What somebody can want to do."""

    says: str  # In words, after "may"
    who: frozenset[Who]
    # Whether it is about the site, or about one campaign, where the role in that campaign decides
    about: Literal["site", "campaign"] = "campaign"
    by_token: bool = False  # Whether a program may do it for somebody who may
    of_raters: bool = False  # Whether it shows what single raters did or said, so that to look is an event


ACTIONS: Final[Mapping[str, Action]] = {
    "look": Action("see whether the site works, and load its files", EVERYBODY, "site"),
    "enter": Action("come in as a rater by a link", EVERYBODY, "site"),
    "withdraw": Action("withdraw as a rater by a link", EVERYBODY, "site"),
    "rate": Action("rate, and say so where something is wrong", frozenset({"rater"}), "site"),
    "tell": Action("tell, signed as a recruiter, what became of whom it sent", EVERYBODY, "site"),
    "sign-in": Action("sign in, and come to belong to a campaign by a link", EVERYBODY, "site"),
    "account": Action("see and change their own password, sessions and tokens", ANY_STAFF, "site"),
    "list": Action("list the campaigns that they belong to", ANY_STAFF, "site", by_token=True),
    "create": Action(
        "draw a sample of a corpus, and make a campaign, which they own", ANY_STAFF, "site", by_token=True
    ),
    "see": Action("see the state of the campaign, what is asked and the first items", MEMBERS, by_token=True),
    "numbers": Action("see how far it is, and how its quota fills", RESULTS, by_token=True),
    "small-numbers": Action("see numbers of fewer than five raters", OWNER, by_token=True),
    "flags": Action(
        "see which raters are flagged and why, and decide about them", OWNER, by_token=True, of_raters=True
    ),
    "export": Action("take the finished ratings out", RESULTS, by_token=True),
    "label": Action("label items, verify and check what others labelled, and read it once all labels are in", EXPERTS),
    "adjudicate": Action("decide where experts differ on an item that they did not label", EXPERTS),
    "gold": Action(
        "see all labels with their history, bring platinum, and compare both with the crowd", OWNER, by_token=True
    ),
    "notices": Action("read what raters reported, and settle it", OWNER, by_token=True, of_raters=True),
    "links": Action("see the open link and make personal links", OWNER, by_token=True),
    "raters": Action("list its raters, by random ids, with what each has done", OWNER, by_token=True, of_raters=True),
    "care": Action("read how raters feel who want them to know, and settle it", CARERS, of_raters=True),
    "log": Action("read the log of what happened in it", OWNER, by_token=True),
    "webhooks": Action("have addresses told what is in the log, as it happens", OWNER, by_token=True),
    "move": Action("open, pause and close it", OWNER, by_token=True),
    "revise": Action("change its definition", OWNER, by_token=True),
    "items": Action("read, add and remove items", OWNER, by_token=True),
    "rehearse": Action("preview it, and let simulated raters go through", OWNER),
    "clone": Action("clone it", OWNER, by_token=True),
    "pay": Action(
        "see what raters are owed, note payments, and decide on submissions", OWNER, by_token=True, of_raters=True
    ),
    "withdraw-for": Action("withdraw for a rater who asks for it", OWNER, by_token=True),
    "staff": Action("see and say who belongs to it, and in which role", OWNER, by_token=True),
}
SCOPES: Final = frozenset(name for name, action in ACTIONS.items() if action.by_token)
"""What tokens can be for."""


def action_named(name: str) -> Action:
    """Return an action of the table.

    Examples
    --------
    >>> sorted(action_named("export").who)
    ['analyst', 'owner']
    """
    if name not in ACTIONS:
        raise LookupError(f"{name} is no action.{suggest(name, list(ACTIONS))}")
    return ACTIONS[name]


def may(who: Who) -> frozenset[str]:
    """Return all that somebody may do.

    Examples
    --------
    >>> sorted(may("analyst"))
    ['account', 'create', 'enter', 'export', 'list', 'look', 'numbers', 'see', 'sign-in', 'tell', 'withdraw']
    """
    return frozenset(name for name, action in ACTIONS.items() if who in action.who)


def as_table() -> str:
    """Return the table as Markdown, a row an action."""
    head = ["Action", "May", *WHO, "token"]
    rows = [
        [f"`{name}`", action.says, *("✓" if who in action.who else "" for who in WHO), "✓" if action.by_token else ""]
        for name, action in ACTIONS.items()
    ]
    return as_markdown(head, rows)


def as_markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])
