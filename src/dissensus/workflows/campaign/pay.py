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
from dissensus.recruit.prolific import SubmissionStatus
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.pay import Pay
from dissensus.schema.hints import format_value
from dissensus.schema.money import to_major_units
from dissensus.store import check_answers, payments, submissions, work
from dissensus.store.campaigns import Kept
from dissensus.store.payments import Payment
from dissensus.store.work import Work
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater.form_ids import form_id


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterAccount:
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
class PayLedger:
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
    raters: tuple[RaterAccount, ...]
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
    def due(self) -> tuple[RaterAccount, ...]:
        """Those who are still due anything."""
        return tuple(paid for paid in self.raters if paid.account.due)


@dataclass(frozen=True, slots=True, kw_only=True)
class PayHistory:
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

    paid: RaterAccount
    by_prolific: int
    payments: tuple[Payment, ...]
    taken_back: frozenset[str]


def load_ledger(platform: Platform, name: str, *, staff_id: str) -> PayLedger:
    """Return all accounts of a campaign.

    Raises
    ------
    NotFound
        The campaign neither pays raters nor has them from Prolific.
    """
    with platform.database.reading() as tx:
        kept, campaign = _load_paying_campaign(tx, platform, name, staff_id)
        pay = campaign.pay
        return PayLedger(
            pay=pay,
            raters=_rater_accounts(tx, kept.id, campaign, pay) if pay else (),
            **_screened_out_accounts(tx, kept.id, pay),  # type: ignore[arg-type]
            n_recruits=submissions.n_submissions(tx, kept.id),
            closed=kept.state == "closed",
            recruits=campaign.prolific is not None,
        )


def _load_paying_campaign(tx: Connection, platform: Platform, name: str, staff_id: str) -> tuple[Kept, Campaign]:
    kept, _ = campaign_for_member(tx, name, staff_id)
    campaign = platform.definitions.of(tx, kept)
    if campaign.pay is None and campaign.prolific is None:
        raise NotFound(
            f"{name} says neither what raters are paid nor that they come from Prolific. Write [pay] into its "
            "definition, with currency and hour, or [prolific], with the codes of its outcomes."
        )
    return kept, campaign


def _rater_accounts(tx: Connection, campaign_id: str, campaign: Campaign, pay: Pay) -> tuple[RaterAccount, ...]:
    tries = check_answers.tries_within(tx, campaign_id) if campaign.checks else {}
    every = [_to_rater_account(pay, one, _work_outcome(one, campaign, tries.get(one.rater_id, {}))) for one in work.work_of(tx, campaign_id)]
    return tuple(sorted(every, key=lambda paid: -paid.account.due))


def _to_rater_account(pay: Pay, one: Work, end: End) -> RaterAccount:
    amount = owed(pay, one.worked_ms, end)
    return RaterAccount(work=one, account=account(pay, amount, one.noted + paid_by_prolific(pay, one.status)))


def _work_outcome(one: Work, campaign: Campaign, tries: Mapping[str, Sequence[str]]) -> End:
    """Return how it ended for a rater; who had nothing to rate, or did not understand what to do, was sent away."""
    if one.finished:
        return "finished"
    return "screened_out" if one.state == "finished" or is_unfit(campaign.checks, tries) else "left"


def _screened_out_accounts(tx: Connection, campaign_id: str, pay: Pay | None) -> dict[str, object]:
    statuses = work.statuses_away(tx, campaign_id)
    n = sum(statuses.values())
    if pay is None or not n:
        return {"n_away": n, "away": None}
    every = [account_of_screened_out(pay, status) for status, count in statuses.items() for _ in range(count)]
    return {"n_away": n, "away": total(every)}


def account_of_screened_out(pay: Pay, status: str | None) -> Account:
    """Return the account of somebody who was turned away."""
    return account(pay, owed(pay, 0, "screened_out"), paid_by_prolific(pay, status))


def paid_by_prolific(pay: Pay, status: str | None) -> int:
    """Return what Prolific paid somebody: the reward once it is approved, or the fixed amount.

    How much a part of the reward was, Prolific does not tell by a status: it is noted by hand.
    """
    paid = {SubmissionStatus.APPROVED.value: pay.finished, SubmissionStatus.SCREENED_OUT.value: pay.screened_out}
    return paid.get(status or "", 0)


def record_prolific_payment(tx: Connection, pay: Pay, one: Work, *, now: datetime) -> None:
    """Note what Prolific paid somebody, before the status that tells it is erased."""
    amount = paid_by_prolific(pay, one.status)
    if amount:
        payments.add_payment(tx, one.rater_id, amount, staff_id=None, now=now)


def list_accounts_after(platform: Platform, name: str, *, after: int, most: int, staff_id: str) -> tuple[RaterAccount, ...]:
    """Return the accounts of raters in the order in which they entered, after a number."""
    with platform.database.reading() as tx:
        kept, campaign = _load_paying_campaign(tx, platform, name, staff_id)
        pay, ids = _pay_of(campaign), work.raters_after(tx, kept.id, after=after, most=most)
        every, tries = work.work_of(tx, kept.id, rater_ids=ids), check_answers.tries_of_several(tx, ids)
        return tuple(_to_rater_account(pay, one, _work_outcome(one, campaign, tries.get(one.rater_id, {}))) for one in every)


def export_ledger_csv(platform: Platform, name: str, *, staff_id: str) -> bytes:
    """Return the accounts of all raters of a campaign as a table; nobody is in it by an id of elsewhere."""
    found = load_ledger(platform, name, staff_id=staff_id)
    columns = ("rater_id", "worked_ms", "currency", "owed", "paid", "due")
    return pl.DataFrame(list(_csv_rows(found)), schema=dict.fromkeys(columns, pl.String), orient="row").write_csv().encode()


def _csv_rows(found: PayLedger) -> Iterator[tuple[str, ...]]:
    for paid in found.raters:
        one = paid.account
        amounts = (str(to_major_units(one.currency, amount)) for amount in (one.owed, one.paid, one.due))
        yield (paid.work.rater_id, str(paid.work.worked_ms), one.currency, *amounts)


def load_history(platform: Platform, name: str, rater_id: str, *, staff_id: str) -> PayHistory:
    """Return the account of one rater, and what it is made of."""
    with platform.database.reading() as tx:
        pay, one, end = _load_earner(tx, platform, name, rater_id, staff_id)
        noted = payments.payments_of(tx, rater_id)
    ids = {one.id for one in noted}
    return PayHistory(
        paid=_to_rater_account(pay, one, end),
        by_prolific=paid_by_prolific(pay, one.status),
        payments=noted,
        taken_back=frozenset(one for one in ids if _reversal_id(one) in ids),
    )


def _load_earner(tx: Connection, platform: Platform, name: str, rater_id: str, staff_id: str) -> tuple[Pay, Work, End]:
    kept, campaign = _load_paying_campaign(tx, platform, name, staff_id)
    pay = _pay_of(campaign)
    found = work.work_of(tx, kept.id, rater_ids=[rater_id])
    if not found:
        raise NotFound(f"{name} has no rater {format_value(rater_id)}.")
    return pay, found[0], _work_outcome(found[0], campaign, check_answers.tries_of(tx, rater_id))


def _pay_of(campaign: Campaign) -> Pay:
    if campaign.pay is None:
        raise NotFound(f"{campaign.name} says nothing of what raters are paid: its definition has no [pay].")
    return campaign.pay


def record_payment(
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
        kept, _ = campaign_for_member(tx, name, staff_id, lock=True)
        _, one, end = _load_earner(tx, platform, name, rater_id, staff_id)
        known = payments.payment_of(tx, payment_id)
        if known is not None and (known.rater_id, known.amount) != (rater_id, amount):
            raise Conflict("This form has noted another payment already, and nothing more was noted. Load it again.")
        if end == "left" and one.state != "withdrawn" and not one.n_rated and not one.worked_ms:
            # Who is turned away after all is erased, which a payment would forbid.
            raise Conflict(f"Rater {one.number + 1} did nothing yet. Note what they were paid once they have begun.")
        if known is None:
            payments.add_payment(tx, rater_id, amount, payment_id=payment_id, staff_id=staff_id, now=now)
            log_staff_event(tx, kept.id, "pay", staff_id, now, payment=payment_id, amount=amount)


def reverse_payment(platform: Platform, name: str, rater_id: str, payment_id: str, *, staff_id: str, now: datetime) -> None:
    """Keep that a payment was noted by mistake: it stays, and one that takes it back is added; twice is once.

    Raises
    ------
    NotFound
        There is no such payment to this rater.
    """
    with platform.database.writing() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id, lock=True)
        _load_earner(tx, platform, name, rater_id, staff_id)
        known = payments.payment_of(tx, payment_id)
        if known is None or known.rater_id != rater_id or known.amount < 0:
            raise NotFound("There is no such payment to take back. Load the page again.")
        back = _reversal_id(payment_id)
        if payments.payment_of(tx, back) is None:
            payments.add_payment(tx, rater_id, -known.amount, payment_id=back, staff_id=staff_id, now=now)
            log_staff_event(tx, kept.id, "pay", staff_id, now, payment=back, amount=-known.amount)


def _reversal_id(payment_id: str) -> str:
    """Return the id of what takes a payment back, which there can be one of."""
    return str(uuid5(UUID(payment_id), "taken back"))
