"""What raters of campaigns preferred, for models to learn from."""

import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Connection

from dissensus.campaign.preferences import preferences_of as preferences_of_rated
from dissensus.pipeline.collect.completed_chats import Talked, preferences_of
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.ratings.columns import is_rater_attribute
from dissensus.schema.records.preference import Preference
from dissensus.store import campaigns, chat_export, export, flags
from dissensus.store.campaigns import Kept
from dissensus.store.chats import Chat
from dissensus.workflows.export.ratings import ID_DIGITS, KEY_BYTES, required_purposes
from dissensus.workflows.platform.platform import Platform


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignPreferences:
    """What was preferred in campaigns."""

    # Of each campaign, by its name, under ids that were drawn for this alone
    preferences: Mapping[str, tuple[Preference, ...]]
    people: Mapping[str, Mapping[str, str]]  # By rater, their group on each axis


def collect_preferences(platform: Platform, line: str, campaigns_of_it: Sequence[str] = ()) -> CampaignPreferences:
    """Return what raters preferred in campaigns that name a line, of those who agreed to all that is required.

    Where campaigns are named, only these; else all that name the line.

    Previews, raters who withdrew or were excluded, and conversations that have not ended are left out.
    """
    found = _PreferenceCollector()
    with platform.database.reading() as tx:
        for kept in campaigns.all_campaigns(tx):
            campaign = platform.definitions.of(tx, kept)
            if line in campaign.lines and (not campaigns_of_it or campaign.name in campaigns_of_it):
                found.take(tx, kept, campaign)
    return CampaignPreferences(preferences=found.preferences, people=found.people)


@dataclass(slots=True)
class _PreferenceCollector:
    preferences: dict[str, tuple[Preference, ...]] = field(default_factory=dict)
    people: dict[str, Mapping[str, str]] = field(default_factory=dict)
    # Never kept: nobody can be followed from one training to the next.
    key: bytes = field(default_factory=lambda: secrets.token_bytes(KEY_BYTES))

    def take(self, tx: Connection, kept: Kept, campaign: Campaign) -> None:
        """Take what a campaign has."""
        purposes = required_purposes(campaign, ())
        preferences: list[Preference] = []
        if campaign.chat is not None:
            excluded = flags.excluded(tx, kept.id)
            for one in chat_export.ended(tx, kept.id, purposes):
                if one.chat.rater_id not in excluded:
                    preferences += preferences_of(self._talked(one.chat), campaign.chat)
            self._add_people(chat_export.declared(tx, kept.id, purposes))
        if campaign.pair is not None:
            rated = [one for window in export.rated_of(tx, kept.id, purposes) for one in window if not one.flagged]
            named = [replace(one, rater_id=self._named(one.rater_id)) for one in rated]
            preferences += preferences_of_rated(named, campaign.pair.compared)
            self._add_people({one.rater_id: one.declared for one in rated})
        self.preferences[campaign.name] = tuple(preferences)

    def _talked(self, chat: Chat) -> Talked:
        rater_id = self._named(chat.rater_id)
        return Talked(id=self._named(chat.id), rater_id=rater_id, member=0, exchanges=chat.exchanges)

    def _add_people(self, declared: Mapping[str, Mapping[str, Any]]) -> None:
        for rater_id, answers in declared.items():
            known = {axis: group for axis, group in answers.items() if is_rater_attribute(axis)}
            self.people[self._named(rater_id)] = {
                axis: group for axis, group in known.items() if isinstance(group, str) and group
            }

    def _named(self, one: str) -> str:
        return hmac.new(self.key, one.encode(), "sha256").hexdigest()[:ID_DIGITS]
