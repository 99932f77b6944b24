"""Preferences of campaign raters as training data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Connection

from dissensus.campaign.preferences import build_preferences as preferences_of_rated
from dissensus.pipeline.collect.completed_chats import CompletedChat, to_preferences
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.ratings.columns import is_rater_attribute
from dissensus.schema.records.preference import Preference
from dissensus.store import campaigns, export, flags
from dissensus.store.campaigns import CampaignRow
from dissensus.store.chats import ChatRow
from dissensus.workflows.export.consent_scope import Pseudonyms, required_purposes
from dissensus.workflows.platform.platform import Platform


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignPreferences:
    """Preferences of campaigns under pseudonymous ids."""

    preferences: Mapping[str, tuple[Preference, ...]]  # by campaign
    people: Mapping[str, Mapping[str, str]]  # groups by axis, by rater


def collect_preferences(platform: Platform, line: str, campaigns_of_it: Sequence[str] = ()) -> CampaignPreferences:
    """Return the preferences of campaigns that name a registered model, from raters who gave the required consent.

    Named campaigns restrict the selection. Previews, raters who withdrew or were excluded, and unfinished conversations
    are left out.
    """
    found = _PreferenceCollector()
    with platform.database.reading() as tx:
        for campaign_row in campaigns.list_campaigns(tx):
            campaign = platform.definitions.of(tx, campaign_row)
            if line in campaign.registered_models and (not campaigns_of_it or campaign.name in campaigns_of_it):
                found.take(tx, campaign_row, campaign)
    return CampaignPreferences(preferences=found.preferences, people=found.people)


@dataclass(slots=True)
class _PreferenceCollector:
    preferences: dict[str, tuple[Preference, ...]] = field(default_factory=dict)
    people: dict[str, Mapping[str, str]] = field(default_factory=dict)
    pseudonyms: Pseudonyms = field(default_factory=Pseudonyms)

    def take(self, tx: Connection, campaign_row: CampaignRow, campaign: Campaign) -> None:
        """Add the preferences of a campaign."""
        purposes = required_purposes(campaign, ())
        preferences: list[Preference] = []
        if campaign.chat is not None:
            excluded = flags.load_excluded_raters(tx, campaign_row.id)
            for one in export.iterate_ended_chats(tx, campaign_row.id, purposes):
                if one.chat.rater_id not in excluded:
                    preferences += to_preferences(self._talked(one.chat), campaign.chat)
            self._add_people(export.load_declarations(tx, campaign_row.id, purposes))
        if campaign.pair is not None:
            rated = [
                one
                for window in export.iterate_ratings(tx, campaign_row.id, purposes)
                for one in window
                if not one.flagged
            ]
            named = [replace(one, rater_id=self.pseudonyms.pseudonym_of(one.rater_id)) for one in rated]
            preferences += preferences_of_rated(named, campaign.pair.compared)
            self._add_people({one.rater_id: one.declared for one in rated})
        self.preferences[campaign.name] = tuple(preferences)

    def _talked(self, chat: ChatRow) -> CompletedChat:
        rater_id = self.pseudonyms.pseudonym_of(chat.rater_id)
        return CompletedChat(
            id=self.pseudonyms.pseudonym_of(chat.id), rater_id=rater_id, member=0, exchanges=chat.exchanges
        )

    def _add_people(self, declared: Mapping[str, Mapping[str, Any]]) -> None:
        for rater_id, answers in declared.items():
            known = {axis: group for axis, group in answers.items() if is_rater_attribute(axis)}
            self.people[self.pseudonyms.pseudonym_of(rater_id)] = {
                axis: group for axis, group in known.items() if isinstance(group, str) and group
            }
