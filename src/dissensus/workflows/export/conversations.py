"""Export the conversations of a campaign as internal files."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from dissensus.errors import InvalidInput, NotFound
from dissensus.files.attempts.tables import write_attempts
from dissensus.files.pairs.release import write_pairs
from dissensus.files.raw.atomic_write import write_atomically
from dissensus.pipeline.collect.completed_chats import CompletedChat, to_attempt, to_item, to_preferences
from dissensus.pipeline.release import PairPolicy, released_pairs
from dissensus.schema.campaign.chat import ChatSettings
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.records.attempt import TAGS
from dissensus.schema.records.item import Item
from dissensus.schema.records.review import Review
from dissensus.store import export as store
from dissensus.store.campaigns import CampaignRow
from dissensus.store.chats import ChatRow as Talk
from dissensus.text.personal_data import find_personal_data
from dissensus.workflows.campaign import overview
from dissensus.workflows.campaign.conversation_reviews import iter_reviews
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.export.consent_scope import Pseudonyms, required_purposes
from dissensus.workflows.export.folder import (
    PAIRS,
    PREFERENCES,
    README,
    create_empty_folder,
    to_preference_row,
    write_jsonl,
)
from dissensus.workflows.export.ratings import ExportOptions, log_export
from dissensus.workflows.export.readme import provenance_lines
from dissensus.workflows.platform.platform import Platform

ATTEMPTS: Final = "red_team_attempts.jsonl.gz"
ITEMS: Final = "conversations.jsonl"
RED_TEAMERS: Final = "red-teamers.jsonl"
REVIEWS: Final = "reviews.jsonl"
PERSONAL_DATA: Final = "personal-data.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationExport:
    """Counts and notes of a conversation export."""

    n_chats: int  # finished conversations
    n_raters: int
    n_preferences: int
    n_pairs: int
    n_attempts: int
    n_items: int
    n_reviews: int
    n_personal: int
    notes: tuple[str, ...]  # omissions with their reasons, one sentence each


def export_conversations(
    platform: Platform,
    name: str,
    folder: Path,
    *,
    purposes: tuple[str, ...] = (),
    policy: PairPolicy | None = None,
    now: datetime,
) -> ConversationExport:
    """Write the finished conversations of raters who gave consent to a new or empty folder."""
    staff_id = overview.owner_id_of(platform, name)
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        campaign = platform.definitions.of(tx, campaign_row)
        if campaign.chat is None:
            raise InvalidInput(f"In {name} raters rate items. Name a file for their ratings: -o {name}.csv")
        purposes = required_purposes(campaign, purposes)
        found = _ConversationCollector(
            campaign_row=campaign_row,
            campaign=campaign,
            chat=campaign.chat,
            counts=store.count_chat_export(tx, campaign_row.id, purposes),
        )
        found.take(
            store.iterate_ended_chats(tx, campaign_row.id, purposes),
            store.load_declarations(tx, campaign_row.id, purposes),
        )
        found.reviews = list(iter_reviews(tx, platform, found.rows, campaign.chat, staff_id=staff_id))
    if not found.talked:
        raise NotFound(f"{name} has no conversation to export yet. {' '.join(found.left_out(purposes))}".rstrip())
    create_empty_folder(folder)
    exported = found.write(folder, policy or PairPolicy(), purposes)
    write_atomically(("\n".join(_readme_lines(found, exported, purposes, now)) + "\n").encode(), folder / README)
    log_export(platform, name, staff_id, ExportOptions(purposes=purposes, with_text=True), now)
    return exported


@dataclass(slots=True, kw_only=True)
class _ConversationCollector:
    """Conversations and reviews under pseudonymous ids."""

    campaign_row: CampaignRow
    campaign: Campaign
    chat: ChatSettings
    counts: store.ChatExportCounts
    talked: list[CompletedChat] = field(default_factory=list)
    people: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    rows: list[Talk] = field(default_factory=list)
    reviews: list[Review] = field(default_factory=list)
    pseudonyms: Pseudonyms = field(default_factory=Pseudonyms)

    def take(self, ended: Iterator[store.EndedChat], declared: Mapping[str, Mapping[str, Any]]) -> None:
        """Assign export ids to conversations and red-teamers."""
        members: dict[str, int] = {}
        rows = list(ended)
        # The order of numbers tells nothing of when somebody came.
        for rater_id in sorted({one.chat.rater_id for one in rows}, key=self.pseudonyms.pseudonym_of):
            members[rater_id] = len(members)
            ids = {"rater_id": self._rater(rater_id), "red_team_member_id": members[rater_id]}
            self.people[rater_id] = {**ids, **declared.get(rater_id, {})}
        self.rows = [one.chat for one in rows]
        for one in rows:
            self.talked.append(
                CompletedChat(
                    id=self._chat(one.chat.id),
                    rater_id=self._rater(one.chat.rater_id),
                    member=members[one.chat.rater_id],
                    exchanges=one.chat.exchanges,
                    intent=one.chat.intent,
                    success=one.success,
                )
            )

    def _chat(self, chat_id: str) -> str:
        return f"c{self.pseudonyms.pseudonym_of(chat_id)}"

    def _rater(self, rater_id: str) -> str:
        return f"r{self.pseudonyms.pseudonym_of(rater_id)}"

    def write(self, folder: Path, policy: PairPolicy, purposes: Sequence[str]) -> ConversationExport:
        """Write all files that are not empty."""
        preferences = [one for talked in self.talked for one in to_preferences(talked, self.chat)]
        tried = [(one, attempt) for one in self.talked if (attempt := to_attempt(one, self.chat)) is not None]
        reviews = self._reviews([one.id for one, _ in tried])
        attempts = [
            replace(attempt, tags=_review_tags(reviews.get(number))) for number, (_, attempt) in enumerate(tried, 1)
        ]
        items = list(filter(None, (to_item(talked, self.chat) for talked in self.talked)))
        personal = [row for item in items for row in _personal_data_rows(item)]
        released = released_pairs(preferences, policy)
        notes = self.left_out(purposes)
        if released.pairs:
            notes += write_pairs(released, folder / PAIRS)
        else:
            notes += [f"{n:,} left out: {why}." for why, n in released.dropped.items()]
        if attempts:
            write_attempts(attempts, folder / ATTEMPTS)
        for name, lines in (
            (PREFERENCES, map(to_preference_row, preferences)),
            (ITEMS, map(_to_item_row, items)),
            (RED_TEAMERS, iter(self.people.values())),
            (PERSONAL_DATA, personal),
            (REVIEWS, (asdict(one) for several in reviews.values() for one in several)),
        ):
            write_jsonl(lines, folder / name)
        return ConversationExport(
            n_chats=len(self.talked),
            n_raters=len(self.people),
            n_preferences=len(preferences),
            n_pairs=len(released.pairs),
            n_attempts=len(attempts),
            n_items=len(items),
            n_reviews=sum(map(len, reviews.values())),
            n_personal=len(personal),
            notes=tuple(notes),
        )

    def _reviews(self, talked_ids: Sequence[str]) -> dict[int, list[Review]]:
        """Return the reviews of each attempt by the number of its record."""
        numbers = {talked_id: number for number, talked_id in enumerate(talked_ids, 1)}
        found: dict[int, list[Review]] = {}
        for one in self.reviews:
            number = numbers.get(self._chat(one.attempt_id))
            if number is not None:
                reviewer = self._rater(one.reviewer_id)
                found.setdefault(number, []).append(replace(one, attempt_id=str(number), reviewer_id=reviewer))
        return dict(sorted(found.items()))

    def left_out(self, purposes: Sequence[str]) -> list[str]:
        """Describe omissions with their reasons, one sentence each."""
        agreed = f"of raters who did not agree to {' and '.join(purposes) or 'anything'}"
        reasons = (
            (self.counts.rehearsing, "conversations of previews are left out"),
            (self.counts.disagreeing, f"conversations {agreed} are left out"),
            (self.counts.unfinished, "conversations that have not ended are left out"),
            (self.counts.withdrawn, "raters withdrew, and nothing of them is kept"),
        )
        return [f"{n:,} {why}." for n, why in reasons if n]


def _review_tags(reviews: Sequence[Review] | None) -> tuple[str, ...] | None:
    """Return all tags of an attempt's reviews; None without reviews."""
    return None if reviews is None else tuple(sorted({tag for one in reviews for tag in one.tags}, key=TAGS.index))


def _personal_data_rows(item: Item) -> Iterator[Mapping[str, Any]]:
    """Yield the spans of possible personal data, without their text."""
    for number, turn in enumerate(item.conversation.turns, 1):
        for span in find_personal_data(turn.text):
            yield {"item_id": item.item_id, "turn": number, "start": span.start, "end": span.end, "kind": span.kind}


def _to_item_row(one: Item) -> Mapping[str, Any]:
    return {"item_id": one.item_id, "turns": one.conversation.to_dicts(), **one.attributes}


def _readme_lines(
    found: _ConversationCollector, exported: ConversationExport, purposes: Sequence[str], now: datetime
) -> Iterator[str]:
    yield "These files are internal: they are not for publication."
    yield ""
    yield "They hold what people wrote in their own words, which may tell who they are, and what they say of"
    yield "themselves. Publish a release that was made for it, never these files."
    yield ""
    yield from provenance_lines(found.campaign_row, purposes, now)
    yield f"Holds:      {exported.n_chats:,} conversations of {exported.n_raters:,} people"
    yield ""
    files = (
        (PREFERENCES, exported.n_preferences, "what was picked of two responses, and what was asked, as it was"),
        (f"{PAIRS}/", exported.n_pairs, "chosen and rejected responses, as hh-rlhf has them"),
        (ATTEMPTS, exported.n_attempts, "red-team attempts, as hh-rlhf has them"),
        (ITEMS, exported.n_items, "conversations up to the last response, as items to be rated"),
        (REVIEWS, exported.n_reviews, "what reviewers said of attempts, by the number of the record in that file"),
        (PERSONAL_DATA, exported.n_personal, "where conversations hold what looks like personal data, to be redacted"),
        (RED_TEAMERS, exported.n_raters, "what people said of themselves, by their ids here"),
    )
    yield from (f"{name:<28} {n:>8,}  {what}" for name, n, what in files if n)
    yield ""
    yield from exported.notes or ["Nothing was left out."]
    yield ""
    yield "Of each pair chosen is the better response: the more helpful, or the less harmful one, whatever was asked."
    yield "All ids were drawn for these files alone: the same rater has another one in every export."
