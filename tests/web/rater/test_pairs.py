"""Pair comparison over HTTP, from the file of pairs to a trained model."""

import gzip
import json
import re
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import polars as pl
import pytest
from tests.databases import sqlite_only
from tests.support.api_programs import token
from tests.support.campaigns import NOW, owner
from tests.support.html_forms import press
from tests.support.live_site import LiveSite, hidden
from tests.support.pair_campaigns import open_pair_campaign, pair_definition, pairs
from tests.support.staff_site import StaffSite

import dissensus
from dissensus.errors import InvalidInput
from dissensus.files.pairs.items import read_pair_items
from dissensus.files.pairs.reader import read_pairs
from dissensus.files.pairs.votes import read_pair_files, read_people
from dissensus.preference import evaluate, train
from dissensus.preference.fit.linear import fit_length
from dissensus.schema.campaign.definition import write_campaign
from dissensus.schema.records.preference import Criterion
from dissensus.store.answer_drafts import load_saves
from dissensus.store.assignments import AssignmentTable
from dissensus.workflows.campaign import audit, campaigns
from dissensus.workflows.campaign.monitoring import MonitoringCache, refresh_snapshots
from dissensus.workflows.export import ratings as ratings_workflow
from dissensus.workflows.export.pairs import export_pairs

if TYPE_CHECKING:
    from dissensus.preference.data.pairs import Purpose

PAIR = {"context": "Is it safe?", "response_a": "No.", "response_b": "Sure!"}


def responses(page: httpx.Response) -> list[str]:
    """Both responses, from left to right."""
    match = re.search(r'<div class="candidates">(.*?)</div>\s*</div>\s*</section>', page.text, re.DOTALL)
    candidates = page.text if match is None else match.group(1)
    matches = re.findall(r'<strong>[AB]</strong></p>\s*<div class="message"[^>]*>(.*?)</div>', candidates, re.DOTALL)
    return [unescape(one) for one in matches]


def is_better(text: str) -> bool:
    return text.startswith("Please")


def corpus(folder: Path, n: int) -> Path:
    """Pairs in the format of TRL; the polite response is better, and half of the labels are wrong."""
    path = folder / "pairs.jsonl"
    rows = []
    for i in range(n):
        responses = [f"Please do not, number {i} is not safe.", f"Sure, go on, number {i} is fun!"]
        chosen, rejected = responses if i % 2 else responses[::-1]
        rows.append({"prompt": f"May I do number {i}?", "chosen": chosen, "rejected": rejected})
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


def compare(live: LiveSite, key: str, age: str, criterion: Criterion, *, polite: bool) -> None:
    """A rater with a fixed preference who rates everything."""
    visitor = live.visitor()
    page = visitor.enter(key)
    while "Q_preference" in page.text:
        first, _ = responses(page)
        # All raters agree on one pair.
        likes_better = polite or "number 0 " in first
        picks_better = likes_better is (criterion != "more harmful")
        page = visitor.rate(page, Q_preference="-3" if is_better(first) is picks_better else "2")
    end = visitor.send("/about-you", form_token=hidden(page)["form_token"], rater_age=age)
    assert "Thank you" in end.text


@sqlite_only
@pytest.mark.slow
@pytest.mark.parametrize("criterion", ["more helpful", "more harmful", "less harmful"])
def test_preferences_of_two_groups_can_be_exported_and_learned(
    staff_site: StaffSite, criterion: Criterion, tmp_path: Path
) -> None:
    live = staff_site.live
    campaign = pair_definition(pair={"criterion": criterion}, break_every=0)
    items, _ = read_pair_items(corpus(tmp_path, 16), seed=campaign.seed)
    staff_id = owner(live.platform.database)
    campaigns.create_campaign(live.platform, campaign, items, staff_id=staff_id, now=NOW)
    key = campaigns.change_state(live.platform, "pilot", "open", staff_id=staff_id, now=NOW).key
    for age, polite in (("old", True), ("old", True), ("young", False)):
        compare(live, str(key), age, criterion, polite=polite)
    refresh_snapshots(live.platform, MonitoringCache(), now=NOW)
    watched = staff_site.owner("owner").get("/campaigns/pilot/monitoring")
    assert "Q_preference" in watched.text
    done = export_pairs(live.platform, "pilot", tmp_path / "out", now=NOW)
    assert (done.n_preferences, done.n_raters, done.n_pairs) == (48, 3, 16)

    # Ratings have the criterion, the answer and the displayed side.
    exported = pl.read_parquet(tmp_path / "out" / "ratings.parquet").to_dicts()
    assert len({rating["rater_id"] for rating in exported}) == 3
    assert {rating["shown_first"] for rating in exported} == {"a", "b"}
    for rating in exported:
        strength = int(rating["Q_preference"])
        picked = "b" if strength > 0 else "a"
        better = is_better(rating["item_response_b"] if picked == "b" else rating["response"])
        polite = rating["rater_age"] == "old" or "number 0 " in rating["response"]
        assert better is (polite is (criterion != "more harmful"))
        assert abs(strength) == (3 if picked == rating["shown_first"] else 2)
        assert rating["item_published"] in "ab"

    # Exported preferences agree with the ratings, and have the group of the rater.
    purpose: Purpose = "helpful" if criterion == "more helpful" else "harmless"
    people = read_people(tmp_path / "out" / "raters.jsonl")
    assert sorted(groups["rater_age"] for groups in people.values()) == ["old", "old", "young"]
    votes = read_pair_files([tmp_path / "out" / "preferences.jsonl"], purpose=purpose, people=people).pairs
    assert len(votes) == 48
    for vote in votes:
        polite = dict(vote.groups)["rater_age"] == "old" or "number 0 " in vote.chosen + vote.rejected
        assert is_better(vote.chosen) is polite

    # The preferred response is the chosen one, for any criterion and original label.
    files = sorted((tmp_path / "out" / "pairs" / f"{purpose}-base").glob("*.jsonl.gz"))
    for path in files:
        for row in gzip.decompress(path.read_bytes()).decode().splitlines():
            assert "Please" in json.loads(row)["chosen"]
            assert "Sure" in json.loads(row)["rejected"]
    twins = pl.concat([pl.read_parquet(path.with_suffix("").with_suffix(".parquet")) for path in files])
    assert set(twins["criterion"]) == {criterion}

    model = train(read_pairs(files[-1]).pairs, purpose=purpose)
    talk = [("human", "And now?")]
    sides = [("bot", "Please do not, it is not safe."), ("bot", "Sure, go on, it is fun!")]
    calm, rude = (dissensus.Conversation.from_turns([*talk, side]) for side in sides)  # type: ignore[list-item]
    (good,), (bad,) = model.score([calm, rude])
    assert good > bad

    # Accuracy by group, and by agreement of the raters.
    each = read_pairs(tmp_path / "out" / f"{purpose}-by-rater.jsonl").pairs
    evaluation = evaluate(each, model.margins(each), fit_length(each))
    slices = {(rating.by, rating.value): rating.accuracy.estimate for rating in evaluation.slices}
    assert (slices["rater_age", "old"], slices["rater_age", "young"]) == (1.0, 1 / 16)
    assert (slices["raters were", "unanimous"], slices["raters were", "split"]) == pytest.approx((1, 2 / 3))

    # The ratings have the usual format.
    ratings = dissensus.read_ratings(tmp_path / "out" / "ratings.parquet", questions=["Q_preference"])
    analysis = dissensus.analyse(ratings, by=["rater_age"])
    assert {row.group for row in analysis.rows} >= {"old", "young"}
    csv = tmp_path / "ratings.csv"
    ratings_workflow.export_ratings(live.platform, "pilot", csv, now=NOW)
    assert dissensus.read_ratings(csv).scale("Q_preference")[0] == "-3"


@sqlite_only
def test_preferences_are_stored_by_item_and_shown_by_side(live: LiveSite) -> None:
    key = str(open_pair_campaign(live.platform, 6).key)
    visitor = live.visitor()
    page = visitor.enter(key)
    for number in range(6):
        on_left, on_right = responses(page)
        assert {on_left[:5], on_right[:5]} == {"Long ", "Short"}
        if number == 0:
            # Save a draft, reload it, and correct the answer with the back button.
            assert visitor.save(page, {"Q_preference": "-1"}).json() == {"revision": 1}
            reloaded = visitor.get("/rate")
            assert responses(reloaded) == [on_left, on_right]
            assert re.search(r'value="-1"[^>]*checked', reloaded.text)
        first = page
        page = visitor.rate(page, Q_preference="-2" if on_left.startswith("Long") else "2")
        if number == 0:
            visitor.rate(first, Q_preference="-3" if on_left.startswith("Long") else "3")
    with live.platform.database.reading() as tx:
        rows = tx.execute(AssignmentTable.__table__.select()).all()
        saves = load_saves(tx, [row.id for row in rows], final=True)
    assert {row.shown_first for row in rows} == {"a", "b"}
    answers = sorted(saves[row.id][-1].answers["Q_preference"].value for row in rows)  # type: ignore[type-var]
    assert answers == ["-2"] * 5 + ["-3"]
    audit.link_pending_events(live.platform)
    assert audit.audit_campaign(live.platform, "pilot").holds


@sqlite_only
def test_the_order_of_responses_is_not_disclosed(live: LiveSite) -> None:
    key = str(open_pair_campaign(live.platform, 6).key)
    visitor = live.visitor()
    page = visitor.enter(key)
    body = visitor.get("/rate", headers={"accept": "application/json"}).json()
    assert body["responses"] == responses(page)
    assert [turn["speaker"] for turn in body["turns"]] == ["human"]
    texts = page.text + json.dumps(body)
    for word in ("published", "shown_first", "response_b", "pair-"):
        assert word not in texts


@sqlite_only
@pytest.mark.parametrize("answer", ["0", "4", "x", "", None])
def test_invalid_preferences_are_asked_for_again(live: LiveSite, answer: str | None) -> None:
    key = str(open_pair_campaign(live.platform, 1, pair={"criterion": "less harmful"}).key)
    visitor = live.visitor()
    page = visitor.enter(key)
    refused = visitor.rate(page, **({} if answer is None else {"Q_preference": answer}))
    assert refused.status_code == 422
    assert "Which response is less harmful?" in refused.text
    assert responses(refused) == responses(page)


def test_programs_add_and_list_pairs(staff_site: StaffSite) -> None:
    with dissensus.Client(staff_site.live.url, token(staff_site.platform, "ada")) as client:
        client.create(pair_definition().as_mapping(), pairs(2))
        assert client.add_items("pilot", [dissensus.Item("x", pairs(1)[0].conversation, response_b="")]) == 3
        stored = list(client.items("pilot"))
        assert [item.response_b for item in stored] == ["Short 0.", "Short 1.", ""]
        assert stored[:2] == list(pairs(2))
        with pytest.raises(InvalidInput, match="Item 'y', number 1, has one response"):
            client.add_items("pilot", [dissensus.Item("y", pairs(1)[0].conversation)])


@sqlite_only
@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.jsonl", json.dumps(PAIR), "Sure!"),
        ("a.jsonl", json.dumps({"context": "a", "response": "b"}), "No column holds pairs."),
        ("a.jsonl", json.dumps({**PAIR, "response_b": None}), "Row 1: response_b is missing"),
        ("a.txt", "User: a\nBot: b", "is pasted text"),
    ],
)
def test_an_owner_uploads_pairs(staff_site: StaffSite, name: str, content: str, says: str) -> None:
    browser = staff_site.owner()
    blank = browser.get("/campaigns/new")
    definition = write_campaign(pair_definition())
    understood = press(browser, blank, "Preview", (name, content.encode()), definition=definition)
    assert says in unescape(understood.text)
    if understood.status_code == 200:
        response = press(browser, understood, "Create campaign")
        assert response.headers["location"] == "/campaigns/pilot"
        page = unescape(browser.get("/campaigns/pilot").text)
        assert "Sure!" in page
        assert "which is more helpful, or both equally" in page
