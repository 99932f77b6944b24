"""Conversations and attempts over the API give what their pages give."""

from typing import TYPE_CHECKING, Any

import pytest
from tests.databases import sqlite_only
from tests.support.api_programs import API, add_member, program, rows, token
from tests.support.attack_attempts import ATTACK, add_attempt
from tests.support.campaigns import NOW
from tests.support.chat_campaigns import begin_chat, finish_chat, open_chat_campaign
from tests.support.raters import enter
from tests.support.staff_site import StaffSite

from dissensus import Client
from dissensus.pipeline.collect.chat import ResponsePick
from dissensus.store.raters import RaterRow
from dissensus.workflows.platform import sign_in_links
from dissensus.workflows.rater import withdrawal

if TYPE_CHECKING:
    from dissensus.schema.campaign.roles import Role

CHATS = f"{API}/pilot/conversations"


@pytest.fixture
def rater(staff_site: StaffSite) -> RaterRow:
    """A red-teamer with two attempts, a helpful and an open conversation, beside another red-teamer."""
    owner_id = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id
    campaign = open_chat_campaign(staff_site.platform, staff_id=owner_id, chat={"max_conversations": 9})
    first, second = enter(staff_site.platform, campaign.key), enter(staff_site.platform, campaign.key)
    add_attempt(staff_site.platform, first, ATTACK, 4)
    add_attempt(staff_site.platform, first, "Write to ann@example.org.", 0)
    finish_chat(staff_site.platform, first, ResponsePick(strength=-1, edit="A better one."), "helpful")
    begin_chat(staff_site.platform, first)
    add_attempt(staff_site.platform, second, "May I swim?", 3)
    return first


def test_conversations_are_listed_filtered_and_erased(staff_site: StaffSite, rater: RaterRow) -> None:
    http = program(staff_site)
    for order in ("latest", "success", "turns"):
        listed = rows(http, CHATS, order=order)
        assert len({one["id"] for one in listed}) == len(listed) == 5, order
    for query, n in (({"search": "ann@"}, 1), ({"state": "open"}, 1), ({"success": 3}, 1), ({"rater_number": 2}, 1)):
        assert len(rows(http, CHATS, **query)) == n, query
    (helpful,) = rows(http, CHATS, outcome="improved")
    (exchange,) = helpful["exchanges"]
    assert exchange["pick"] == {"strength": -1, "edit": "A better one."}
    assert [one["text"] for one in exchange["candidates"]] == ["Response A", "Response B"]
    assert (helpful["rater"], helpful["rater_number"], helpful["mode"]) == (rater.id, 1, "helpful")
    warning = http.get(CHATS).json()["warnings"]
    assert warning
    assert all(line.startswith("Content warning: ") for line in warning)
    assert http.get(f"{CHATS}/{helpful['id']}").json() == {**helpful, "warnings": warning}
    assert http.get(f"{API}/pilot/attempts").json()["warnings"] == warning
    assert rows(http, CHATS, search="ann@")[0]["personal_data"] == ["email_address"]
    withdrawal.withdraw_rater(staff_site.platform, rater.id, now=NOW)
    assert len(rows(http, CHATS)) == 1
    assert http.get(f"{CHATS}/{helpful['id']}").status_code == 404


@sqlite_only
def test_the_client_reads_conversations_and_attempts(staff_site: StaffSite, rater: RaterRow) -> None:
    with Client(staff_site.live.url, token(staff_site.platform, "ada")) as client:
        attempts = client.chats.attempts("pilot")
        chats = list(client.chats.conversations("pilot", search="ann@"))
        assert client.chats.conversation("pilot", chats[0].id).exchanges == chats[0].exchanges
        assert len(list(client.chats.conversations("pilot", state="open"))) == 1
    assert (attempts.n_attempts, attempts.n_red_teamers, attempts.success[0].success.estimate) == (3, 2, 2 / 3)
    assert [(one.rater_number, one.n, one.n_successful) for one in attempts.red_teamers] == [(1, 2, 1), (2, 1, 1)]
    assert attempts.personal_data == {"email_address": 1}
    assert [chat.exchanges[0].message for chat in chats] == ["Write to ann@example.org."]
    assert chats[0].rater == rater.id


@sqlite_only
@pytest.mark.usefixtures("rater")
def test_conversations_need_the_role_of_their_pages(staff_site: StaffSite) -> None:
    roles: tuple[tuple[Role, int], ...] = (("reviewer", 200), ("analyst", 403), ("observer", 403))
    for role, status in roles:
        add_member(staff_site, role, role)
        for path in (CHATS, f"{API}/pilot/attempts"):
            assert program(staff_site, role).get(path).status_code == status, (role, path)
    http = program(staff_site)
    wrong: dict[str, Any] = {
        "mode": "x",
        "tag": "x",
        "chatbot": "x",
        "outcome": "x",
        "order": "x",
        "success": 5,
        "rater_number": 0,
    }
    for name, value in wrong.items():
        assert http.get(CHATS, params={name: value}).status_code == 422, name
    after = http.get(CHATS, params={"limit": 1}).json()["next"]
    assert http.get(CHATS, params={"limit": 1, "after": after, "order": "turns"}).status_code == 422
    for path in ("ratings", "figures"):
        answer = http.get(f"{API}/pilot/{path}")
        detail = answer.json()["detail"]
        assert answer.status_code == 404, path
        assert {"/campaigns/pilot/conversations,", "/campaigns/pilot/attempts"} <= set(detail.split()), detail
