"""What a campaign of conversations collected, out again as files: for those who run it, and not for publication."""

import hmac
import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import dissensus
from dissensus.errors import Conflict, InvalidInput, NotFound
from dissensus.files.attempts.tables import write_attempts
from dissensus.files.pairs.release import write_pairs
from dissensus.files.raw.atomic_write import write_whole
from dissensus.pipeline.collect.completed_chats import Talked, attempt_of, item_of, preferences_of
from dissensus.pipeline.release import PairPolicy, released_pairs
from dissensus.schema.campaign.chat import Chat
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.records.attempt import TAGS
from dissensus.schema.records.item import Item
from dissensus.schema.records.preference import Preference
from dissensus.schema.records.review import Review
from dissensus.store import chat_export as store
from dissensus.store.campaigns import Kept
from dissensus.store.chats import Chat as Talk
from dissensus.text.personal_data import find_personal_data
from dissensus.workflows.campaign import overview
from dissensus.workflows.campaign.conversation_reviews import iter_reviews
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.export.ratings import ID_DIGITS, KEY_BYTES, ExportOptions, log_export, required_purposes
from dissensus.workflows.platform.platform import Platform

README: Final = "README.txt"
PREFERENCES: Final = "preferences.jsonl"
ATTEMPTS: Final = "red_team_attempts.jsonl.gz"
ITEMS: Final = "conversations.jsonl"
RED_TEAMERS: Final = "red-teamers.jsonl"
PAIRS: Final = "pairs"
REVIEWS: Final = "reviews.jsonl"
PERSONAL_DATA: Final = "personal-data.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationExport:
    """What was exported."""

    n_chats: int  # Conversations that have ended, and how many people had them
    n_raters: int
    n_preferences: int  # What came of them
    n_pairs: int
    n_attempts: int
    n_items: int
    n_reviews: int
    n_personal: int
    notes: tuple[str, ...]  # What was left out and why, a sentence each


def export_conversations(
    platform: Platform,
    name: str,
    folder: Path,
    *,
    purposes: tuple[str, ...] = (),
    policy: PairPolicy | None = None,
    now: datetime,
) -> ConversationExport:
    """Write the conversations of a campaign that have ended, of raters who agreed, to a new folder."""
    staff_id = overview.owner_id_of(platform, name)
    with platform.database.reading() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id)
        campaign = platform.definitions.of(tx, kept)
        if campaign.chat is None:
            raise InvalidInput(f"In {name} raters rate items. Name a file for their ratings: -o {name}.csv")
        purposes = required_purposes(campaign, purposes)
        found = _ConversationCollector(kept=kept, campaign=campaign, chat=campaign.chat, counts=store.counts_of(tx, kept.id, purposes))
        found.take(store.ended(tx, kept.id, purposes), store.declared(tx, kept.id, purposes))
        found.reviews = list(iter_reviews(tx, platform, found.rows, campaign.chat, staff_id=staff_id))
    if not found.talked:
        raise NotFound(f"{name} has no conversation to export yet. {' '.join(found.left_out(purposes))}".rstrip())
    create_empty_folder(folder)
    exported = found.write(folder, policy or PairPolicy(), purposes)
    write_whole(("\n".join(_readme_lines(found, exported, purposes, now)) + "\n").encode(), folder / README)
    log_export(platform, name, staff_id, ExportOptions(purposes=purposes, with_text=True), now)
    return exported


def create_empty_folder(folder: Path) -> None:
    """Make a folder, or refuse one that holds something."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        taken = any(folder.iterdir())
    except OSError as error:
        raise InvalidInput(f"{folder} cannot be a folder: {error.strerror}. Name another one.") from None
    if taken:
        raise Conflict(f"{folder} holds something already. Name a folder that is not there yet, or empty it.")


@dataclass(slots=True, kw_only=True)
class _ConversationCollector:
    """What there is to export."""

    kept: Kept
    campaign: Campaign
    chat: Chat
    counts: store.Counts
    talked: list[Talked] = field(default_factory=list)
    people: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    rows: list[Talk] = field(default_factory=list)
    reviews: list[Review] = field(default_factory=list)
    # Never kept: everything has another id in every export.
    key: bytes = field(default_factory=lambda: secrets.token_bytes(KEY_BYTES))

    def take(self, ended: Iterator[store.Ended], declared: Mapping[str, Mapping[str, Any]]) -> None:
        """Give everything an id of this export."""
        members: dict[str, int] = {}
        rows = list(ended)
        # The order of numbers tells nothing of when somebody came.
        for rater_id in sorted({one.chat.rater_id for one in rows}, key=self._named):
            members[rater_id] = len(members)
            ids = {"rater_id": self._rater(rater_id), "red_team_member_id": members[rater_id]}
            self.people[rater_id] = {**ids, **declared.get(rater_id, {})}
        self.rows = [one.chat for one in rows]
        for one in rows:
            self.talked.append(
                Talked(
                    id=self._chat(one.chat.id),
                    rater_id=self._rater(one.chat.rater_id),
                    member=members[one.chat.rater_id],
                    exchanges=one.chat.exchanges,
                    intent=one.chat.intent,
                    success=one.success,
                )
            )

    def _chat(self, chat_id: str) -> str:
        return f"c{self._named(chat_id)}"

    def _rater(self, rater_id: str) -> str:
        return f"r{self._named(rater_id)}"

    def _named(self, one: str) -> str:
        return hmac.new(self.key, one.encode(), "sha256").hexdigest()[:ID_DIGITS]

    def write(self, folder: Path, policy: PairPolicy, purposes: Sequence[str]) -> ConversationExport:
        """Write all files that there is something for."""
        preferences = [one for talked in self.talked for one in preferences_of(talked, self.chat)]
        tried = [(one, attempt) for one in self.talked if (attempt := attempt_of(one, self.chat)) is not None]
        reviews = self._reviews([one.id for one, _ in tried])
        attempts = [replace(attempt, tags=_review_tags(reviews.get(number))) for number, (_, attempt) in enumerate(tried, 1)]
        items = list(filter(None, (item_of(talked, self.chat) for talked in self.talked)))
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
            text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
            if text:
                write_whole(text.encode(), folder / name)
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
        """Return the reviews of each attempt that has any, by the number of its record."""
        numbers = {talked_id: number for number, talked_id in enumerate(talked_ids, 1)}
        found: dict[int, list[Review]] = {}
        for one in self.reviews:
            number = numbers.get(self._chat(one.attempt_id))
            if number is not None:
                reviewer = self._rater(one.reviewer_id)
                found.setdefault(number, []).append(replace(one, attempt_id=str(number), reviewer_id=reviewer))
        return dict(sorted(found.items()))

    def left_out(self, purposes: Sequence[str]) -> list[str]:
        """Say what was left out and why, a sentence a reason."""
        agreed = f"of raters who did not agree to {' and '.join(purposes) or 'anything'}"
        reasons = (
            (self.counts.rehearsing, "conversations of previews are left out"),
            (self.counts.disagreeing, f"conversations {agreed} are left out"),
            (self.counts.unfinished, "conversations that have not ended are left out"),
            (self.counts.withdrawn, "raters withdrew, and nothing of them is kept"),
        )
        return [f"{n:,} {why}." for n, why in reasons if n]


def _review_tags(reviews: Sequence[Review] | None) -> tuple[str, ...] | None:
    """Return all that reviewers said that an attempt is about; None where nobody reviewed it."""
    return None if reviews is None else tuple(sorted({tag for one in reviews for tag in one.tags}, key=TAGS.index))


def _personal_data_rows(item: Item) -> Iterator[Mapping[str, Any]]:
    """Yield where a conversation holds what looks like personal data, without saying it again."""
    for number, turn in enumerate(item.conversation.turns, 1):
        for span in find_personal_data(turn.text):
            yield {"item_id": item.item_id, "turn": number, "start": span.start, "end": span.end, "kind": span.kind}


def to_preference_row(one: Preference) -> Mapping[str, Any]:
    """Return a preference as a line of a file has it."""
    return {**asdict(one), "phase": one.phase}


def _to_item_row(one: Item) -> Mapping[str, Any]:
    return {"item_id": one.item_id, "turns": one.conversation.to_dicts(), **one.attributes}


def _readme_lines(found: _ConversationCollector, exported: ConversationExport, purposes: Sequence[str], now: datetime) -> Iterator[str]:
    yield "These files are internal: they are not for publication."
    yield ""
    yield "They hold what people wrote in their own words, which may tell who they are, and what they say of"
    yield "themselves. Publish a release that was made for it, never these files."
    yield ""
    yield f"Written:    {now.astimezone(UTC).isoformat(timespec='seconds').replace('+00:00', 'Z')}"
    yield f"By:         Dissensus {dissensus.__version__}"
    yield f"Campaign:   {found.kept.name} ({found.kept.state})"
    yield f"Definition: SHA-256 {found.kept.digest}"
    yield f"Purposes:   {', '.join(purposes) or 'none is required'}"
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
