"""The same request twice makes one thing, and has one answer."""

import base64
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from sqlalchemy import delete, select
from tests.support.api_programs import API, belongs, program
from tests.support.campaigns import NOW, definition
from tests.support.staff_browsers import House, make

from dissensus.store.api_tokens import ApiTokenTable
from dissensus.store.core.idempotency import IdempotencyTable
from dissensus.workflows.campaign import members
from dissensus.workflows.campaign.overview import load_overview
from dissensus.workflows.platform import staff
from dissensus.workflows.platform.jobs import default_jobs

one_kind = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
INVITE = f"{API}/pilot/invitations"


def n_invited(house: House) -> int:
    owner_id = staff.find_or_create_owner(house.platform, "ada", now=house.live.clock()).id
    return load_overview(house.platform, "pilot", staff_id=owner_id).numbers.n_invited


def test_the_same_again_has_the_same_answer_for_a_day(house: House) -> None:
    make(house)
    http, once = program(house), {"idempotency-key": str(uuid4())}
    first = http.post(INVITE, json={"n": 2}, headers=once)
    again = http.post(INVITE, json={"n": 2}, headers=once)
    assert (first.status_code, first.content) == (again.status_code, again.content) == (201, again.content)
    assert again.headers["idempotency-replayed"] == "true"
    assert again.headers["content-type"] == first.headers["content-type"]
    assert n_invited(house) == 2
    other = http.post(INVITE, json={"n": 3}, headers=once)
    assert (other.status_code, "another request's" in other.json()["detail"]) == (409, True)
    house.live.clock.forward(hours=24, seconds=1)
    assert http.post(INVITE, json={"n": 2}, headers=once).json() != first.json()
    assert n_invited(house) == 4


def test_many_at_once_make_one(house: House) -> None:
    http, once = program(house), {"idempotency-key": "once"}
    sent = {"definition": definition().as_mapping()}
    with ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(lambda _: http.post(API, json=sent, headers=once), range(6)))
    assert {answer.status_code for answer in answers} <= {201, 409}
    assert len({answer.content for answer in answers if answer.status_code == 201}) == 1
    waiting = [answer for answer in answers if answer.status_code == 409]
    assert all(answer.headers["retry-after"] == "1" for answer in waiting)
    assert http.post(API, json=sent, headers=once).status_code == 201
    assert len(http.get(API).json()["data"]) == 1


@one_kind
def test_what_made_nothing_can_be_made_right(house: House) -> None:
    make(house)
    http, once = program(house), {"idempotency-key": "once"}
    for wrong, status in (({"n": 0}, 422), ({"n": 1, "cell": "old"}, 404)):
        assert http.post(INVITE, json=wrong, headers=once).status_code == status
    assert http.post(INVITE, json={"n": 1}, headers=once).status_code == 201


@one_kind
def test_a_key_is_of_one_token(house: House) -> None:
    make(house)
    once = {"idempotency-key": "once"}
    links = [program(house).post(INVITE, json={"n": 1}, headers=once).json()["links"] for _ in range(2)]
    assert links[0] != links[1]


def test_who_may_not_do_it_any_more_gets_no_answer_again(house: House) -> None:
    owner_id = make(house)
    belongs(house, "ben", "owner")
    ben, once = program(house, "ben"), {"idempotency-key": "once"}
    assert ben.post(INVITE, json={"n": 1}, headers=once).status_code == 201
    members.change_role(house.platform, "pilot", "ben", "analyst", staff_id=owner_id, now=NOW)
    assert ben.post(INVITE, json={"n": 1}, headers=once).status_code == 403
    members.remove_member(house.platform, "pilot", "ben", staff_id=owner_id, now=NOW)
    assert ben.post(INVITE, json={"n": 1}, headers=once).status_code == 404


@one_kind
@pytest.mark.parametrize("key", ["", "x" * 65, "a\tb", "é"])
def test_keys_that_are_none(house: House, key: str) -> None:
    make(house)
    refused = program(house).post(INVITE, json={"n": 1}, headers={b"idempotency-key": key.encode()})
    assert (refused.status_code, "1 to 64 printable" in refused.json()["detail"]) == (422, True)
    assert n_invited(house) == 0


@one_kind
def test_links_cannot_be_read_from_the_database(house: House) -> None:
    make(house)
    (link,) = program(house).post(INVITE, json={"n": 1}, headers={"idempotency-key": "k"}).json()["links"]
    with house.platform.database.reading() as tx:
        rows = tx.execute(select(IdempotencyTable.__table__)).mappings().all()
    assert len(rows) == 1
    assert rows[0]["status"] == 201
    assert link.partition("key=")[2].encode() not in base64.b64decode(rows[0]["encrypted_body"])


def test_old_ones_are_forgotten_beside_the_site_and_with_the_token(house: House) -> None:
    make(house)
    http, job = program(house), default_jobs()["forget answers"]
    http.post(INVITE, json={"n": 1}, headers={"idempotency-key": "k"})
    assert job(house.platform, house.live.clock()) == 0
    house.live.clock.forward(hours=24, seconds=1)
    assert job(house.platform, house.live.clock()) == 1
    http.post(INVITE, json={"n": 1}, headers={"idempotency-key": "k"})
    with house.platform.database.writing() as tx:
        tx.execute(delete(ApiTokenTable))
        assert tx.execute(select(IdempotencyTable.key)).all() == []
