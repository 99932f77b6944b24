"""Plan file of a campaign: numbers of raters and ratings that a definition takes from `dissensus plan`."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dissensus.errors import InvalidInput
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.parser import parse_campaign
from dissensus.schema.hints import format_list
from dissensus.schema.ratings.columns import CROSSED

PLANNED_KEYS: Final = ("replication", "max_items", "quota")
MAX_LENGTH: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignPlan:
    """The part of a plan that a campaign follows."""

    question: str
    definition: Mapping[str, Any]
    file: str  # text of the plan file
    sha256: str  # of the plan file

    def as_event(self) -> dict[str, Any]:
        """Return the content of the event in the audit log."""
        quota = self.definition.get("quota", {})
        numbers = {name: quota[name] for name in ("seats", "rest", "margin_percent") if name in quota}
        plain = {name: value for name, value in self.definition.items() if name != "quota"}
        cells = {CROSSED.join(cell["groups"].values()): cell["seats"] for cell in quota.get("cells", ())}
        return {
            "question": self.question,
            "sha256": self.sha256,
            **plain,
            **numbers,
            **({"cells": cells} if cells else {}),
        }


def read_plan(text: str) -> CampaignPlan:
    """Read a plan file, which `dissensus plan … -o plan.json` writes.

    Examples
    --------
    >>> read_plan('{"question": "pool", "campaign": {"quota": {"seats": 10}}}').as_event()["seats"]
    10
    """
    remedy = "Write a plan by dissensus plan groups, pool or comparison with -o plan.json."
    if len(text) > MAX_LENGTH:
        raise InvalidInput(f"The plan has more than {MAX_LENGTH:,} characters. {remedy}")
    try:
        plan = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInput(f"The plan is not JSON. {remedy}") from None
    definition = plan.get("campaign") if isinstance(plan, dict) else None
    if not isinstance(definition, dict) or not definition:
        raise InvalidInput(f"The plan has no numbers for a campaign. {remedy}")
    unknown = [name for name in definition if name not in PLANNED_KEYS]
    quota = definition.get("quota", {})
    if unknown or not isinstance(quota, dict):
        raise InvalidInput(
            f"The plan sets {format_list(unknown or ['quota'])}; it may set {format_list(PLANNED_KEYS)}. {remedy}"
        )
    axes = quota.get("axes", {})
    is_valid = isinstance(axes, dict) and all(isinstance(groups, dict) for groups in axes.values())
    if not is_valid or ("axes" in quota and not axes):
        raise InvalidInput(f"The axes of the quota in the plan have no groups. {remedy}")
    digest = hashlib.sha256(text.encode()).hexdigest()
    return CampaignPlan(question=str(plan.get("question", "plan")), definition=definition, file=text, sha256=digest)


def apply_plan(campaign: Campaign, plan: CampaignPlan) -> Campaign:
    """Return the campaign with the numbers of the plan, validated anew."""
    mapping = campaign.as_mapping()
    planned = dict(plan.definition)
    if (quota := planned.pop("quota", None)) is not None:
        planned["quota"] = _merge_quota(mapping.get("quota"), quota)
    return parse_campaign({**mapping, **planned})


def _merge_quota(current: Mapping[str, Any] | None, planned: Mapping[str, Any]) -> dict[str, Any]:
    """Return the quota with planned numbers; without planned axes, the campaign must have a quota of one axis."""
    if "axes" in planned:
        old = {name: value for name, value in (current or {}).items() if name != "cells"}
        # If the groups are those of the campaign, its answers for each group stay: a plan knows only names of groups.
        same = _list_groups(old.get("axes", {})) == _list_groups(planned["axes"])
        return {**old, **planned, **({"axes": old["axes"]} if same else {})}
    if current is None or len(current["axes"]) != 1:
        raise InvalidInput(
            "The plan says how many raters a group needs, and the campaign has no quota of one axis. Give it one, "
            "or plan its cells by dissensus plan pool."
        )
    return {**current, **planned}


def _list_groups(axes: Mapping[str, Any]) -> dict[str, set[str]]:
    return {axis: set(groups) for axis, groups in axes.items()}
