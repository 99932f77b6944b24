"""Recruiting to a quota over HTTP: from the link to the owner's page."""

import re
from collections import Counter
from itertools import product
from random import Random
from typing import Any

import pytest
from sqlalchemy import func, select
from tests.databases import sqlite_only
from tests.support.quota_visitors import (
    AGES,
    DECLINED,
    RACES,
    Group,
    Person,
    open_quota_campaign,
    token,
    visit,
    visitor,
)
from tests.support.staff_site import StaffSite, create_draft

from dissensus.store.seats import SeatTable


def list_people(ages: Group, races: Group, *, early: int, leaving: int, late: int) -> list[Person]:
    """Visitors of each cell in random order; some leave early, and more follow."""
    ways: tuple[Any, ...] = ("away after the screener", "away after an item", "withdraws")
    goes = [*(ways[n % 3] for n in range(leaving)), *["all the way"] * (early - leaving)]
    cells = list(product(ages, races))
    rng = Random(5)
    first = [Person(*cell, way) for cell in cells for way in goes]
    last = [Person(*cell, "all the way") for cell in cells * late]
    return rng.sample(first, len(first)) + rng.sample(last, len(last))


def recruit(staff_site: StaffSite, key: str, people: list[Person], *, late_from: int) -> Counter[tuple[str, str]]:
    """Let all people visit in order, late ones some hours later; count the outcomes by cell."""
    outcomes: Counter[tuple[str, str]] = Counter()
    for number, person in enumerate(people):
        staff_site.live.clock.forward(hours=3 if number == late_from else 0, minutes=2)
        with visitor(staff_site) as browser:
            outcomes[f"{person.age} × {person.race}", visit(browser, key, person)] += 1
    return outcomes


def seats_of(staff_site: StaffSite) -> dict[tuple[str, str], int]:
    with staff_site.platform.database.reading() as tx:
        rows = tx.execute(
            select(SeatTable.cell, SeatTable.state, func.count()).group_by(SeatTable.cell, SeatTable.state)
        )
        return {(cell, state): n for cell, state, n in rows}


FEW = (AGES[:2], RACES[:2], 2, (4, 2, 2))
MANY = (AGES, RACES, 3, (5, 2, 2))


# The statements of each database are those of a few cells, and concurrent entries are in tests of seats.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("database_url", "ages", "races", "seats", "each"),
    [
        pytest.param("sqlite", *FEW, id="sqlite-4 cells of 2"),
        pytest.param("postgresql", *FEW, id="postgresql-4 cells of 2", marks=pytest.mark.slow),
        pytest.param("sqlite", *MANY, id="sqlite-12 cells of 3", marks=pytest.mark.slow),
    ],
    indirect=["database_url"],
)
def test_all_cells_fill_and_none_overfills(
    staff_site: StaffSite, ages: Group, races: Group, seats: int, each: tuple[int, int, int]
) -> None:
    """Of the visitors of each cell two leave early, and two arrive after seats are free again."""
    early, leaving, late = each
    key = open_quota_campaign(staff_site, ages, races, seats=seats)
    people = list_people(ages, races, early=early, leaving=leaving, late=late)
    outcomes = recruit(staff_site, key, people, late_from=len(people) - late * len(ages) * len(races))
    finished = {cell: n for (cell, how), n in outcomes.items() if how == "finished"}
    assert finished == {f"{age} × {race}": seats for age, race in product(ages, races)}
    assert seats_of(staff_site) == {**{(cell, "taken"): seats for cell in finished}, ("rest", "free"): 1}
    page = staff_site.owner().get("/campaigns/pilot/quota").text
    for cell in finished:
        assert numbers(page, cell) == [seats, seats, seats, 0, 0, outcomes[cell, "turned away"]]
    assert numbers(page, "rest") == [1, 1, 0, 0, 1, 0]


def numbers(page: str, cell: str) -> list[int]:
    """Numbers of a cell on the page: target, entered, finished, in progress, free, turned away."""
    row = re.search(rf'<th scope="row">{re.escape(cell)}</th>\s*(<td class="n".*?)</tr>', page, re.DOTALL)
    assert row, cell
    return list(map(int, re.findall(r'class="n"[^>]*>(\d+)<', row[1])))


@sqlite_only
def test_raters_outside_all_groups_have_a_limited_number_of_seats(staff_site: StaffSite) -> None:
    key = open_quota_campaign(staff_site, AGES, RACES, seats=1)
    with visitor(staff_site) as first, visitor(staff_site) as second:
        assert visit(first, key, Person(DECLINED, "White", "all the way")) == "finished"
        assert visit(second, key, Person("50+", "Several", "all the way")) == "turned away"
    page = staff_site.owner().get("/campaigns/pilot/quota").text
    cell, *_ = re.findall(r'<th scope="row">rest</th>\s*<td([^>]*)>', page)
    assert f'colspan="{len(RACES)}"' in cell
    assert "data-label" not in cell


@sqlite_only
def test_turned_away_visitors_are_not_screened_again(staff_site: StaffSite) -> None:
    key = open_quota_campaign(staff_site, AGES, RACES, seats=1)
    with visitor(staff_site) as first, visitor(staff_site) as second:
        visit(first, key, Person("50+", "White", "all the way"))
        assert visit(second, key, Person("50+", "White", "all the way")) == "turned away"
        assert second.send("/c/pilot/consent", purpose="rating").status_code == 403
        assert "All places are taken" in second.get("/c/pilot", params={"key": key}).text


def test_missing_screener_answers_are_asked_for(staff_site: StaffSite) -> None:
    key = open_quota_campaign(staff_site, AGES, RACES, seats=1)
    with visitor(staff_site) as browser:
        page = browser.enter(key)
        refused = browser.send("/about-you", form_token=token(page), rater_age="50+")
        assert refused.status_code == 422
        assert "<h1>Before you begin</h1>" in refused.text
        assert 'value="50+" checked' in refused.text
        page = browser.send("/about-you", form_token=token(refused), rater_age="50+", rater_race="White")
        assert 'id="answers" method="post" action="/rate/' in page.text
        # A repeated form changes nothing.
        refused = browser.send("/about-you", form_token=token(page), rater_age="18-29", rater_race="Black")
        assert 'id="answers" method="post" action="/rate/' in refused.text
    assert {cell for cell, state in seats_of(staff_site) if state == "held"} == {"50+ × White"}


@sqlite_only
def test_a_rater_who_lost_the_seat_keeps_their_ratings(staff_site: StaffSite) -> None:
    key = open_quota_campaign(staff_site, AGES, RACES, seats=1)
    with visitor(staff_site) as late_browser, visitor(staff_site) as next_one:
        visit(late_browser, key, Person("50+", "White", "away after an item"))
        staff_site.live.clock.forward(hours=2)
        assert visit(next_one, key, Person("50+", "White", "all the way")) == "finished"
        page = late_browser.get("/rate")
        assert "<h1>Your place is taken</h1>" in page.text
        assert "<dd>1</dd>" in page.text


@sqlite_only
def test_a_campaign_without_a_quota_has_no_such_page(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    assert staff_site.owner().get("/campaigns/pilot/quota").status_code == 404


@sqlite_only
def test_quotas_of_others_are_not_found(staff_site: StaffSite) -> None:
    open_quota_campaign(staff_site, AGES, RACES, seats=1)
    assert staff_site.owner("bob").get("/campaigns/pilot/quota").status_code == 404
