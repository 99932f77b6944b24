"""Export the conversations of a campaign, as internal files or as items of other campaigns."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection

from dissensus.campaign.consent_scope import describe_refusal, required_purposes
from dissensus.errors import InvalidInput, NotFound
from dissensus.files.attempts.tables import write_attempts
from dissensus.files.raw.atomic_write import write_atomically
from dissensus.pipeline.collect.completed_chats import CompletedChat, list_failures, to_attempt, to_item, to_preferences
from dissensus.pipeline.release import PairPolicy
from dissensus.pipeline.release.documents import ATTEMPTS
from dissensus.pipeline.release.pseudonyms import Pseudonyms
from dissensus.schema.campaign.chat import ChatSettings
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.records.attempt import TAGS, Review
from dissensus.schema.records.item import Item
from dissensus.store import export as store
from dissensus.store import raters
from dissensus.store.campaigns import CampaignRow
from dissensus.store.chats import ChatRow
from dissensus.text.personal_data import find_personal_data
from dissensus.workflows.campaign import overview
from dissensus.workflows.campaign.conversations import iterate_reviews, to_completed_chat
from dissensus.workflows.campaign.members import load_member_campaign
from dissensus.workflows.export.folder import (
    PAIRS,
    PREFERENCES,
    README,
    FolderExport,
    create_empty_folder,
    describe_withdrawals,
    provenance_lines,
    write_jsonl,
    write_preferences,
)
from dissensus.workflows.export.ratings import ExportOptions, log_export
from dissensus.workflows.export.source_notices import list_warnings
from dissensus.workflows.platform.platform import Platform

ITEMS: Final = "conversations.jsonl"
RED_TEAMERS: Final = "red-teamers.jsonl"
FAILURES: Final = "failed-responses.jsonl"
REVIEWS: Final = "reviews.jsonl"
PERSONAL_DATA: Final = "personal-data.jsonl"


def export_conversations(
    platform: Platform,
    name: str,
    folder: Path,
    *,
    options: ExportOptions | None = None,
    policy: PairPolicy | None = None,
    staff_id: str | None = None,
    now: datetime,
) -> FolderExport:
    """Write finished conversations to a new or empty folder: those of raters who gave the required consent.

    The export is logged as that of a member of staff, by default an owner.
    """
    staff_id = staff_id or overview.find_owner_id(platform, name)
    with platform.database.reading() as tx:
        campaign_row, campaign = load_member_campaign(tx, platform, name, staff_id)
        if campaign.chat is None:
            raise InvalidInput(f"In {name} raters rate items. Name a file for their ratings: -o {name}.csv")
        purposes = required_purposes(campaign, options.purposes if options else ())
        collector = _ConversationCollector(
            campaign_row=campaign_row,
            campaign=campaign,
            chat=campaign.chat,
            counts=store.count_chat_export(tx, campaign_row.id, purposes),
            warnings=list_warnings(tx, campaign_row, campaign),
        )
        if campaign.recruit is not None:
            collector.recruited = raters.list_open_link_raters(tx, campaign_row.id)
        collector.add_chats(
            store.iterate_ended_chats(tx, campaign_row.id, purposes),
            store.load_declarations(tx, campaign_row.id, purposes),
        )
        collector.reviews = list(iterate_reviews(tx, platform, collector.rows, campaign.chat, staff_id=staff_id))
    if not collector.chats:
        omissions = " ".join(collector.describe_omissions(purposes))
        raise NotFound(f"{name} has no conversation to export yet. {omissions}".rstrip())
    create_empty_folder(folder)
    exported = collector.write(folder, policy or PairPolicy(), purposes)
    write_atomically(("\n".join(_readme_lines(collector, exported, purposes, now)) + "\n").encode(), folder / README)
    log_export(platform, name, staff_id, ExportOptions(purposes=purposes, with_text=True), now)
    return exported


def list_conversation_items(platform: Platform, name: str, *, staff_id: str, now: datetime) -> tuple[Item, ...]:
    """Return the finished conversations of raters who gave the required consent, as items."""
    with platform.database.reading() as tx:
        campaign_row, campaign = load_member_campaign(tx, platform, name, staff_id)
        if campaign.chat is None:
            raise InvalidInput(f"In {name} raters rate items, and have no conversations.")
        result = tuple(_completed_items(tx, campaign_row.id, campaign, campaign.chat))
    if not result:
        raise NotFound(f"{name} has no finished conversation of a rater who agreed to its use.")
    log_export(platform, name, staff_id, ExportOptions(with_text=True), now)
    return result


def _completed_items(tx: Connection, campaign_id: str, campaign: Campaign, chat: ChatSettings) -> Iterator[Item]:
    for ended in store.iterate_ended_chats(tx, campaign_id, required_purposes(campaign, ())):
        item = to_item(to_completed_chat(ended.chat), chat)
        if item is not None:
            yield item


@dataclass(slots=True, kw_only=True)
class _ConversationCollector:
    """Conversations and reviews under pseudonymous ids."""

    campaign_row: CampaignRow
    campaign: Campaign
    chat: ChatSettings
    counts: store.ChatExportCounts
    chats: list[CompletedChat] = field(default_factory=list)
    red_teamers: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    rows: list[ChatRow] = field(default_factory=list)
    reviews: list[Review] = field(default_factory=list)
    recruited: frozenset[str] = frozenset()  # raters whom the recruiter sent
    warnings: tuple[str, ...] = ()  # content warning and notices of sources, line by line
    pseudonyms: Pseudonyms = field(default_factory=Pseudonyms)

    def add_chats(self, ended: Iterator[store.EndedChat], declarations: Mapping[str, Mapping[str, Any]]) -> None:
        """Assign export ids to conversations and red-teamers."""
        members: dict[str, int] = {}
        rows = list(ended)
        # Numbered by pseudonym, so that the order does not reveal who came first.
        for rater_id in sorted({row.chat.rater_id for row in rows}, key=self.pseudonyms.pseudonym_of):
            members[rater_id] = len(members)
            ids = {"rater_id": self._rater_id(rater_id), "red_team_member_id": members[rater_id]}
            self.red_teamers[rater_id] = {**ids, **declarations.get(rater_id, {})}
        self.rows = [row.chat for row in rows]
        for row in rows:
            self.chats.append(
                CompletedChat(
                    id=self._chat_id(row.chat.id),
                    rater_id=self._rater_id(row.chat.rater_id),
                    member=members[row.chat.rater_id],
                    exchanges=row.chat.exchanges,
                    intent=row.chat.intent,
                    success=row.success,
                    is_upworker=self._is_upworker(row.chat.rater_id),
                )
            )

    def _chat_id(self, chat_id: str) -> str:
        return f"c{self.pseudonyms.pseudonym_of(chat_id)}"

    def _rater_id(self, rater_id: str) -> str:
        return f"r{self.pseudonyms.pseudonym_of(rater_id)}"

    def _is_upworker(self, rater_id: str) -> bool | None:
        recruit = self.campaign.recruit
        return None if recruit is None or rater_id not in self.recruited else recruit.is_upwork

    def write(self, folder: Path, policy: PairPolicy, purposes: Sequence[str]) -> FolderExport:
        """Write all files that are not empty."""
        preferences = [preference for chat in self.chats for preference in to_preferences(chat, self.chat)]
        pairs = [(chat, attempt) for chat in self.chats if (attempt := to_attempt(chat, self.chat)) is not None]
        reviews = self._reviews([chat.id for chat, _ in pairs])
        attempts = [
            replace(attempt, tags=_review_tags(reviews.get(number))) for number, (_, attempt) in enumerate(pairs, 1)
        ]
        items = list(filter(None, (to_item(chat, self.chat) for chat in self.chats)))
        personal = [row for item in items for row in _personal_data_rows(item)]
        failures = [failure for chat in self.chats for failure in list_failures(chat, self.chat)]
        n_pairs, notes = write_preferences(preferences, policy, folder)
        if attempts:
            write_attempts(attempts, folder / ATTEMPTS)
        for name, rows in (
            (ITEMS, map(_to_item_row, items)),
            (RED_TEAMERS, iter(self.red_teamers.values())),
            (PERSONAL_DATA, personal),
            (FAILURES, map(asdict, failures)),
            (REVIEWS, (asdict(review) for group in reviews.values() for review in group)),
        ):
            write_jsonl(rows, folder / name)
        return FolderExport(
            n_chats=len(self.chats),
            n_raters=len(self.red_teamers),
            n_preferences=len(preferences),
            n_pairs=n_pairs,
            n_attempts=len(attempts),
            n_items=len(items),
            n_reviews=sum(map(len, reviews.values())),
            n_personal=len(personal),
            n_failures=len(failures),
            notes=(*self.describe_omissions(purposes), *notes),
        )

    def _reviews(self, chat_ids: Sequence[str]) -> dict[int, list[Review]]:
        """Return the reviews of each attempt by the number of its record."""
        numbers = {chat_id: number for number, chat_id in enumerate(chat_ids, 1)}
        result: dict[int, list[Review]] = {}
        for review in self.reviews:
            number = numbers.get(self._chat_id(review.attempt_id))
            if number is not None:
                reviewer = self._rater_id(review.reviewer_id)
                result.setdefault(number, []).append(replace(review, attempt_id=str(number), reviewer_id=reviewer))
        return dict(sorted(result.items()))

    def describe_omissions(self, purposes: Sequence[str]) -> list[str]:
        """Describe omissions with their reasons, one sentence each."""
        reasons = (
            (self.counts.rehearsal, "conversations of previews are left out"),
            (self.counts.without_consent, f"conversations {describe_refusal(purposes)} are left out"),
            (
                sum(not any(exchange.response is not None for exchange in chat.exchanges) for chat in self.chats),
                f"conversations have no response, and are in {FAILURES} alone",
            ),
            (self.counts.unfinished, "conversations that have not ended are left out"),
        )
        lines = [f"{n:,} {reason}." for n, reason in reasons if n]
        return [*lines, *describe_withdrawals(self.counts.withdrawn)]


def _review_tags(reviews: Sequence[Review] | None) -> tuple[str, ...] | None:
    """Return all tags of an attempt's reviews; None without reviews."""
    if reviews is None:
        return None
    return tuple(sorted({tag for review in reviews for tag in review.tags}, key=TAGS.index))


def _personal_data_rows(item: Item) -> Iterator[Mapping[str, Any]]:
    """Yield the spans of possible personal data, without their text."""
    for number, turn in enumerate(item.conversation.turns, 1):
        for span in find_personal_data(turn.text):
            yield {"item_id": item.item_id, "turn": number, "start": span.start, "end": span.end, "kind": span.kind}


def _to_item_row(item: Item) -> Mapping[str, Any]:
    return {"item_id": item.item_id, "turns": item.conversation.to_dicts(), **item.attributes}


def _readme_lines(
    collector: _ConversationCollector, exported: FolderExport, purposes: Sequence[str], now: datetime
) -> Iterator[str]:
    yield "These files are internal: they are not for publication."
    yield ""
    yield "They contain free text and self-descriptions, which may identify people. Publish a release that was"
    yield "made for that purpose, never these files."
    yield ""
    yield from collector.warnings
    yield from provenance_lines(collector.campaign_row, purposes, now)
    yield f"Holds:      {exported.n_chats:,} conversations of {exported.n_raters:,} people"
    yield ""
    files = (
        (PREFERENCES, exported.n_preferences, "picks between two responses, with the question"),
        (f"{PAIRS}/", exported.n_pairs, "chosen and rejected responses, as hh-rlhf has them"),
        (ATTEMPTS, exported.n_attempts, "red-team attempts, as hh-rlhf has them"),
        (ITEMS, exported.n_items, "conversations up to the last response, as items to be rated"),
        (REVIEWS, exported.n_reviews, "reviews of attempts, by the number of the record in that file"),
        (PERSONAL_DATA, exported.n_personal, "positions of possible personal data in conversations, to be redacted"),
        (FAILURES, exported.n_failures, "responses that a provider refused, or that failed, with the message"),
        (RED_TEAMERS, exported.n_raters, "self-descriptions of people, by their ids in this export"),
    )
    yield from (f"{name:<28} {n:>8,}  {description}" for name, n, description in files if n)
    yield ""
    yield from exported.notes or ["Nothing was left out."]
    yield ""
    yield "Of each pair chosen is the better response: the more helpful, or the less harmful one, whatever was asked."
    yield "All ids were drawn for these files alone: they differ between exports."
