"""Pay: what raters are owed, were paid and are still due, and payments recorded by owners."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID, uuid5

import polars as pl
from sqlalchemy import Connection

from dissensus.campaign.attention_checks import failed_screening
from dissensus.campaign.pay import PayAccount, RatingEnd, compute_owed, round_to_paid_time, settle_account, sum_accounts
from dissensus.errors import Conflict, NotFound
from dissensus.recruit.prolific import SubmissionStatus
from dissensus.schema.campaign.definition import Campaign, Pay
from dissensus.schema.campaign.recruit import RecruitSettings
from dissensus.schema.hints import format_value
from dissensus.schema.money import to_major_units
from dissensus.store import check_answers, payments
from dissensus.store import recruits as recruits_store
from dissensus.store.campaigns import CampaignRow
from dissensus.store.payments import PaymentRow, RaterWork
from dissensus.store.raters import RaterRow
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.campaign.members import campaign_for_member, load_member_campaign
from dissensus.workflows.platform.idempotency import parse_form_id
from dissensus.workflows.platform.platform import Platform


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterAccount:
    """Work of a rater and their account."""

    work: RaterWork
    account: PayAccount

    @property
    def paid_minutes(self) -> int:
        """Paid time in minutes."""
        return round_to_paid_time(self.work.worked_ms) // 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PayLedger:
    """Accounts of a campaign."""

    pay: Pay | None  # None if the definition has no [pay]; then there are no accounts
    raters: tuple[RaterAccount, ...]  # highest amount due first
    n_screened_out: int  # recruited raters who were turned away
    screened_out_account: PayAccount | None  # sum of their accounts
    n_recruits: int  # recruited raters whose ids are still stored
    closed: bool
    recruit: RecruitSettings | None  # of the campaign

    @property
    def total(self) -> PayAccount | None:
        """Sum of all accounts; None if there are none."""
        accounts = [rater.account for rater in self.raters] + (
            [self.screened_out_account] if self.screened_out_account else []
        )
        return sum_accounts(accounts) if accounts else None

    @property
    def due(self) -> tuple[RaterAccount, ...]:
        """Accounts with an amount due."""
        return tuple(rater for rater in self.raters if rater.account.due)


@dataclass(frozen=True, slots=True, kw_only=True)
class PayHistory:
    """Account of one rater with its payments."""

    rater: RaterAccount
    paid_by_prolific: int  # derived from the submission status
    payments: tuple[PaymentRow, ...]  # latest first
    reversed_ids: frozenset[str]  # ids of reversed payments


def load_ledger(platform: Platform, name: str, *, staff_id: str) -> PayLedger:
    """Return all accounts of a campaign."""
    with platform.database.reading() as tx:
        campaign_row, campaign = _load_paying_campaign(tx, platform, name, staff_id)
        pay, turned_away = campaign.pay, payments.count_turned_away_by_status(tx, campaign_row.id)
        screened_out = [] if pay is None else _list_screened_out_accounts(pay, turned_away)
        return PayLedger(
            pay=pay,
            raters=_list_rater_accounts(tx, campaign_row.id, campaign, pay) if pay else (),
            n_screened_out=sum(turned_away.values()),
            screened_out_account=sum_accounts(screened_out) if screened_out else None,
            n_recruits=recruits_store.count_submissions(tx, campaign_row.id),
            closed=campaign_row.state == "closed",
            recruit=campaign.recruit,
        )


def find_creditors(tx: Connection, campaign_id: str, campaign: Campaign) -> Literal["raters", "turned_away"] | None:
    """Return who is still to be paid: raters, or only participants who were turned away; None if nobody is."""
    if campaign.pay is None:
        return None
    if any(rater.account.due for rater in _list_rater_accounts(tx, campaign_id, campaign, campaign.pay)):
        return "raters"
    turned_away = payments.count_turned_away_by_status(tx, campaign_id)
    due = any(account.due for account in _list_screened_out_accounts(campaign.pay, turned_away))
    return "turned_away" if due else None


def _load_paying_campaign(tx: Connection, platform: Platform, name: str, staff_id: str) -> tuple[CampaignRow, Campaign]:
    campaign_row, campaign = load_member_campaign(tx, platform, name, staff_id)
    if campaign.pay is None and campaign.recruit is None:
        raise NotFound(
            f"{name} has neither [pay] nor [recruit]. Add to its definition [pay], with "
            "currency and hourly_rate, or [recruit], with the recruiter."
        )
    return campaign_row, campaign


def _list_rater_accounts(tx: Connection, campaign_id: str, campaign: Campaign, pay: Pay) -> tuple[RaterAccount, ...]:
    attempts = check_answers.load_campaign_attempts(tx, campaign_id) if campaign.checks else {}
    accounts = [
        _to_rater_account(pay, work, _work_outcome(work, campaign, attempts.get(work.rater_id, {})))
        for work in payments.load_work(tx, campaign_id)
    ]
    return tuple(sorted(accounts, key=lambda rater: -rater.account.due))


def _to_rater_account(pay: Pay, work: RaterWork, end: RatingEnd) -> RaterAccount:
    paid = work.recorded + paid_by_prolific(pay, work.status)
    return RaterAccount(work=work, account=settle_account(pay, compute_owed(pay, work.worked_ms, end), paid))


def _work_outcome(work: RaterWork, campaign: Campaign, attempts: Mapping[str, Sequence[str]]) -> RatingEnd:
    """Return the end of the rating of a rater; unfit raters and those without items were screened out."""
    if work.rating_end is not None:
        return work.rating_end
    if work.state == "finished":
        return "finished" if work.n_rated else "screened_out"
    return "screened_out" if failed_screening(campaign.checks, attempts) else "left"


def _list_screened_out_accounts(pay: Pay, turned_away: Mapping[str | None, int]) -> list[PayAccount]:
    """Return the account of each recruited rater who was turned away, from their numbers by status."""
    return [account_of_screened_out(pay, status) for status, n in turned_away.items() for _ in range(n)]


def account_of_screened_out(pay: Pay, status: str | None) -> PayAccount:
    """Return the account of a recruited rater who was turned away."""
    return settle_account(pay, compute_owed(pay, 0, "screened_out"), paid_by_prolific(pay, status))


def paid_by_prolific(pay: Pay, status: str | None) -> int:
    """Return the amount paid by Prolific: the reward once approved, or the fixed screen-out amount.

    Partial payments are not part of Prolific's status; owners record those by hand.
    """
    amounts = {SubmissionStatus.APPROVED.value: pay.finished, SubmissionStatus.SCREENED_OUT.value: pay.screened_out}
    return amounts.get(status or "", 0)


def preserve_account(tx: Connection, rater: RaterRow, campaign: Campaign, *, now: datetime) -> None:
    """Store the account of a rater before the answers and the status that imply it are erased."""
    pay, attempts = _pay_of(campaign), check_answers.load_attempts(tx, rater.id)
    for work in payments.load_work(tx, rater.campaign_id, rater_ids=[rater.id]):
        payments.set_work(tx, work, _work_outcome(work, campaign, attempts))
        record_prolific_payment(tx, pay, work, now=now)


def record_prolific_payment(tx: Connection, pay: Pay, work: RaterWork, *, now: datetime) -> None:
    """Store the amount paid by Prolific before the status that implies it is erased."""
    amount = paid_by_prolific(pay, work.status)
    if amount:
        payments.add_payment(tx, work.rater_id, amount, staff_id=None, now=now)


def list_accounts_after(
    platform: Platform, name: str, *, after: int, most: int, staff_id: str
) -> tuple[RaterAccount, ...]:
    """Return accounts in order of entry after an entry number."""
    with platform.database.reading() as tx:
        campaign_row, campaign = _load_paying_campaign(tx, platform, name, staff_id)
        pay, ids = _pay_of(campaign), payments.list_rater_ids_after(tx, campaign_row.id, after=after, most=most)
        attempts = check_answers.load_attempts_by_rater(tx, ids)
        return tuple(
            _to_rater_account(pay, work, _work_outcome(work, campaign, attempts.get(work.rater_id, {})))
            for work in payments.load_work(tx, campaign_row.id, rater_ids=ids)
        )


def export_ledger_csv(platform: Platform, name: str, *, staff_id: str) -> bytes:
    """Return all accounts of a campaign as CSV, without recruiter ids."""
    ledger = load_ledger(platform, name, staff_id=staff_id)
    columns = ("rater_id", "paid_minutes", "currency", "owed", "paid", "due")
    frame = pl.DataFrame(list(_csv_rows(ledger)), schema=dict.fromkeys(columns, pl.String), orient="row")
    return frame.write_csv().encode()


def _csv_rows(ledger: PayLedger) -> Iterator[tuple[str, ...]]:
    for rater in ledger.raters:
        account = rater.account
        amounts = (account.owed, account.paid, account.due)
        columns = (str(to_major_units(account.currency, amount)) for amount in amounts)
        yield (rater.work.rater_id, str(rater.paid_minutes), account.currency, *columns)


def load_history(platform: Platform, name: str, rater_id: str, *, staff_id: str) -> PayHistory:
    """Return the account of a rater and its payments."""
    with platform.database.reading() as tx:
        pay, work, end = _load_work(tx, platform, name, rater_id, staff_id)
        rows = payments.list_payments(tx, rater_id)
    ids = {row.id for row in rows}
    return PayHistory(
        rater=_to_rater_account(pay, work, end),
        paid_by_prolific=paid_by_prolific(pay, work.status),
        payments=rows,
        reversed_ids=frozenset(payment_id for payment_id in ids if _reversal_id(payment_id) in ids),
    )


def _load_work(
    tx: Connection, platform: Platform, name: str, rater_id: str, staff_id: str
) -> tuple[Pay, RaterWork, RatingEnd]:
    campaign_row, campaign = _load_paying_campaign(tx, platform, name, staff_id)
    pay = _pay_of(campaign)
    rows = payments.load_work(tx, campaign_row.id, rater_ids=[rater_id])
    if not rows:
        raise NotFound(f"{name} has no rater {format_value(rater_id)}.")
    return pay, rows[0], _work_outcome(rows[0], campaign, check_answers.load_attempts(tx, rater_id))


def _pay_of(campaign: Campaign) -> Pay:
    if campaign.pay is None:
        raise NotFound(f"{campaign.name} has no pay rates: its definition has no [pay].")
    return campaign.pay


def record_payment(
    platform: Platform, name: str, rater_id: str, amount: int, *, payment_id: str, staff_id: str, now: datetime
) -> None:
    """Store a payment in minor units; `payment_id`, a UUID from the form, makes it idempotent."""
    payment_id = parse_form_id(payment_id)
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=True)
        _, work, end = _load_work(tx, platform, name, rater_id, staff_id)
        payment = payments.find_payment(tx, payment_id)
        if payment is not None and (payment.rater_id, payment.amount) != (rater_id, amount):
            raise Conflict("This form was already used for another payment, and nothing was recorded. Reload it.")
        if end == "left" and work.state != "withdrawn" and not work.n_rated and not work.worked_ms:
            # The rater may still be turned away and deleted, which a payment would prevent.
            raise Conflict(f"Rater {work.number + 1} has not started yet. Record payments after they start.")
        if payment is None:
            payments.add_payment(tx, rater_id, amount, payment_id=payment_id, staff_id=staff_id, now=now)
            log_staff_event(tx, campaign_row.id, "payment_recorded", staff_id, now, payment=payment_id, amount=amount)


def reverse_payment(
    platform: Platform, name: str, rater_id: str, payment_id: str, *, staff_id: str, now: datetime
) -> None:
    """Reverse a mistaken payment by adding its negative; idempotent."""
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=True)
        _load_work(tx, platform, name, rater_id, staff_id)
        payment = payments.find_payment(tx, payment_id)
        if payment is None or payment.rater_id != rater_id or payment.amount < 0:
            raise NotFound("There is no such payment to reverse. Reload the page.")
        reversal_id, amount = _reversal_id(payment_id), -payment.amount
        if payments.find_payment(tx, reversal_id) is None:
            payments.add_payment(tx, rater_id, amount, payment_id=reversal_id, staff_id=staff_id, now=now)
            reversal = {"payment": reversal_id, "amount": amount, "reverses": payment_id}
            log_staff_event(tx, campaign_row.id, "payment_recorded", staff_id, now, **reversal)


def _reversal_id(payment_id: str) -> str:
    """Return the id of the only possible reversal of a payment."""
    return str(uuid5(UUID(payment_id), "taken back"))
