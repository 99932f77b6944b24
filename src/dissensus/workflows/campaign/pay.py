"""Pay: what raters are owed, were paid and are still due, and payments noted by owners."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid5

import polars as pl
from sqlalchemy import Connection

from dissensus.campaign.attention_checks import is_unfit
from dissensus.campaign.pay import PayAccount, RatingEnd, compute_owed, settle_account, sum_accounts
from dissensus.errors import Conflict, NotFound
from dissensus.recruit.prolific import SubmissionStatus
from dissensus.schema.campaign.definition import Campaign, Pay
from dissensus.schema.hints import format_value
from dissensus.schema.money import to_major_units
from dissensus.store import check_answers, payments
from dissensus.store import recruits as recruits_store
from dissensus.store.campaigns import CampaignRow
from dissensus.store.payments import PaymentRow, RaterWork
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.platform.idempotency import parse_form_id
from dissensus.workflows.platform.platform import Platform


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterAccount:
    """Work of a rater and their account."""

    work: RaterWork
    account: PayAccount


@dataclass(frozen=True, slots=True, kw_only=True)
class PayLedger:
    """Accounts of a campaign."""

    pay: Pay | None  # None if the definition has no [pay]; then there are no accounts
    raters: tuple[RaterAccount, ...]  # highest amount due first
    n_away: int  # recruited raters who were turned away
    away: PayAccount | None  # their accounts together
    n_recruits: int  # recruited raters whose ids are still stored
    closed: bool
    recruits: bool  # whether raters come from a recruiter

    @property
    def total(self) -> PayAccount | None:
        """Sum of all accounts; None if there are none."""
        every = [paid.account for paid in self.raters] + ([self.away] if self.away else [])
        return sum_accounts(every) if every else None

    @property
    def due(self) -> tuple[RaterAccount, ...]:
        """Accounts with an amount due."""
        return tuple(paid for paid in self.raters if paid.account.due)


@dataclass(frozen=True, slots=True, kw_only=True)
class PayHistory:
    """Account of one rater with its payments."""

    paid: RaterAccount
    by_prolific: int  # derived from the submission status
    payments: tuple[PaymentRow, ...]  # latest first
    taken_back: frozenset[str]  # ids of reversed payments


def load_ledger(platform: Platform, name: str, *, staff_id: str) -> PayLedger:
    """Return all accounts of a campaign."""
    with platform.database.reading() as tx:
        campaign_row, campaign = _load_paying_campaign(tx, platform, name, staff_id)
        pay = campaign.pay
        return PayLedger(
            pay=pay,
            raters=_rater_accounts(tx, campaign_row.id, campaign, pay) if pay else (),
            **_screened_out_accounts(tx, campaign_row.id, pay),  # type: ignore[arg-type]
            n_recruits=recruits_store.count_submissions(tx, campaign_row.id),
            closed=campaign_row.state == "closed",
            recruits=campaign.prolific is not None,
        )


def _load_paying_campaign(tx: Connection, platform: Platform, name: str, staff_id: str) -> tuple[CampaignRow, Campaign]:
    campaign_row, _ = campaign_for_member(tx, name, staff_id)
    campaign = platform.definitions.of(tx, campaign_row)
    if campaign.pay is None and campaign.prolific is None:
        raise NotFound(
            f"{name} says neither what raters are paid nor that they come from Prolific. Write [pay] into its "
            "definition, with currency and hour, or [prolific], with the codes of its outcomes."
        )
    return campaign_row, campaign


def _rater_accounts(tx: Connection, campaign_id: str, campaign: Campaign, pay: Pay) -> tuple[RaterAccount, ...]:
    tries = check_answers.load_campaign_tries(tx, campaign_id) if campaign.checks else {}
    every = [
        _to_rater_account(pay, one, _work_outcome(one, campaign, tries.get(one.rater_id, {})))
        for one in payments.load_work(tx, campaign_id)
    ]
    return tuple(sorted(every, key=lambda paid: -paid.account.due))


def _to_rater_account(pay: Pay, one: RaterWork, end: RatingEnd) -> RaterAccount:
    amount = compute_owed(pay, one.worked_ms, end)
    return RaterAccount(work=one, account=settle_account(pay, amount, one.noted + paid_by_prolific(pay, one.status)))


def _work_outcome(one: RaterWork, campaign: Campaign, tries: Mapping[str, Sequence[str]]) -> RatingEnd:
    """Return the outcome for a rater; unfit raters and those without items were screened out."""
    if one.finished:
        return "finished"
    return "screened_out" if one.state == "finished" or is_unfit(campaign.checks, tries) else "left"


def _screened_out_accounts(tx: Connection, campaign_id: str, pay: Pay | None) -> dict[str, object]:
    statuses = payments.count_turned_away_by_status(tx, campaign_id)
    n = sum(statuses.values())
    if pay is None or not n:
        return {"n_away": n, "away": None}
    every = [account_of_screened_out(pay, status) for status, count in statuses.items() for _ in range(count)]
    return {"n_away": n, "away": sum_accounts(every)}


def account_of_screened_out(pay: Pay, status: str | None) -> PayAccount:
    """Return the account of a recruited rater who was turned away."""
    return settle_account(pay, compute_owed(pay, 0, "screened_out"), paid_by_prolific(pay, status))


def paid_by_prolific(pay: Pay, status: str | None) -> int:
    """Return the amount paid by Prolific: the reward once approved, or the fixed screen-out amount.

    Prolific's status does not tell partial payments; owners note those by hand.
    """
    paid = {SubmissionStatus.APPROVED.value: pay.finished, SubmissionStatus.SCREENED_OUT.value: pay.screened_out}
    return paid.get(status or "", 0)


def record_prolific_payment(tx: Connection, pay: Pay, one: RaterWork, *, now: datetime) -> None:
    """Store the amount paid by Prolific before the status that implies it is erased."""
    amount = paid_by_prolific(pay, one.status)
    if amount:
        payments.add_payment(tx, one.rater_id, amount, staff_id=None, now=now)


def list_accounts_after(
    platform: Platform, name: str, *, after: int, most: int, staff_id: str
) -> tuple[RaterAccount, ...]:
    """Return accounts in order of entry after an entry number."""
    with platform.database.reading() as tx:
        campaign_row, campaign = _load_paying_campaign(tx, platform, name, staff_id)
        pay, ids = _pay_of(campaign), payments.list_rater_ids_after(tx, campaign_row.id, after=after, most=most)
        every, tries = (
            payments.load_work(tx, campaign_row.id, rater_ids=ids),
            check_answers.load_tries_by_rater(tx, ids),
        )
        return tuple(
            _to_rater_account(pay, one, _work_outcome(one, campaign, tries.get(one.rater_id, {}))) for one in every
        )


def export_ledger_csv(platform: Platform, name: str, *, staff_id: str) -> bytes:
    """Return all accounts of a campaign as CSV, without recruiter ids."""
    found = load_ledger(platform, name, staff_id=staff_id)
    columns = ("rater_id", "worked_ms", "currency", "owed", "paid", "due")
    return (
        pl.DataFrame(list(_csv_rows(found)), schema=dict.fromkeys(columns, pl.String), orient="row")
        .write_csv()
        .encode()
    )


def _csv_rows(found: PayLedger) -> Iterator[tuple[str, ...]]:
    for paid in found.raters:
        one = paid.account
        amounts = (str(to_major_units(one.currency, amount)) for amount in (one.owed, one.paid, one.due))
        yield (paid.work.rater_id, str(paid.work.worked_ms), one.currency, *amounts)


def load_history(platform: Platform, name: str, rater_id: str, *, staff_id: str) -> PayHistory:
    """Return the account of a rater and its payments."""
    with platform.database.reading() as tx:
        pay, one, end = _load_earner(tx, platform, name, rater_id, staff_id)
        noted = payments.list_payments(tx, rater_id)
    ids = {one.id for one in noted}
    return PayHistory(
        paid=_to_rater_account(pay, one, end),
        by_prolific=paid_by_prolific(pay, one.status),
        payments=noted,
        taken_back=frozenset(one for one in ids if _reversal_id(one) in ids),
    )


def _load_earner(
    tx: Connection, platform: Platform, name: str, rater_id: str, staff_id: str
) -> tuple[Pay, RaterWork, RatingEnd]:
    campaign_row, campaign = _load_paying_campaign(tx, platform, name, staff_id)
    pay = _pay_of(campaign)
    found = payments.load_work(tx, campaign_row.id, rater_ids=[rater_id])
    if not found:
        raise NotFound(f"{name} has no rater {format_value(rater_id)}.")
    return pay, found[0], _work_outcome(found[0], campaign, check_answers.load_tries(tx, rater_id))


def _pay_of(campaign: Campaign) -> Pay:
    if campaign.pay is None:
        raise NotFound(f"{campaign.name} says nothing of what raters are paid: its definition has no [pay].")
    return campaign.pay


def record_payment(
    platform: Platform, name: str, rater_id: str, amount: int, *, payment_id: str, staff_id: str, now: datetime
) -> None:
    """Store a payment in minor units; `payment_id`, a UUID from the form, makes it idempotent."""
    payment_id = parse_form_id(payment_id)
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=True)
        _, one, end = _load_earner(tx, platform, name, rater_id, staff_id)
        known = payments.find_payment(tx, payment_id)
        if known is not None and (known.rater_id, known.amount) != (rater_id, amount):
            raise Conflict("This form has noted another payment already, and nothing more was noted. Load it again.")
        if end == "left" and one.state != "withdrawn" and not one.n_rated and not one.worked_ms:
            # Who is turned away after all is erased, which a payment would forbid.
            raise Conflict(f"Rater {one.number + 1} did nothing yet. Note what they were paid once they have begun.")
        if known is None:
            payments.add_payment(tx, rater_id, amount, payment_id=payment_id, staff_id=staff_id, now=now)
            log_staff_event(tx, campaign_row.id, "payment_recorded", staff_id, now, payment=payment_id, amount=amount)


def reverse_payment(
    platform: Platform, name: str, rater_id: str, payment_id: str, *, staff_id: str, now: datetime
) -> None:
    """Reverse a mistaken payment by adding its negative; idempotent."""
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=True)
        _load_earner(tx, platform, name, rater_id, staff_id)
        known = payments.find_payment(tx, payment_id)
        if known is None or known.rater_id != rater_id or known.amount < 0:
            raise NotFound("There is no such payment to take back. Load the page again.")
        back = _reversal_id(payment_id)
        if payments.find_payment(tx, back) is None:
            payments.add_payment(tx, rater_id, -known.amount, payment_id=back, staff_id=staff_id, now=now)
            log_staff_event(tx, campaign_row.id, "payment_recorded", staff_id, now, payment=back, amount=-known.amount)


def _reversal_id(payment_id: str) -> str:
    """Return the id of the only possible reversal of a payment."""
    return str(uuid5(UUID(payment_id), "taken back"))
