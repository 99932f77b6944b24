"""Pay over HTTP: what owners read and note."""

import re
from html import unescape
from uuid import uuid4

import polars as pl
import pytest
from tests.support.pay import HOUR, worker
from tests.support.pay_pages import PAY_PAGE, QUEUE, address, crowd, note, opened, sums, text_of
from tests.support.staff_browsers import House, send

from dissensus.schema.money import MAX_AMOUNT

one_kind = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def test_from_what_is_owed_to_what_was_paid_and_taken_back(house: House) -> None:
    kept = opened(house)
    rater = worker(house.platform, kept.key, HOUR)
    browser = house.owner()
    assert f'href="{PAY_PAGE}"' in browser.get("/campaigns/pilot").text
    page = browser.get(PAY_PAGE)
    assert sums(page) == ["12.00 GBP", "0.00 GBP", "12.00 GBP"]
    assert f'href="{address(rater)}"' in page.text
    assert f"{rater.id[-8:]} rating 2026-03-01 12:00 0 1 h 0 min 12.00 0.00 12.00" in text_of(page)
    form = browser.get(address(rater))
    assert 'value="12.00"' in form.text
    payment = re.search(r'name="payment" value="([^"]+)"', form.text)
    assert payment is not None
    for _ in range(2):
        done = note(browser, rater, "6.5", payment[1])
        assert (done.status_code, done.headers["location"]) == (303, address(rater))
    page = browser.get(address(rater))
    assert sums(page) == ["12.00 GBP", "6.50 GBP", "5.50 GBP"]
    assert "6.50 GBP , noted by ada, 2026-03-01 12:00 UTC" in text_of(page)
    for _ in range(2):
        send(browser, f"{address(rater)}/take-back", payment=payment[1])
    page = browser.get(address(rater))
    assert sums(page) == ["12.00 GBP", "0.00 GBP", "12.00 GBP"]
    assert "6.50 GBP taken back, noted by ada" in text_of(page)
    assert "Take it back" not in page.text


@one_kind
@pytest.mark.parametrize("amount", ["1e9", "-1", "٣", "", "<b>", str(2**63), "0", "1.005", "٣" * 40, "'; --"])
def test_an_amount_that_is_none_is_told_and_nothing_typed_is_lost(house: House, amount: str) -> None:
    rater = worker(house.platform, opened(house).key, HOUR)
    browser = house.owner()
    page = note(browser, rater, amount)
    assert page.status_code == 422
    assert "is no amount in GBP" in text_of(page)
    typed = re.search(r'id="amount" name="amount" value="([^"]*)"', page.text)
    assert typed is not None
    assert unescape(typed[1]) == amount
    assert "<b>" not in page.text
    assert "Nothing so far" in page.text


@one_kind
def test_the_largest_amount_is_kept(house: House) -> None:
    rater = worker(house.platform, opened(house).key, HOUR)
    browser = house.owner()
    for _ in range(3):
        assert note(browser, rater, f"{MAX_AMOUNT / 100:.2f}").status_code == 303
    assert "64,424,509.41 GBP" in browser.get(PAY_PAGE).text


@one_kind
def test_ids_that_are_none_are_not_found(house: House) -> None:
    rater = worker(house.platform, opened(house).key, HOUR)
    browser = house.owner()
    for path in (f"{PAY_PAGE}/raters/x", f"{PAY_PAGE}/raters/{uuid4()}", f"{QUEUE}/x", f"{QUEUE}/{'0' * 24}"):
        assert browser.get(path).status_code == 404
        assert send(browser, path, amount="1", payment=str(uuid4()), do="approve").status_code == 404
    assert send(browser, f"{address(rater)}/take-back", payment="x").status_code == 404
    assert note(browser, rater, "1", "no id").status_code == 422
    for page in ("0", "-1", "x", "9" * 30):
        assert browser.get(PAY_PAGE, params={"page": page}).status_code == 422


@one_kind
def test_a_campaign_that_neither_pays_nor_recruits_has_no_such_page(house: House) -> None:
    opened(house, pay=None, prolific=None)
    browser = house.owner()
    assert "/pay" not in browser.get("/campaigns/pilot").text
    for path in (PAY_PAGE, f"{PAY_PAGE}.csv", f"{PAY_PAGE}/erase", QUEUE):
        assert browser.get(path).status_code == 404
    assert "Write [pay] into its definition" in browser.get(PAY_PAGE).text


@one_kind
def test_the_accounts_of_somebody_else_are_not_there(house: House) -> None:
    rater = worker(house.platform, opened(house).key, HOUR)
    browser = house.owner("bob")
    for path in (PAY_PAGE, f"{PAY_PAGE}.csv", address(rater), QUEUE):
        assert browser.get(path).status_code == 404
    assert note(browser, rater, "1").status_code == 404


def test_many_raters_make_pages_of_a_hundred_and_their_rows_sum_up(house: House) -> None:
    kept = opened(house)
    crowd(house, kept, 250)
    browser = house.owner()
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
    totals = [f"{table[name].sum():.2f} GBP" for name in ("owed", "paid", "due")]
    assert sums(first) == sums(due) == totals == ["311.25 GBP", "104.58 GBP", "206.67 GBP"]


@one_kind
def test_who_withdraws_reads_that_they_are_paid(house: House) -> None:
    kept = opened(house)
    rater = worker(house.platform, kept.key, HOUR)
    visitor, path = house.stranger(), f"/withdraw/{house.live.site.tokens.withdrawal(rater.id)}"
    assert "You are still paid for your time" in visitor.get(path, params={"lang": "en"}).text
    assert "Ihre Zeit wird weiterhin bezahlt" in visitor.get(path, params={"lang": "de"}).text
    visitor.post(path)
    assert f"{rater.id[-8:]} withdrawn 2026-03-01 12:00 0 1 h 0 min 12.00 0.00 12.00" in text_of(
        house.owner().get(PAY_PAGE)
    )


@one_kind
def test_who_withdraws_where_nothing_is_paid_reads_nothing_of_it(house: House) -> None:
    rater = worker(house.platform, opened(house, pay=None, prolific=None).key, HOUR)
    path = f"/withdraw/{house.live.site.tokens.withdrawal(rater.id)}"
    assert "paid for your time" not in house.stranger().get(path, params={"lang": "en"}).text
