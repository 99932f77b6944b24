"""Files of a release that are derived from its table: pairs as in hh-rlhf, and red-team attempts."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.pipeline.release.pairs import ReleasedPairs, released_pairs
from dissensus.pipeline.release.pseudonyms import conceal_conversation
from dissensus.pipeline.release.publication import Publication, redact
from dissensus.pipeline.release.source import AuthoredAttempt, ReleaseSource
from dissensus.schema.ratings import columns as names
from dissensus.schema.records.attempt import Attempt
from dissensus.schema.records.pair import PREFERENCE
from dissensus.schema.records.preference import Edit, Preference
from dissensus.schema.release.plan import ReleasePlan

SUCCESS: Final = "Q_success"
RESPONSE_B: Final = "item_response_b"
EDIT: Final = "item_edit"
UPWORK: Final = "rater_is_upworker"
OF_PAIRS: Final = (PREFERENCE, "context", "response", RESPONSE_B)
OF_ATTEMPTS: Final = (SUCCESS, "context", "response", names.INTENT)
"""Columns without which the files are not derived, since they would publish what the table does not."""
_MODELS: Final = frozenset({"item_model_a", "item_model_b"})
TOLD_BY_PAIRS: Final = _MODELS | {"phase", "item_conversation", "item_criterion"}
TOLD_BY_ATTEMPTS: Final = _MODELS | {"item_conversation", "item_continued", EDIT}
"""Columns that not every source has, which the files would tell if a plan drops them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedRecords:
    """Pairs and attempts of the published raters, under their pseudonyms."""

    pairs: ReleasedPairs | None = None
    attempts: tuple[Attempt, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield all records as JSON, so that signatures cover them."""
        pairs = self.pairs.pairs if self.pairs else ()
        for record in (*map(asdict, pairs), *map(asdict, self.attempts)):
            yield json.dumps(record, ensure_ascii=False, sort_keys=True)

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the pairs and attempts, reduced to the columns by which versions are compared."""
        tables = {}
        if self.pairs is not None:
            rows = [(pair.pair_id, pair.chosen) for pair in self.pairs.pairs]
            tables["pairs"] = pl.DataFrame(rows, ["pair_id", "chosen_answer"], orient="row")
        if self.attempts:
            schema = {"transcript": pl.String, "rating": pl.Int8}
            tables["attempts"] = pl.DataFrame(
                [(attempt.transcript, attempt.rating) for attempt in self.attempts], schema, orient="row"
            )
        return tables


def derive_records(
    source: ReleaseSource, plan: ReleasePlan, publication: Publication, ids: dict[str, str]
) -> DerivedRecords:
    """Derive pairs and attempts from what the table has of published raters; `ids` are pseudonyms by ids of the source.

    A file is left out if the plan drops a column that it would publish.
    """
    _check_edits(source, plan)
    published = set(publication.raters[names.RATER_ID])
    pseudonyms = {rater: pseudonym for rater, pseudonym in ids.items() if pseudonym in published}
    columns = set(publication.table.columns)
    preferences = list(_publish_preferences(source.preferences, plan, pseudonyms, with_edits=columns >= {EDIT}))
    has_pairs = columns.issuperset(OF_PAIRS) and TOLD_BY_PAIRS.isdisjoint(plan.drop)
    has_attempts = columns.issuperset(OF_ATTEMPTS) and TOLD_BY_ATTEMPTS.isdisjoint(plan.drop)
    pairs = released_pairs(preferences) if preferences and has_pairs else None
    return DerivedRecords(
        pairs=pairs if pairs is not None and pairs.pairs else None,
        attempts=tuple(_publish_attempts(source.attempts, plan, publication, pseudonyms)) if has_attempts else (),
    )


def _check_edits(source: ReleaseSource, plan: ReleasePlan) -> None:
    """Raise if a plan drops edits with which conversations went on, since later contexts have them."""
    needed = ("item_conversation", EDIT, "context")
    if EDIT not in plan.drop or "context" in plan.drop or not set(needed) <= set(source.table.columns):
        return
    rows = list(source.table.select(needed).iter_rows())
    edits: dict[str, list[str]] = {}
    for conversation, edit, _ in rows:
        if edit:
            edits.setdefault(conversation, []).append(edit)
    if any(edit in (context or "") for conversation, _, context in rows for edit in edits.get(conversation, ())):
        raise InvalidInput(
            f"drop: {EDIT} holds responses with which conversations went on, so that context has them too. Drop both, "
            "or neither."
        )


def _publish_preferences(
    preferences: Sequence[Preference], plan: ReleasePlan, pseudonyms: dict[str, str], *, with_edits: bool
) -> Iterator[Preference]:
    for preference in sorted(preferences, key=lambda preference: conceal_conversation(preference.preference_id)):
        picks = tuple(
            replace(pick, rater_id=pseudonyms[pick.rater_id])
            for pick in preference.picks
            if pick.rater_id in pseudonyms
        )
        if not picks:
            continue
        edits = [edit for edit in preference.edits if with_edits and edit.rater_id in pseudonyms]
        yield replace(
            preference,
            preference_id=conceal_conversation(preference.preference_id),
            context=tuple(replace(turn, text=_screen(turn.text, plan)) for turn in preference.context),
            a=_screen(preference.a, plan),
            b=_screen(preference.b, plan),
            picks=tuple(sorted(picks, key=lambda pick: pick.rater_id)),
            edits=tuple(Edit(pseudonyms[edit.rater_id], edit.side, _screen(edit.text, plan)) for edit in edits),
            ranked_by=(None, None),
        )


def _publish_attempts(
    attempts: Sequence[AuthoredAttempt], plan: ReleasePlan, publication: Publication, pseudonyms: dict[str, str]
) -> Iterator[Attempt]:
    """Yield attempts in the order of pseudonyms and texts, by which red-teamers are numbered."""
    numbers = {pseudonym: number for number, pseudonym in enumerate(sorted(pseudonyms.values()))}
    upwork: dict[str, str] = {}
    if UPWORK in publication.raters.columns:
        upwork = dict(publication.raters.select(names.RATER_ID, pl.col(UPWORK).cast(pl.String)).iter_rows())
    published = [
        (pseudonyms[authored.rater_id], authored.attempt) for authored in attempts if authored.rater_id in pseudonyms
    ]
    for pseudonym, attempt in sorted(published, key=lambda pair: (pair[0], pair[1].transcript)):
        yield replace(
            attempt,
            transcript=_screen(attempt.transcript, plan),
            task_description=_screen(attempt.task_description, plan),
            red_team_member_id=numbers[pseudonym],
            is_upworker={"true": True, "false": False}.get((upwork.get(pseudonym) or "").lower()),
        )


def _screen(text: str, plan: ReleasePlan) -> str:
    return redact(text) if plan.redact else text
