"""Two responses compared over HTTP, from a file of pairs to what is trained on what came of it."""

import gzip
import json
import re
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import polars as pl
import pytest
from tests.support.api_programs import token
from tests.support.campaigns import NOW, TWO_QUESTIONS, owner
from tests.support.html_forms import press
from tests.support.live_site import Live, hidden
from tests.support.pair_campaigns import comparing, opened, pairs
from tests.support.staff_browsers import House

import dissensus
from dissensus.errors import Conflict, InvalidInput
from dissensus.files.pairs.items import read_pair_items
from dissensus.files.pairs.reader import read_pairs
from dissensus.files.pairs.votes import read_pair_files, read_people
from dissensus.preference import evaluate, train
from dissensus.preference.fit.linear import fit_length
from dissensus.schema.campaign.writer import write_campaign
from dissensus.schema.records.preference import Criterion
from dissensus.store.answer_drafts import load_saves
from dissensus.store.assignments import AssignmentTable
from dissensus.workflows.campaign import audit, campaigns, rehearsal
from dissensus.workflows.campaign.monitoring import MonitoringCache, refresh_snapshots
from dissensus.workflows.export import ratings as ratings_workflow
from dissensus.workflows.export.pairs import export_pairs

if TYPE_CHECKING:
    from dissensus.preference.data.pairs import Purpose

ONE = {"context": "Is it safe?", "response_a": "No.", "response_b": "Sure!"}


def responses(page: httpx.Response) -> list[str]:
    """Both responses, from left to right."""
    found = re.search(r'<div class="candidates">(.*?)</div>\s*</div>\s*</section>', page.text, re.DOTALL)
    candidates = page.text if found is None else found.group(1)
    said = re.findall(r'<strong>[AB]</strong></p>\s*<div class="said"[^>]*>(.*?)</div>', candidates, re.DOTALL)
    return [unescape(one) for one in said]


def is_better(text: str) -> bool:
    return text.startswith("Please")


def corpus(folder: Path, n: int) -> Path:
    """Pairs as TRL writes them, in which the better response is a polite one; half of the labels say the contrary."""
    path = folder / "pairs.jsonl"
    rows = []
    for i in range(n):
        both = [f"Please do not, number {i} is not safe.", f"Sure, go on, number {i} is fun!"]
        chosen, rejected = both if i % 2 else both[::-1]
        rows.append({"prompt": f"May I do number {i}?", "chosen": chosen, "rejected": rejected})
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


def compare(live: Live, key: str, age: str, compared: Criterion, *, polite: bool) -> None:
    """A rater of one taste, who goes the whole way."""
    visitor = live.visitor()
    page = visitor.enter(key)
    while "Q_preference" in page.text:
        left, _ = responses(page)
        # On one pair all agree.
        likes_better = polite or "number 0 " in left
        picks_better = likes_better is (compared != "more harmful")
        page = visitor.rate(page, Q_preference="-3" if is_better(left) is picks_better else "2")
    end = visitor.send("/about-you", form_token=hidden(page)["form_token"], rater_age=age)
    assert "Thank you" in end.text


@pytest.mark.parametrize("compared", ["more helpful", "more harmful", "less harmful"])
def test_what_two_groups_prefer_and_what_a_model_learns_of_it(
    house: House, compared: Criterion, tmp_path: Path
) -> None:
    live = house.live
    campaign = comparing(pair={"compared": compared}, break_every=0)
    items, _ = read_pair_items(corpus(tmp_path, 16), seed=campaign.seed)
    staff_id = owner(live.platform.database)
    campaigns.create_campaign(live.platform, campaign, items, staff_id=staff_id, now=NOW)
    key = campaigns.change_state(live.platform, "pilot", "open", staff_id=staff_id, now=NOW).key
    for age, polite in (("old", True), ("old", True), ("young", False)):
        compare(live, str(key), age, compared, polite=polite)
    refresh_snapshots(live.platform, MonitoringCache(), now=NOW)
    watched = house.owner("owner").get("/campaigns/pilot/watch")
    assert "Q_preference" in watched.text
    done = export_pairs(live.platform, "pilot", tmp_path / "out", now=NOW)
    assert (done.n_preferences, done.n_raters, done.n_pairs) == (48, 3, 16)

    # As it was picked and asked, with the side that each rater saw.
    told = pl.read_parquet(tmp_path / "out" / "ratings.parquet").to_dicts()
    assert len({one["rater_id"] for one in told}) == 3
    assert {one["shown_first"] for one in told} == {"a", "b"}
    for one in told:
        strength = int(one["Q_preference"])
        picked = "b" if strength > 0 else "a"
        better = is_better(one["item_response_b"] if picked == "b" else one["response"])
        polite = one["rater_age"] == "old" or "number 0 " in one["response"]
        assert better is (polite is (compared != "more harmful"))
        assert abs(strength) == (3 if picked == one["shown_first"] else 2)
        assert one["item_published"] in "ab"

    # As preferences they say the same, and who said it belongs to a group.
    purpose: Purpose = "helpful" if compared == "more helpful" else "harmless"
    people = read_people(tmp_path / "out" / "raters.jsonl")
    assert sorted(groups["rater_age"] for groups in people.values()) == ["old", "old", "young"]
    votes = read_pair_files([tmp_path / "out" / "preferences.jsonl"], purpose=purpose, people=people).pairs
    assert len(votes) == 48
    for vote in votes:
        polite = dict(vote.groups)["rater_age"] == "old" or "number 0 " in vote.chosen + vote.rejected
        assert is_better(vote.chosen) is polite

    # Chosen is the better one, whatever was asked and whatever the file said before.
    files = sorted((tmp_path / "out" / "pairs" / f"{purpose}-base").glob("*.jsonl.gz"))
    for path in files:
        for row in gzip.decompress(path.read_bytes()).decode().splitlines():
            assert "Please" in json.loads(row)["chosen"]
            assert "Sure" in json.loads(row)["rejected"]
    twins = pl.concat([pl.read_parquet(path.with_suffix("").with_suffix(".parquet")) for path in files])
    assert set(twins["asked"]) == {compared}

    model = train(read_pairs(files[-1]).pairs, purpose=purpose)
    talk = [("human", "And now?")]
    sides = [("bot", "Please do not, it is not safe."), ("bot", "Sure, go on, it is fun!")]
    calm, rude = (dissensus.Conversation.from_turns([*talk, side]) for side in sides)  # type: ignore[list-item]
    (good,), (bad,) = model.score([calm, rude])
    assert good > bad

    # By group, unanimous and split apart.
    each = read_pairs(tmp_path / "out" / f"{purpose}-by-rater.jsonl").pairs
    found = evaluate(each, model.margins(each), fit_length(each))
    slices = {(one.by, one.value): one.accuracy.estimate for one in found.slices}
    assert (slices["rater_age", "old"], slices["rater_age", "young"]) == (1.0, 1 / 16)
    assert (slices["raters were", "unanimous"], slices["raters were", "split"]) == pytest.approx((1, 2 / 3))

    # And the ratings are those of any campaign.
    ratings = dissensus.read_ratings(tmp_path / "out" / "ratings.parquet", questions=["Q_preference"])
    analysis = dissensus.analyse(ratings, by=["rater_age"])
    assert {row.group for row in analysis.rows} >= {"old", "young"}
    csv = tmp_path / "ratings.csv"
    ratings_workflow.export_ratings(live.platform, "pilot", csv, now=NOW)
    assert dissensus.read_ratings(csv).scale("Q_preference")[0] == "-3"


def test_a_preference_is_kept_by_the_item_and_shown_by_the_side(live: Live) -> None:
    key = str(opened(live.platform, 6).key)
    visitor = live.visitor()
    page = visitor.enter(key)
    for number in range(6):
        left, right = responses(page)
        assert {left[:5], right[:5]} == {"Long ", "Short"}
        if number == 0:
            # Drafted, read again as it was, and corrected by the back button.
            assert visitor.save(page, {"Q_preference": "-1"}).json() == {"revision": 1}
            again = visitor.get("/rate")
            assert responses(again) == [left, right]
            assert re.search(r'value="-1"[^>]*checked', again.text)
        first = page
        page = visitor.rate(page, Q_preference="-2" if left.startswith("Long") else "2")
        if number == 0:
            visitor.rate(first, Q_preference="-3" if left.startswith("Long") else "3")
    with live.platform.database.reading() as tx:
        rows = tx.execute(AssignmentTable.__table__.select()).all()
        kept = load_saves(tx, [row.id for row in rows], final=True)
    assert {row.shown_first for row in rows} == {"a", "b"}
    answers = sorted(kept[row.id][-1].answers["Q_preference"].value for row in rows)  # type: ignore[type-var]
    assert answers == ["-2"] * 5 + ["-3"]
    audit.link_pending_events(live.platform)
    assert audit.audit_campaign(live.platform, "pilot").holds


def test_nobody_is_told_which_response_is_which(live: Live) -> None:
    key = str(opened(live.platform, 6).key)
    visitor = live.visitor()
    page = visitor.enter(key)
    told = visitor.get("/rate", headers={"accept": "application/json"}).json()
    assert told["responses"] == responses(page)
    assert [turn["speaker"] for turn in told["turns"]] == ["human"]
    everything = page.text + json.dumps(told)
    for word in ("published", "shown_first", "response_b", "pair-"):
        assert word not in everything


@pytest.mark.parametrize("answer", ["0", "4", "x", "", None])
def test_what_is_no_preference_is_asked_for_again(live: Live, answer: str | None) -> None:
    key = str(opened(live.platform, 1, pair={"compared": "less harmful"}).key)
    visitor = live.visitor()
    page = visitor.enter(key)
    again = visitor.rate(page, **({} if answer is None else {"Q_preference": answer}))
    assert again.status_code == 422
    assert "Which response is less harmful?" in again.text
    assert responses(again) == responses(page)


def test_pairs_in_a_rating_campaign_and_single_responses_in_this_one(live: Live) -> None:
    staff_id = owner(live.platform.database)
    single = tuple(dissensus.Item(one.item_id, one.conversation) for one in pairs(3))
    with pytest.raises(InvalidInput, match=r"Item 'pair-1', number 2, has one response, and with \[pair\] two"):
        campaigns.create_campaign(live.platform, comparing(), (pairs(1)[0], *single[1:]), staff_id=staff_id, now=NOW)
    rating = comparing(pair=None, questionnaire=TWO_QUESTIONS)
    with pytest.raises(InvalidInput, match=r"Item 'pair-0', number 1, has two responses.*2 more such items"):
        campaigns.create_campaign(live.platform, rating, pairs(3), staff_id=staff_id, now=NOW)
    campaigns.create_campaign(live.platform, comparing(), pairs(3), staff_id=staff_id, now=NOW)
    with pytest.raises(InvalidInput, match="'pair-0', number 1, has one response"):
        campaigns.add_items(live.platform, "pilot", single, staff_id=staff_id, now=NOW)
    with pytest.raises(Conflict, match="pair cannot come or go while pilot has items"):
        campaigns.revise_campaign(live.platform, "pilot", rating, staff_id=staff_id, now=NOW)
    other = comparing(pair={"compared": "more harmful"})
    campaigns.revise_campaign(live.platform, "pilot", other, staff_id=staff_id, now=NOW)
    assert rehearsal.run_rehearsal(live.platform, "pilot", 2, staff_id=staff_id, now=NOW) == 6
    campaigns.clone_campaign(live.platform, "pilot", "second", staff_id=staff_id, now=NOW)
    campaigns.change_state(live.platform, "pilot", "open", staff_id=staff_id, now=NOW)
    campaigns.change_state(live.platform, "pilot", "paused", staff_id=staff_id, now=NOW)
    with pytest.raises(Conflict, match="questionnaire and pair cannot change"):
        campaigns.revise_campaign(live.platform, "pilot", comparing(), staff_id=staff_id, now=NOW)


def test_programs_bring_pairs_and_see_them(house: House) -> None:
    with dissensus.Client(house.live.url, token(house.platform, "ada")) as client:
        client.create(comparing().as_mapping(), pairs(2))
        assert client.add_items("pilot", [dissensus.Item("x", pairs(1)[0].conversation, response_b="")]) == 3
        found = list(client.items("pilot"))
        assert [item.response_b for item in found] == ["Short 0.", "Short 1.", ""]
        assert found[:2] == list(pairs(2))
        with pytest.raises(InvalidInput, match="Item 'y', number 1, has one response"):
            client.add_items("pilot", [dissensus.Item("y", pairs(1)[0].conversation)])


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.jsonl", json.dumps(ONE), "Sure!"),
        ("a.jsonl", json.dumps({"context": "a", "response": "b"}), "No column holds pairs."),
        ("a.jsonl", json.dumps({**ONE, "response_b": None}), "Row 1: response_b is missing"),
        ("a.txt", "User: a\nBot: b", "is pasted text"),
    ],
)
def test_an_owner_uploads_pairs(house: House, name: str, content: str, says: str) -> None:
    browser = house.owner()
    blank = browser.get("/campaigns/new")
    definition = write_campaign(comparing())
    understood = press(browser, blank, "Check it", (name, content.encode()), definition=definition)
    assert says in unescape(understood.text)
    if understood.status_code == 200:
        made = press(browser, understood, "Make the campaign")
        assert made.headers["location"] == "/campaigns/pilot"
        page = unescape(browser.get("/campaigns/pilot").text)
        assert "Sure!" in page
        assert "which is more helpful, or both equally" in page
