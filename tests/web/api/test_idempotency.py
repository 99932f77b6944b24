"""A repeated request with an idempotency key creates one resource and has one response."""

import base64
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from sqlalchemy import delete, select, update
from tests.databases import sqlite_only
from tests.support.api_programs import API, add_member, program
from tests.support.campaigns import NOW, definition
from tests.support.staff_site import StaffSite, create_draft

from dissensus.store.core.idempotency import IdempotencyTable
from dissensus.store.identity.api_tokens import ApiTokenTable
from dissensus.workflows.campaign import members
from dissensus.workflows.campaign.overview import load_overview
from dissensus.workflows.jobs import default_jobs
from dissensus.workflows.platform import staff
from dissensus.workflows.platform.idempotency import MAX_KEY_LENGTH

INVITE = f"{API}/pilot/invitations"


def n_invited(staff_site: StaffSite) -> int:
    owner_id = staff.find_or_create_owner(staff_site.platform, "ada", now=staff_site.live.clock()).id
    return load_overview(staff_site.platform, "pilot", staff_id=owner_id).numbers.n_invited


def test_a_repeated_key_replays_the_response_for_a_day(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    http, once = program(staff_site), {"idempotency-key": str(uuid4())}
    first = http.post(INVITE, json={"n": 2}, headers=once)
    repeated = http.post(INVITE, json={"n": 2}, headers=once)
    assert (first.status_code, repeated.status_code) == (201, 201)
    assert repeated.content == first.content
    assert repeated.headers["idempotency-replayed"] == "true"
    assert repeated.headers["content-type"] == first.headers["content-type"]
    assert n_invited(staff_site) == 2
    other = http.post(INVITE, json={"n": 3}, headers=once)
    assert (other.status_code, "used for another request" in other.json()["detail"]) == (409, True)
    staff_site.live.clock.forward(hours=24)
    assert http.post(INVITE, json={"n": 2}, headers=once).content == first.content
    staff_site.live.clock.forward(seconds=1)
    assert http.post(INVITE, json={"n": 2}, headers=once).json() != first.json()
    assert n_invited(staff_site) == 4


@sqlite_only
def test_a_request_in_progress_is_not_repeated(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    http, once = program(staff_site), {"idempotency-key": "once"}
    http.post(INVITE, json={"n": 2}, headers=once).raise_for_status()
    with staff_site.platform.database.writing() as tx:
        tx.execute(update(IdempotencyTable).values(status=None, encrypted_body=""))
    refused = http.post(INVITE, json={"n": 2}, headers=once)
    assert (refused.status_code, "is in progress" in refused.json()["detail"]) == (409, True)
    assert refused.headers["retry-after"] == "1"
    assert n_invited(staff_site) == 2


def test_concurrent_requests_with_one_key_create_one_resource(staff_site: StaffSite) -> None:
    http, once = program(staff_site), {"idempotency-key": "once"}
    fields = {"definition": definition().as_mapping()}
    with ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(lambda _: http.post(API, json=fields, headers=once), range(6)))
    assert {answer.status_code for answer in answers} <= {201, 409}
    assert len({answer.content for answer in answers if answer.status_code == 201}) == 1
    waiting = [answer for answer in answers if answer.status_code == 409]
    assert all(answer.headers["retry-after"] == "1" for answer in waiting)
    assert http.post(API, json=fields, headers=once).status_code == 201
    assert len(http.get(API).json()["data"]) == 1


@sqlite_only
def test_a_failed_request_can_be_corrected_with_the_same_key(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    http, once = program(staff_site), {"idempotency-key": "once"}
    for wrong, status in (({"n": 0}, 422), ({"n": 1, "cell": "old"}, 404)):
        assert http.post(INVITE, json=wrong, headers=once).status_code == status
    assert http.post(INVITE, json={"n": 1}, headers=once).status_code == 201


@sqlite_only
def test_keys_are_separate_for_each_token(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    once = {"idempotency-key": "k" * MAX_KEY_LENGTH}
    links = [program(staff_site).post(INVITE, json={"n": 1}, headers=once).json()["links"] for _ in range(2)]
    assert links[0] != links[1]


def test_a_response_is_not_replayed_without_permission(staff_site: StaffSite) -> None:
    owner_id = create_draft(staff_site)
    add_member(staff_site, "ben", "owner")
    ben, once = program(staff_site, "ben"), {"idempotency-key": "once"}
    assert ben.post(INVITE, json={"n": 1}, headers=once).status_code == 201
    members.change_role(staff_site.platform, "pilot", "ben", "analyst", staff_id=owner_id, now=NOW)
    assert ben.post(INVITE, json={"n": 1}, headers=once).status_code == 403
    members.remove_member(staff_site.platform, "pilot", "ben", staff_id=owner_id, now=NOW)
    assert ben.post(INVITE, json={"n": 1}, headers=once).status_code == 404


@sqlite_only
@pytest.mark.parametrize("key", ["", "k" * (MAX_KEY_LENGTH + 1), "a\tb", "é"])
def test_invalid_keys_are_rejected(staff_site: StaffSite, key: str) -> None:
    create_draft(staff_site)
    refused = program(staff_site).post(INVITE, json={"n": 1}, headers={b"idempotency-key": key.encode()})
    assert (refused.status_code, "1 to 64 printable" in refused.json()["detail"]) == (422, True)
    assert n_invited(staff_site) == 0


@sqlite_only
def test_links_cannot_be_read_from_the_database(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    (link,) = program(staff_site).post(INVITE, json={"n": 1}, headers={"idempotency-key": "k"}).json()["links"]
    with staff_site.platform.database.reading() as tx:
        rows = tx.execute(select(IdempotencyTable.__table__)).mappings().all()
    assert len(rows) == 1
    assert rows[0]["status"] == 201
    assert link.partition("key=")[2].encode() not in base64.b64decode(rows[0]["encrypted_body"])


def test_expired_keys_are_deleted_by_the_job_and_with_the_token(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    http, job = program(staff_site), default_jobs()["delete expired responses"]
    http.post(INVITE, json={"n": 1}, headers={"idempotency-key": "k"})
    assert job(staff_site.platform, staff_site.live.clock()) == 0
    staff_site.live.clock.forward(hours=24, seconds=1)
    assert job(staff_site.platform, staff_site.live.clock()) == 1
    http.post(INVITE, json={"n": 1}, headers={"idempotency-key": "k"})
    with staff_site.platform.database.writing() as tx:
        tx.execute(delete(ApiTokenTable))
        assert tx.execute(select(IdempotencyTable.key)).all() == []
