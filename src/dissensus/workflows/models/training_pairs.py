"""Preferences of campaign raters as training data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Connection

from dissensus.campaign.consent_scope import required_purposes
from dissensus.campaign.preferences import build_preferences
from dissensus.pipeline.collect.completed_chats import CompletedChat, to_preferences
from dissensus.pipeline.release.pseudonyms import Pseudonyms
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.ratings.columns import is_rater_attribute
from dissensus.schema.records.preference import Preference
from dissensus.store import campaigns, export, flags
from dissensus.store.campaigns import CampaignRow
from dissensus.store.chats import ChatRow
from dissensus.workflows.platform.platform import Platform


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignPreferences:
    """Preferences of campaigns under pseudonymous ids."""

    preferences: Mapping[str, tuple[Preference, ...]]  # by campaign
    raters: Mapping[str, Mapping[str, str]]  # groups by axis, by rater


def collect_preferences(platform: Platform, model_name: str, campaign_names: Sequence[str] = ()) -> CampaignPreferences:
    """Return the preferences of campaigns that name a registered model, from raters who gave the required consent.

    Campaign names restrict the selection. Previews, raters who withdrew or were excluded, and unfinished conversations
    are left out.
    """
    collector = _PreferenceCollector()
    with platform.database.reading() as tx:
        for campaign_row in campaigns.list_campaigns(tx):
            campaign = platform.definitions.load(tx, campaign_row)
            if model_name in campaign.registered_models and (not campaign_names or campaign.name in campaign_names):
                collector.add_campaign(tx, campaign_row, campaign)
    return CampaignPreferences(preferences=collector.preferences, raters=collector.raters)


@dataclass(slots=True)
class _PreferenceCollector:
    preferences: dict[str, tuple[Preference, ...]] = field(default_factory=dict)
    raters: dict[str, Mapping[str, str]] = field(default_factory=dict)
    pseudonyms: Pseudonyms = field(default_factory=Pseudonyms)

    def add_campaign(self, tx: Connection, campaign_row: CampaignRow, campaign: Campaign) -> None:
        """Add the preferences of a campaign."""
        purposes = required_purposes(campaign, ())
        preferences: list[Preference] = []
        if campaign.chat is not None:
            excluded = flags.load_excluded_raters(tx, campaign_row.id)
            for ended in export.iterate_ended_chats(tx, campaign_row.id, purposes):
                if ended.chat.rater_id not in excluded:
                    preferences += to_preferences(self._to_completed_chat(ended.chat), campaign.chat)
            self._add_raters(export.load_declarations(tx, campaign_row.id, purposes))
        if campaign.pair is not None:
            ratings = [
                rating
                for window in export.iterate_ratings(tx, campaign_row.id, purposes)
                for rating in window
                if not rating.flagged
            ]
            pseudonymous = [
                replace(rating, rater_id=self.pseudonyms.pseudonym_of(rating.rater_id)) for rating in ratings
            ]
            preferences += build_preferences(pseudonymous, campaign.pair.criterion)
            self._add_raters({rating.rater_id: rating.declared for rating in ratings})
        self.preferences[campaign.name] = tuple(preferences)

    def _to_completed_chat(self, chat: ChatRow) -> CompletedChat:
        rater_id = self.pseudonyms.pseudonym_of(chat.rater_id)
        return CompletedChat(
            id=self.pseudonyms.pseudonym_of(chat.id), rater_id=rater_id, member=0, exchanges=chat.exchanges
        )

    def _add_raters(self, declarations: Mapping[str, Mapping[str, Any]]) -> None:
        for rater_id, answers in declarations.items():
            self.raters[self.pseudonyms.pseudonym_of(rater_id)] = {
                axis: group
                for axis, group in answers.items()
                if is_rater_attribute(axis) and isinstance(group, str) and group
            }
