"""Pay pages of owners."""

import re
from html import unescape
from uuid import uuid4

import polars as pl
import pytest
from tests.databases import sqlite_only
from tests.support.pay import HOUR, worker
from tests.support.pay_pages import PAY_PAGE, QUEUE, add_raters, address, note, open_paying_campaign, sums, text_of
from tests.support.staff_site import StaffSite, send

from dissensus.schema.money import MAX_AMOUNT


def test_a_payment_is_recorded_and_reversed(staff_site: StaffSite) -> None:
    campaign = open_paying_campaign(staff_site)
    rater = worker(staff_site.platform, campaign.key, HOUR)
    browser = staff_site.owner()
    assert f'href="{PAY_PAGE}"' in browser.get("/campaigns/pilot").text
    page = browser.get(PAY_PAGE)
    assert sums(page) == ["12.00 GBP", "0.00 GBP", "12.00 GBP"]
    assert f'href="{address(rater)}"' in page.text
    assert f"{rater.id[-8:]} rating 2026-03-01 60 min 12.00 0.00 12.00" in text_of(page)
    form = browser.get(address(rater))
    assert 'value="12.00"' in form.text
    payment = re.search(r'name="payment" value="([^"]+)"', form.text)
    assert payment is not None
    for _ in range(2):
        done = note(browser, rater, "6.5", payment[1])
        assert (done.status_code, done.headers["location"]) == (303, address(rater))
    page = browser.get(address(rater))
    assert sums(page) == ["12.00 GBP", "6.50 GBP", "5.50 GBP"]
    assert "6.50 GBP , recorded by ada, 2026-03-01 12:00 UTC" in text_of(page)
    for _ in range(2):
        send(browser, f"{address(rater)}/reverse", payment=payment[1])
    page = browser.get(address(rater))
    assert sums(page) == ["12.00 GBP", "0.00 GBP", "12.00 GBP"]
    assert "6.50 GBP reversed, recorded by ada" in text_of(page)
    assert ">Reverse<" not in page.text


@sqlite_only
def test_an_account_has_no_exact_time(staff_site: StaffSite) -> None:
    campaign = open_paying_campaign(staff_site)
    rater, slower = (worker(staff_site.platform, campaign.key, HOUR - ms) for ms in (123_456, 7_890))
    browser = staff_site.owner()
    accounts = [text_of(browser.get(address(one))).replace(one.id, "ID") for one in (rater, slower)]
    assert accounts[0].replace("rater 1", "rater 2") == accounts[1]
    assert "Paid time 60 min" in accounts[0]
    table = pl.read_csv(browser.get(f"{PAY_PAGE}.csv").content)
    assert table.drop("rater_id").unique().height == 1


@sqlite_only
@pytest.mark.parametrize("amount", ["1e9", "-1", "٣", "", "<b>", str(2**63), "0", "1.005", "٣" * 40, "'; --"])
def test_an_invalid_amount_is_rejected_and_kept_in_the_form(staff_site: StaffSite, amount: str) -> None:
    rater = worker(staff_site.platform, open_paying_campaign(staff_site).key, HOUR)
    browser = staff_site.owner()
    page = note(browser, rater, amount)
    assert page.status_code == 422
    assert "is not an amount in GBP" in text_of(page)
    typed = re.search(r'id="amount" name="amount" value="([^"]*)"', page.text)
    assert typed is not None
    assert unescape(typed[1]) == amount
    assert "<b>" not in page.text
    assert "No payments yet" in page.text


@sqlite_only
def test_the_largest_amount_is_kept(staff_site: StaffSite) -> None:
    rater = worker(staff_site.platform, open_paying_campaign(staff_site).key, HOUR)
    browser = staff_site.owner()
    for _ in range(3):
        assert note(browser, rater, f"{MAX_AMOUNT / 100:.2f}").status_code == 303
    assert "64,424,509.41 GBP" in browser.get(PAY_PAGE).text


@sqlite_only
def test_invalid_ids_are_not_found(staff_site: StaffSite) -> None:
    rater = worker(staff_site.platform, open_paying_campaign(staff_site).key, HOUR)
    browser = staff_site.owner()
    for path in (f"{PAY_PAGE}/raters/x", f"{PAY_PAGE}/raters/{uuid4()}", f"{QUEUE}/x", f"{QUEUE}/{'0' * 24}"):
        assert browser.get(path).status_code == 404
        assert send(browser, path, amount="1", payment=str(uuid4()), decision="approve").status_code == 404
    assert send(browser, f"{address(rater)}/reverse", payment="x").status_code == 404
    assert note(browser, rater, "1", "no id").status_code == 422
    for page in ("0", "-1", "x", "9" * 30):
        assert browser.get(PAY_PAGE, params={"page": page}).status_code == 422


@sqlite_only
def test_a_campaign_that_neither_pays_nor_recruits_has_no_such_page(staff_site: StaffSite) -> None:
    open_paying_campaign(staff_site, pay=None, recruit=None)
    browser = staff_site.owner()
    assert "/pay" not in browser.get("/campaigns/pilot").text
    for path in (PAY_PAGE, f"{PAY_PAGE}.csv", f"{PAY_PAGE}/erase", QUEUE):
        assert browser.get(path).status_code == 404
    assert "Add to its definition [pay]" in browser.get(PAY_PAGE).text


@sqlite_only
def test_accounts_of_others_are_not_found(staff_site: StaffSite) -> None:
    rater = worker(staff_site.platform, open_paying_campaign(staff_site).key, HOUR)
    browser = staff_site.owner("bob")
    for path in (PAY_PAGE, f"{PAY_PAGE}.csv", address(rater), QUEUE):
        assert browser.get(path).status_code == 404
    assert note(browser, rater, "1").status_code == 404


def test_accounts_are_paginated_and_sum_up(staff_site: StaffSite) -> None:
    campaign = open_paying_campaign(staff_site)
    add_raters(staff_site, campaign, 250)
    browser = staff_site.owner()
    first, last = browser.get(PAY_PAGE), browser.get(PAY_PAGE, params={"page": "99"})
    assert (first.text.count('<th scope="row">'), last.text.count('<th scope="row">')) == (100, 50)
    assert 'href="/campaigns/pilot/pay?page=2"' in first.text
    assert "Page 3 of 3" in last.text
    dues = [float(due) for due in re.findall(r"([\d.]+)</td>\s*</tr>", first.text)]
    assert dues == sorted(dues, reverse=True)
    due = browser.get(PAY_PAGE, params={"due": "1", "page": "2"})
    assert "Page 2 of 2" in due.text
    assert due.text.count('<th scope="row">') == 66
    table = pl.read_csv(browser.get(f"{PAY_PAGE}.csv").content)
    assert table.height == 250
    totals = [f"{table[name].sum():,.2f} GBP" for name in ("owed", "paid", "due")]
    assert sums(first) == sums(due) == totals == ["31,125.00 GBP", "10,458.00 GBP", "20,667.00 GBP"]


@sqlite_only
def test_withdrawing_raters_read_that_they_are_paid(staff_site: StaffSite) -> None:
    campaign = open_paying_campaign(staff_site)
    rater = worker(staff_site.platform, campaign.key, HOUR)
    visitor, path = staff_site.stranger(), f"/withdraw/{staff_site.live.site.tokens.sign_withdrawal(rater.id)}"
    assert "You are still paid for your time" in visitor.get(path, params={"lang": "en"}).text
    assert "Ihre Zeit wird trotzdem bezahlt" in visitor.get(path, params={"lang": "de"}).text
    visitor.post(path)
    assert f"{rater.id[-8:]} withdrawn 2026-03-01 60 min 12.00 0.00 12.00" in text_of(staff_site.owner().get(PAY_PAGE))


@sqlite_only
def test_withdrawal_without_pay_does_not_mention_pay(staff_site: StaffSite) -> None:
    rater = worker(staff_site.platform, open_paying_campaign(staff_site, pay=None, recruit=None).key, HOUR)
    path = f"/withdraw/{staff_site.live.site.tokens.sign_withdrawal(rater.id)}"
    assert "paid for your time" not in staff_site.stranger().get(path, params={"lang": "en"}).text
