"""What is exported of a campaign: finished ratings of raters who agreed, a window at a time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, and_, distinct, exists, func, select

from dissensus.campaign.answer_drafts import answer_time_ms, submitted
from dissensus.campaign.export_table import Rated
from dissensus.store import tables as t
from dissensus.store.answer_drafts import saves_of, visits_of
from dissensus.store.campaigns import item_from
from dissensus.store.check_answers import tries_of_several
from dissensus.store.flags import excluded

WINDOW: Final = 100
"""Ratings that are held at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How many raters, and how many of their finished ratings."""

    raters: int
    ratings: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What is exported, and what is left out."""

    exported: Count  # Finished ratings of raters who agreed
    rehearsing: Count  # Of previews and dry runs
    disagreeing: Count  # Of raters who did not agree to every purpose
    withdrawn: int  # Raters who withdrew, of whom nothing is kept
    unfinished: int  # Items that were begun and not submitted, by raters who agreed


def counts_of(tx: Connection, campaign_id: str, purposes: Sequence[str]) -> Counts:
    """Count what is exported and what is left out."""
    here, really, agreed = t.Rater.campaign_id == campaign_id, taking_part(campaign_id), agreeing(purposes)
    begun = select(t.Save.assignment_id).where(t.Save.assignment_id == t.Assignment.id).exists()
    unfinished = _rows(func.count()).where(really, agreed, t.Assignment.state != "done", begun)
    withdrawn = select(func.count()).select_from(t.Rater).where(here, ~t.Rater.rehearsal, t.Rater.state == "withdrawn")
    return Counts(
        exported=_count(tx, and_(really, agreed)),
        rehearsing=_count(tx, and_(here, t.Rater.rehearsal)),
        disagreeing=_count(tx, and_(really, ~agreed)),
        withdrawn=tx.scalar(withdrawn) or 0,
        unfinished=tx.scalar(unfinished) or 0,
    )


def attributes_of(tx: Connection, campaign_id: str) -> frozenset[str]:
    """Return the names of all attributes that items of a campaign have."""
    found: set[str] = set()
    query = select(t.Item.content["attributes"]).where(t.Item.campaign_id == campaign_id)
    for attributes in tx.scalars(query.execution_options(yield_per=WINDOW)):
        found.update(attributes)
    return frozenset(found)


def rated_of(
    tx: Connection, campaign_id: str, purposes: Sequence[str], *, window: int = WINDOW
) -> Iterator[tuple[Rated, ...]]:
    """Yield the finished ratings of raters who agreed to all purposes, some at a time, by the ids of assignments."""
    last = ""
    while found := rated_after(tx, campaign_id, purposes, last=last, most=window):
        last = found[-1][0]
        yield tuple(rated for _, rated in found)


def rated_after(
    tx: Connection, campaign_id: str, purposes: Sequence[str], *, last: str, until: datetime | None = None, most: int
) -> tuple[tuple[str, Rated], ...]:
    """Return some ratings of raters who agreed to all purposes, after an assignment, each with its id.

    Where a time is named they were finished by then; they are as they are now.
    """
    query = (
        _rows(t.Assignment.id, t.Assignment.rater_id, t.Assignment.shown_first, t.Item.name, t.Item.content)
        .join(t.Item, t.Item.id == t.Assignment.item_id)
        .where(taking_part(campaign_id), agreeing(purposes), t.Assignment.state == "done", t.Assignment.id > last)
        .where(*_finished_until(until))
        .order_by(t.Assignment.id)
        .limit(most)
    )
    return _window(tx, tx.execute(query).all(), excluded(tx, campaign_id))


def _finished_until(until: datetime | None) -> tuple[ColumnElement[bool], ...]:
    if until is None:
        return ()
    return (exists().where(t.Save.assignment_id == t.Assignment.id, t.Save.final, t.Save.received_at <= until),)


def _window(tx: Connection, rows: Sequence[Any], flagged: frozenset[str]) -> tuple[tuple[str, Rated], ...]:
    ids = [row.id for row in rows]
    visits, finals, at = visits_of(tx, ids), saves_of(tx, ids, final=True), _submitted_at(tx, ids)
    rater_ids = {row.rater_id for row in rows}
    declared, tries = _declared(tx, rater_ids), tries_of_several(tx, rater_ids)
    found = (
        Rated(
            rater_id=row.rater_id,
            item=item_from(row.name, row.content),
            answers={name: given.value for name, given in submitted(finals[row.id]).items() if given.value is not None},
            declared=declared.get(row.rater_id, {}),
            answer_time_ms=answer_time_ms(visits[row.id]),
            answered_at=at[row.id],
            tries=tries.get(row.rater_id, {}),
            flagged=row.rater_id in flagged,
            shown_first=row.shown_first,
        )
        for row in rows
    )
    return tuple(zip(ids, found, strict=True))


def _submitted_at(tx: Connection, ids: Sequence[str]) -> dict[str, datetime]:
    """Return when each assignment was submitted last."""
    query = select(t.Save.assignment_id, func.max(t.Save.received_at)).where(
        t.Save.assignment_id.in_(ids), t.Save.final
    )
    return dict(tx.execute(query.group_by(t.Save.assignment_id)).all())


def _declared(tx: Connection, rater_ids: set[str]) -> dict[str, Mapping[str, Any]]:
    """Return what each rater said of themselves last."""
    query = (
        select(t.Declaration.rater_id, t.Declaration.content)
        .where(t.Declaration.rater_id.in_(rater_ids))
        .order_by(t.Declaration.at, t.Declaration.id)
    )
    return dict(tx.execute(query).all())


def _rows(*columns: Any) -> Select[Any]:
    return select(*columns).select_from(t.Assignment).join(t.Rater, t.Rater.id == t.Assignment.rater_id)


def _count(tx: Connection, whose: ColumnElement[bool]) -> Count:
    query = _rows(func.count(distinct(t.Assignment.rater_id)), func.count())
    raters, ratings = tx.execute(query.where(whose, t.Assignment.state == "done")).one()
    return Count(raters=raters, ratings=ratings)


def taking_part(campaign_id: str) -> ColumnElement[bool]:
    """Tell whether a rater is of a campaign, is no preview or dry run, and did not withdraw."""
    return and_(t.Rater.campaign_id == campaign_id, ~t.Rater.rehearsal, t.Rater.state != "withdrawn")


def agreeing(purposes: Sequence[str]) -> ColumnElement[bool]:
    """Tell whether a rater agreed to each purpose, in the latest version of the consent text that they answered."""
    last = [
        select(t.Consent.given)
        .join(t.ConsentText, t.ConsentText.id == t.Consent.consent_text_id)
        .where(t.Consent.rater_id == t.Rater.id, t.Consent.purpose == purpose)
        .order_by(t.ConsentText.version.desc())
        .limit(1)
        .correlate(t.Rater)
        .scalar_subquery()
        for purpose in purposes
    ]
    return and_(True, *(func.coalesce(one, False) for one in last))
