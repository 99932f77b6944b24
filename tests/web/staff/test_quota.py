"""Recruiting to a quota over HTTP: from the link to the owner's page."""

import re
from collections import Counter
from itertools import product
from random import Random
from typing import Any

import pytest
from sqlalchemy import func, select
from tests.support.quota_visitors import AGES, DECLINED, RACES, Group, Person, come, opened, token, visitor
from tests.support.staff_browsers import House, make

from dissensus.store.seats import SeatTable


def crowd(ages: Group, races: Group, *, early: int, leaving: int, late: int) -> list[Person]:
    """So many people of each cell in a random order, of whom some leave before the end, and after them some more."""
    ways: tuple[Any, ...] = ("away after the screener", "away after an item", "withdraws")
    goes = [*(ways[n % 3] for n in range(leaving)), *["all the way"] * (early - leaving)]
    cells = list(product(ages, races))
    rng = Random(5)
    first = [Person(*cell, way) for cell in cells for way in goes]
    last = [Person(*cell, "all the way") for cell in cells * late]
    return rng.sample(first, len(first)) + rng.sample(last, len(last))


def recruited(house: House, key: str, people: list[Person], *, late_from: int) -> Counter[tuple[str, str]]:
    """Let all of them come one after the other, the late ones some hours later, and count how each cell's ended."""
    found: Counter[tuple[str, str]] = Counter()
    for number, person in enumerate(people):
        house.live.clock.forward(hours=3 if number == late_from else 0, minutes=2)
        with visitor(house) as one:
            found[f"{person.age} × {person.race}", come(one, key, person)] += 1
    return found


def seats_of(house: House) -> dict[tuple[str, str], int]:
    with house.platform.database.reading() as tx:
        rows = tx.execute(
            select(SeatTable.cell, SeatTable.state, func.count()).group_by(SeatTable.cell, SeatTable.state)
        )
        return {(cell, state): n for cell, state, n in rows}


@pytest.mark.parametrize(
    ("ages", "races", "seats", "each"),
    [
        pytest.param(AGES[:2], RACES[:2], 2, (4, 2, 2), id="4 cells of 2"),
        pytest.param(AGES, RACES, 10, (12, 3, 3), id="12 cells of 10", marks=pytest.mark.slow),
    ],
)
def test_every_cell_is_recruited_and_none_over_filled(
    house: House, ages: Group, races: Group, seats: int, each: tuple[int, int, int]
) -> None:
    """Of twelve cells of ten, 180 people come, 36 of whom leave early and 36 only when their seats are free again."""
    early, leaving, late = each
    key = opened(house, ages, races, seats=seats)
    people = crowd(ages, races, early=early, leaving=leaving, late=late)
    found = recruited(house, key, people, late_from=len(people) - late * len(ages) * len(races))
    finished = {cell: n for (cell, how), n in found.items() if how == "finished"}
    assert finished == {f"{age} × {race}": seats for age, race in product(ages, races)}
    assert seats_of(house) == {**{(cell, "taken"): seats for cell in finished}, ("rest", "free"): 1}
    page = house.owner().get("/campaigns/pilot/quota").text
    for cell in finished:
        assert numbers(page, cell) == [seats, seats, seats, 0, 0, found[cell, "turned away"]]
    assert numbers(page, "rest") == [1, 1, 0, 0, 1, 0]


def numbers(page: str, cell: str) -> list[int]:
    """What the owner reads of a cell: wanted, let in, finished, under way, free, turned away."""
    row = re.search(rf'<th scope="row">{re.escape(cell)}</th>\s*(.*?)</tr>', page, re.DOTALL)
    assert row, cell
    return list(map(int, re.findall(r'class="n">(\d+)<', row[1])))


def test_who_declines_or_is_in_no_group_has_a_seat_and_no_more_than_there_are(house: House) -> None:
    key = opened(house, AGES, RACES, seats=1)
    with visitor(house) as first, visitor(house) as second:
        assert come(first, key, Person(DECLINED, "White", "all the way")) == "finished"
        assert come(second, key, Person("50+", "Several", "all the way")) == "turned away"


def test_who_was_turned_away_is_not_asked_again(house: House) -> None:
    key = opened(house, AGES, RACES, seats=1)
    with visitor(house) as first, visitor(house) as second:
        come(first, key, Person("50+", "White", "all the way"))
        assert come(second, key, Person("50+", "White", "all the way")) == "turned away"
        assert second.send("/c/pilot/consent", purpose="rating").status_code == 403
        assert "All places are taken" in second.get("/c/pilot", params={"key": key}).text


def test_an_answer_that_is_missing_is_asked_for(house: House) -> None:
    key = opened(house, AGES, RACES, seats=1)
    with visitor(house) as one:
        page = one.enter(key)
        again = one.send("/about-you", form_token=token(page), rater_age="50+")
        assert again.status_code == 422
        assert "<h1>Before you begin</h1>" in again.text
        assert 'value="50+" checked' in again.text
        page = one.send("/about-you", form_token=token(again), rater_age="50+", rater_race="White")
        assert 'id="answers" method="post" action="/rate/' in page.text
        # A form that is sent twice changes nothing.
        again = one.send("/about-you", form_token=token(page), rater_age="18-29", rater_race="Black")
        assert 'id="answers" method="post" action="/rate/' in again.text
    assert {cell for cell, state in seats_of(house) if state == "held"} == {"50+ × White"}


def test_whose_seat_was_given_away_reads_so_and_keeps_what_they_rated(house: House) -> None:
    key = opened(house, AGES, RACES, seats=1)
    with visitor(house) as gone, visitor(house) as next_one:
        come(gone, key, Person("50+", "White", "away after an item"))
        house.live.clock.forward(hours=2)
        assert come(next_one, key, Person("50+", "White", "all the way")) == "finished"
        page = gone.get("/rate")
        assert "<h1>Your place is taken</h1>" in page.text
        assert "<dd>1</dd>" in page.text


def test_a_campaign_without_a_quota_has_no_such_page(house: House) -> None:
    make(house)
    assert house.owner().get("/campaigns/pilot/quota").status_code == 404


def test_the_quota_of_somebody_else_is_not_there(house: House) -> None:
    opened(house, AGES, RACES, seats=1)
    assert house.owner("bob").get("/campaigns/pilot/quota").status_code == 404
