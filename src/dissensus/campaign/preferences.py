"""Preferences from ratings of pairs: the response that each rater picked, and the criterion."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from dissensus.campaign.export_table import ExportedRating
from dissensus.schema.campaign.chat import MAX_STRENGTH
from dissensus.schema.records.item import Item
from dissensus.schema.records.pair import PREFERENCE
from dissensus.schema.records.preference import PHASES, Criterion, Phase, Pick, Preference
from dissensus.text.transcripts import join_hh

ID_DIGITS: Final = 16


def to_pick(rated: ExportedRating) -> Pick:
    """Return what a rater said of a pair."""
    strength = int(str(rated.answers[PREFERENCE]))
    side = "b" if strength > 0 else "a" if strength < 0 else None
    return Pick(rated.rater_id, side, abs(strength))  # type: ignore[arg-type]


def build_preferences(rated: Iterable[ExportedRating], compared: Criterion) -> tuple[Preference, ...]:
    """Return a preference for each pair, with the picks of all its raters.

    Those that begin with the same words of a person have the same conversation, so that they stay together when data
    are split.
    """
    items: dict[str, Item] = {}
    picks: dict[str, list[Pick]] = {}
    for one in rated:
        items[one.item.item_id] = one.item
        picks.setdefault(one.item.item_id, []).append(to_pick(one))
    return tuple(_build_preference(item, tuple(picks[name]), compared) for name, item in items.items())


def _build_preference(item: Item, picks: tuple[Pick, ...], compared: Criterion) -> Preference:
    a, b = item.responses()
    context = item.conversation.turns[:-1]
    opening = next((turn.text for turn in context if turn.speaker == "human"), item.item_id)
    return Preference(
        preference_id=item.item_id,
        conversation_id=f"c{hashlib.sha256(opening.encode()).hexdigest()[:ID_DIGITS]}",
        context=context,
        a=a,
        b=b,
        asked=compared,
        picks=picks,
        levels=MAX_STRENGTH,
        phase=_phase(item),
    )


def _phase(item: Item) -> Phase | None:
    return next((phase for phase in PHASES if phase == item.attributes.get("phase")), None)


def pairs_by_rater(preference: Preference) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the id of each rater who called one response the better one, and the pair that they make of it."""
    answers = {pick.rater_id: preference.towards_b(pick) for pick in preference.picks if pick.strength}
    n_b = sum(one > 0 for one in answers.values())
    before = join_hh((turn.speaker, turn.text) for turn in preference.context)
    a, b = (before + join_hh((("bot", text),)) for text in (preference.a, preference.b))
    for rater_id, towards_b in answers.items():
        chosen, rejected, n = (b, a, n_b) if towards_b > 0 else (a, b, len(answers) - n_b)
        agreement = n / len(answers) if len(answers) > 1 else None
        yield rater_id, {"chosen": chosen, "rejected": rejected, "strength": abs(towards_b), "agreement": agreement}
