"""What raters are owed, were paid and are still due, and how owners note payments."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid5

import polars as pl
from sqlalchemy import Connection

from dissensus.campaign.attention_checks import is_unfit
from dissensus.campaign.pay import Account, End, account, owed, total
from dissensus.errors import Conflict, NotFound
from dissensus.recruit.prolific import Status
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.pay import Pay
from dissensus.schema.hints import shown
from dissensus.schema.money import in_major
from dissensus.store import check_answers, payments, submissions, work
from dissensus.store.campaigns import Kept
from dissensus.store.payments import Payment
from dissensus.store.work import Work
from dissensus.workflows.campaign.audit_log import by_staff
from dissensus.workflows.campaign.members import seen_by
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater.form_ids import form_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Paid:
    """What a rater did, and their account.

    Parameters
    ----------
    work
        What they did.
    account
        What they are owed for it, and were paid.
    """

    work: Work
    account: Account


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """The accounts of a campaign.

    Parameters
    ----------
    pay
        What it pays; None where it says nothing of that, and then there are no accounts.
    raters
        Who is due most first, then in their order.
    n_away, away
        How many a recruiter sent who were turned away, and their accounts together; None for none.
    n_recruits
        How many a recruiter sent who are still known.
    closed
        Whether the campaign is closed.
    recruits
        Whether raters come from a recruiter.
    """

    pay: Pay | None
    raters: tuple[Paid, ...]
    n_away: int
    away: Account | None
    n_recruits: int
    closed: bool
    recruits: bool

    @property
    def total(self) -> Account | None:
        """All accounts together; None where there are none."""
        every = [paid.account for paid in self.raters] + ([self.away] if self.away else [])
        return total(every) if every else None

    @property
    def due(self) -> tuple[Paid, ...]:
        """Those who are still due anything."""
        return tuple(paid for paid in self.raters if paid.account.due)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """One rater's account, and what it is made of.

    Parameters
    ----------
    paid
        What they did, and their account.
    by_prolific
        What Prolific paid, told by the status of their submission.
    payments
        As they were noted, the latest first.
    taken_back
        Ids of those that were taken back.
    """

    paid: Paid
    by_prolific: int
    payments: tuple[Payment, ...]
    taken_back: frozenset[str]


def ledger(platform: Platform, name: str, *, staff_id: str) -> Ledger:
    """Return all accounts of a campaign.

    Raises
    ------
    NotFound
        The campaign neither pays raters nor has them from Prolific.
    """
    with platform.database.reading() as tx:
        kept, campaign = _paying(tx, platform, name, staff_id)
        pay = campaign.pay
        return Ledger(
            pay=pay,
            raters=_accounts(tx, kept.id, campaign, pay) if pay else (),
            **_away(tx, kept.id, pay),  # type: ignore[arg-type]
            n_recruits=submissions.n_submissions(tx, kept.id),
            closed=kept.state == "closed",
            recruits=campaign.prolific is not None,
        )


def _paying(tx: Connection, platform: Platform, name: str, staff_id: str) -> tuple[Kept, Campaign]:
    kept, _ = seen_by(tx, name, staff_id)
    campaign = platform.definitions.of(tx, kept)
    if campaign.pay is None and campaign.prolific is None:
        raise NotFound(
            f"{name} says neither what raters are paid nor that they come from Prolific. Write [pay] into its "
            "definition, with currency and hour, or [prolific], with the codes of its outcomes."
        )
    return kept, campaign


def _accounts(tx: Connection, campaign_id: str, campaign: Campaign, pay: Pay) -> tuple[Paid, ...]:
    tries = check_answers.tries_within(tx, campaign_id) if campaign.checks else {}
    every = [_paid(pay, one, _end(one, campaign, tries.get(one.rater_id, {}))) for one in work.work_of(tx, campaign_id)]
    return tuple(sorted(every, key=lambda paid: -paid.account.due))


def _paid(pay: Pay, one: Work, end: End) -> Paid:
    amount = owed(pay, one.worked_ms, end)
    return Paid(work=one, account=account(pay, amount, one.noted + by_prolific(pay, one.status)))


def _end(one: Work, campaign: Campaign, tries: Mapping[str, Sequence[str]]) -> End:
    """Return how it ended for a rater; who had nothing to rate, or did not understand what to do, was sent away."""
    if one.finished:
        return "finished"
    return "screened_out" if one.state == "finished" or is_unfit(campaign.checks, tries) else "left"


def _away(tx: Connection, campaign_id: str, pay: Pay | None) -> dict[str, object]:
    statuses = work.statuses_away(tx, campaign_id)
    n = sum(statuses.values())
    if pay is None or not n:
        return {"n_away": n, "away": None}
    every = [account_away(pay, status) for status, count in statuses.items() for _ in range(count)]
    return {"n_away": n, "away": total(every)}


def account_away(pay: Pay, status: str | None) -> Account:
    """Return the account of somebody who was turned away."""
    return account(pay, owed(pay, 0, "screened_out"), by_prolific(pay, status))


def by_prolific(pay: Pay, status: str | None) -> int:
    """Return what Prolific paid somebody: the reward once it is approved, or the fixed amount.

    How much a part of the reward was, Prolific does not tell by a status: it is noted by hand.
    """
    paid = {Status.APPROVED.value: pay.finished, Status.SCREENED_OUT.value: pay.screened_out}
    return paid.get(status or "", 0)


def keep_paid(tx: Connection, pay: Pay, one: Work, *, now: datetime) -> None:
    """Note what Prolific paid somebody, before the status that tells it is erased."""
    amount = by_prolific(pay, one.status)
    if amount:
        payments.add_payment(tx, one.rater_id, amount, staff_id=None, now=now)


def paid_after(platform: Platform, name: str, *, after: int, most: int, staff_id: str) -> tuple[Paid, ...]:
    """Return the accounts of raters in the order in which they entered, after a number."""
    with platform.database.reading() as tx:
        kept, campaign = _paying(tx, platform, name, staff_id)
        pay, ids = _pay_of(campaign), work.raters_after(tx, kept.id, after=after, most=most)
        every, tries = work.work_of(tx, kept.id, rater_ids=ids), check_answers.tries_of_several(tx, ids)
        return tuple(_paid(pay, one, _end(one, campaign, tries.get(one.rater_id, {}))) for one in every)


def as_csv(platform: Platform, name: str, *, staff_id: str) -> bytes:
    """Return the accounts of all raters of a campaign as a table; nobody is in it by an id of elsewhere."""
    found = ledger(platform, name, staff_id=staff_id)
    columns = ("rater_id", "worked_ms", "currency", "owed", "paid", "due")
    return pl.DataFrame(list(_rows(found)), schema=dict.fromkeys(columns, pl.String), orient="row").write_csv().encode()


def _rows(found: Ledger) -> Iterator[tuple[str, ...]]:
    for paid in found.raters:
        one = paid.account
        amounts = (str(in_major(one.currency, amount)) for amount in (one.owed, one.paid, one.due))
        yield (paid.work.rater_id, str(paid.work.worked_ms), one.currency, *amounts)


def history(platform: Platform, name: str, rater_id: str, *, staff_id: str) -> History:
    """Return the account of one rater, and what it is made of."""
    with platform.database.reading() as tx:
        pay, one, end = _earner(tx, platform, name, rater_id, staff_id)
        noted = payments.payments_of(tx, rater_id)
    ids = {one.id for one in noted}
    return History(
        paid=_paid(pay, one, end),
        by_prolific=by_prolific(pay, one.status),
        payments=noted,
        taken_back=frozenset(one for one in ids if _reversal(one) in ids),
    )


def _earner(tx: Connection, platform: Platform, name: str, rater_id: str, staff_id: str) -> tuple[Pay, Work, End]:
    kept, campaign = _paying(tx, platform, name, staff_id)
    pay = _pay_of(campaign)
    found = work.work_of(tx, kept.id, rater_ids=[rater_id])
    if not found:
        raise NotFound(f"{name} has no rater {shown(rater_id)}.")
    return pay, found[0], _end(found[0], campaign, check_answers.tries_of(tx, rater_id))


def _pay_of(campaign: Campaign) -> Pay:
    if campaign.pay is None:
        raise NotFound(f"{campaign.name} says nothing of what raters are paid: its definition has no [pay].")
    return campaign.pay


def note(
    platform: Platform, name: str, rater_id: str, amount: int, *, payment_id: str, staff_id: str, now: datetime
) -> None:
    """Keep that a rater was paid.

    Parameters
    ----------
    platform, name, rater_id
        Whom, in which campaign.
    amount
        In minor units.
    payment_id
        Chosen by the form, a UUID: the same form twice is one payment.
    staff_id
        Who notes it.
    now
        The time.

    Raises
    ------
    NotFound
        There is no such rater.
    Conflict
        They did nothing yet, or the form noted something else before.
    """
    payment_id = form_id(payment_id)
    with platform.database.writing() as tx:
        kept, _ = seen_by(tx, name, staff_id, lock=True)
        _, one, end = _earner(tx, platform, name, rater_id, staff_id)
        known = payments.payment_of(tx, payment_id)
        if known is not None and (known.rater_id, known.amount) != (rater_id, amount):
            raise Conflict("This form has noted another payment already, and nothing more was noted. Load it again.")
        if end == "left" and one.state != "withdrawn" and not one.n_rated and not one.worked_ms:
            # Who is turned away after all is erased, which a payment would forbid.
            raise Conflict(f"Rater {one.number + 1} did nothing yet. Note what they were paid once they have begun.")
        if known is None:
            payments.add_payment(tx, rater_id, amount, payment_id=payment_id, staff_id=staff_id, now=now)
            by_staff(tx, kept.id, "pay", staff_id, now, payment=payment_id, amount=amount)


def take_back(platform: Platform, name: str, rater_id: str, payment_id: str, *, staff_id: str, now: datetime) -> None:
    """Keep that a payment was noted by mistake: it stays, and one that takes it back is added; twice is once.

    Raises
    ------
    NotFound
        There is no such payment to this rater.
    """
    with platform.database.writing() as tx:
        kept, _ = seen_by(tx, name, staff_id, lock=True)
        _earner(tx, platform, name, rater_id, staff_id)
        known = payments.payment_of(tx, payment_id)
        if known is None or known.rater_id != rater_id or known.amount < 0:
            raise NotFound("There is no such payment to take back. Load the page again.")
        back = _reversal(payment_id)
        if payments.payment_of(tx, back) is None:
            payments.add_payment(tx, rater_id, -known.amount, payment_id=back, staff_id=staff_id, now=now)
            by_staff(tx, kept.id, "pay", staff_id, now, payment=back, amount=-known.amount)


def _reversal(payment_id: str) -> str:
    """Return the id of what takes a payment back, which there can be one of."""
    return str(uuid5(UUID(payment_id), "taken back"))
