"""Preferences from ratings of pairs."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from dissensus.campaign.assignment import FIRST
from dissensus.campaign.export_table import ExportedRating
from dissensus.schema.records.item import Item
from dissensus.schema.records.pair import PREFERENCE
from dissensus.schema.records.preference import MAX_STRENGTH, PHASES, Criterion, Phase, Pick, Preference
from dissensus.text.transcripts import join_hh

ID_DIGITS: Final = 16


def to_pick(rating: ExportedRating) -> Pick:
    """Convert the rating of a pair to a pick; a preference below 0 is for response A, above 0 for B."""
    strength = int(str(rating.answers[PREFERENCE]))
    side = "b" if strength > 0 else "a" if strength < 0 else None
    return Pick(rating.rater_id, side, abs(strength))  # type: ignore[arg-type]


def build_preferences(ratings: Iterable[ExportedRating], criterion: Criterion) -> tuple[Preference, ...]:
    """Return a preference for each pair, with the pick of each rater; second showings do not count.

    Pairs with the same first human turn have the same conversation id, so that they stay together when data are split.
    """
    items: dict[str, Item] = {}
    picks: dict[str, list[Pick]] = {}
    for rating in ratings:
        if rating.showing != FIRST:
            continue
        items[rating.item.item_id] = rating.item
        picks.setdefault(rating.item.item_id, []).append(to_pick(rating))
    return tuple(_build_preference(item, tuple(picks[item_id]), criterion) for item_id, item in items.items())


def _build_preference(item: Item, picks: tuple[Pick, ...], criterion: Criterion) -> Preference:
    a, b = item.responses()
    context = item.conversation.turns[:-1]
    opening = next((turn.text for turn in context if turn.speaker == "human"), item.item_id)
    return Preference(
        preference_id=item.item_id,
        conversation_id=f"c{hashlib.sha256(opening.encode()).hexdigest()[:ID_DIGITS]}",
        context=context,
        a=a,
        b=b,
        criterion=criterion,
        picks=picks,
        levels=MAX_STRENGTH,
        phase=_phase(item),
    )


def _phase(item: Item) -> Phase | None:
    return next((phase for phase in PHASES if phase == item.attributes.get("phase")), None)


def pairs_by_rater(preference: Preference) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the id of each rater who preferred one response, and the pair in the format of HH.

    Agreement is the share of these raters who chose the same response, None for a single one.
    """
    strengths = {pick.rater_id: preference.towards_b(pick) for pick in preference.picks if pick.strength}
    n_b = sum(strength > 0 for strength in strengths.values())
    context = join_hh((turn.speaker, turn.text) for turn in preference.context)
    a, b = (context + join_hh((("bot", text),)) for text in (preference.a, preference.b))
    for rater_id, strength in strengths.items():
        chosen, rejected, n = (b, a, n_b) if strength > 0 else (a, b, len(strengths) - n_b)
        agreement = n / len(strengths) if len(strengths) > 1 else None
        yield rater_id, {"chosen": chosen, "rejected": rejected, "strength": abs(strength), "agreement": agreement}
