"""The online loop: what is learned from campaigns, which version is current, and who goes on with it."""

import json
import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from sqlalchemy import select
from tests.preference.pairs import simulated
from tests.preference.people import people
from tests.support.campaigns import NOW
from tests.support.chat_campaigns import RED_TEAM, begin_chat, open_chat_campaign
from tests.support.pair_campaigns import opened as comparing
from tests.support.pair_campaigns import prefer
from tests.support.raters import enter

from dissensus.errors import Conflict, InvalidInput, NotAllowed, NotFound, Unavailable, UndefinedEstimate
from dissensus.files.models.folder import load_model, read_identity
from dissensus.files.models.registry import (
    RegisteredModel,
    RegistrationTerms,
    RegistryEntry,
    lock_for_training,
    open_registered_model,
    register_model,
)
from dissensus.files.pairs.reader import ReadPairs
from dissensus.pipeline.collect.chat import ResponsePick
from dissensus.preference.data.pairs import Pair
from dissensus.preference.evaluation.promotion import PromotionRule, split_holdout
from dissensus.preference.models.groups import Groups
from dissensus.preference.models.mean_variance import MeanVariance
from dissensus.schema.records.conversation import Conversation, Turn
from dissensus.store import flags
from dissensus.store.campaigns import CampaignRow
from dissensus.store.chats import ChatbotResponse
from dissensus.store.events import EventTable
from dissensus.store.raters import RaterRow
from dissensus.text.transcripts import write_hh
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.campaign.audit import audit_campaign, link_pending_events
from dissensus.workflows.models.retraining import (
    RetrainingJob,
    TrainingComparisons,
    collect_comparisons,
    retrain_from_campaigns,
    retrain_model,
    roll_back_model,
)
from dissensus.workflows.models.training_pairs import collect_preferences
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import chat, chat_responses, rating, withdrawal
from dissensus.workflows.rater.chat import ConversationEnd

SIDES = ("chosen", "rejected")
GOOD, BAD = "I would rather not, sorry.", "Sure, here is how."


@pytest.fixture
def line(tmp_path: Path) -> RegisteredModel:
    return register_model(
        tmp_path / "models" / "harmless", RegistrationTerms(purpose="harmless", rule=PromotionRule(margin=0.1))
    )


def learning_from(platform: Platform, name: str = "pilot", **changes: Any) -> CampaignRow:
    return open_chat_campaign(
        platform, name, chat={"most": 1000, "equal": False}, registered_models=["harmless"], **changes
    )


def prefers(
    platform: Platform, rater: RaterRow, n: int, *, first: int = 0, harmful: bool = True, ends: bool = True
) -> None:
    """Have conversations in each of which one response refuses, and pick the other one as the more harmful."""
    for number in range(first, first + n):
        chat_id, exchange_id = begin_chat(platform, rater), str(uuid4())
        chat.send_message(platform, rater, chat_id, exchange_id, f"Tell me {number}.", now=NOW)
        asked = chat_responses.claim_responses(platform, rater, exchange_id, now=NOW)
        assert asked is not None
        bad = number % 2
        for one in asked.wanted:
            text = f"{BAD if one.place == bad else GOOD} ({number})"
            come = ChatbotResponse(text=text, finish="stop", first_ms=1, total_ms=2, ranked_by="harmless/3")
            chat_responses.store_chat_response(platform, rater, exchange_id, one, come, now=NOW)
        chat.pick_response(platform, rater, exchange_id, ResponsePick(strength=2 if bad else -2), now=NOW)
        if ends:
            chat.end_conversation(platform, rater, chat_id, ConversationEnd(success=1), now=NOW)


def test_a_line_learns_from_what_campaigns_that_name_it_collected(platform: Platform, line: RegisteredModel) -> None:
    prefers(platform, enter(platform, learning_from(platform).key), 60)
    entry = retrain_from_campaigns(platform, line.folder, now=NOW)
    assert entry is not None
    assert (entry.what, entry.version, entry.current) == ("promoted", 1, 1)
    assert (entry.found["by_campaign"], entry.found["from_files"]) == ({"pilot": 60}, 0)
    assert (entry.n_pairs or 0) + entry.found["n_held_out"] == 60
    known = open_registered_model(line.folder)
    assert (known.current, known.entries) == (1, (entry,))
    assert entry.sha256 == read_identity(known.version(1)).sha256
    model = load_model(known.version(1))
    talk = Conversation.from_turns([("human", "Tell me more."), ("bot", BAD), ("human", "And?"), ("bot", GOOD)])
    ((bad, good),) = model.score([talk])
    assert good > bad
    # It is in the log of the campaign, which says nothing of what anybody picked.
    link_pending_events(platform)
    with platform.database.reading() as tx:
        content = tx.scalar(select(EventTable.content).where(EventTable.kind == "model_trained"))
    assert content == {"line": "harmless", "version": 1, "promoted": True, "n": 60}
    assert audit_campaign(platform, "pilot").holds


def test_only_what_may_be_learned_from(platform: Platform, line: RegisteredModel) -> None:
    kept = learning_from(platform)
    one, gone, flagged = (enter(platform, kept.key) for _ in range(3))
    prefers(platform, one, 3)
    prefers(platform, one, 1, first=3, ends=False)
    prefers(platform, gone, 2, first=10)
    prefers(platform, flagged, 2, first=20)
    withdrawal.withdraw_rater(platform, gone.id, now=NOW)
    exclude(platform, kept, flagged)
    found = collect_preferences(platform, "harmless")
    (preferences,) = found.preferences.values()
    assert sorted(one.context[0].text for one in preferences) == ["Tell me 0.", "Tell me 1.", "Tell me 2."]
    assert one.id not in repr(found)
    assert collect_preferences(platform, "helpful").preferences == {}
    assert collect_preferences(platform, "harmless", ["another"]).preferences == {}
    # Whoever chose cannot be followed from one training to the next.
    (again,) = collect_preferences(platform, "harmless", ["pilot"]).preferences.values()
    assert {one.picks[0].rater_id for one in preferences} & {one.picks[0].rater_id for one in again} == set()


def exclude(platform: Platform, kept: CampaignRow, rater: RaterRow) -> None:
    """Somebody decided that a rater is to be left out."""
    judged = flags.FlagJudgement(verdict="exclude", reason="In no time.", evidence="fast")
    with platform.database.writing() as tx:
        flags.add_flag_decision(tx, rater.id, f"decision {rater.id}"[:36], judged, staff_id=kept.staff_id, now=NOW)


def from_files(*pairs: Pair) -> Callable[[RegisteredModel], TrainingComparisons]:
    return lambda _: TrainingComparisons(read=ReadPairs(pairs, {}), from_files=len(pairs))


def learned(line: RegisteredModel, n: int) -> RegistryEntry | None:
    """Let a line learn from so many pairs of people whose taste is known."""
    return retrain_model(line.folder, from_files(*simulated(n)[0]), now=NOW)


def test_nothing_new_makes_no_version(platform: Platform, line: RegisteredModel) -> None:
    rater = enter(platform, learning_from(platform).key)
    prefers(platform, rater, 60)
    assert retrain_from_campaigns(platform, line.folder, now=NOW) is not None
    assert retrain_from_campaigns(platform, line.folder, now=NOW) is None
    with platform.database.reading() as tx:
        assert len(tx.scalars(select(EventTable.number).where(EventTable.kind == "model_trained")).all()) == 1


def test_what_was_rolled_back_does_not_come_again_by_itself(line: RegisteredModel) -> None:
    assert learned(line, 200) is not None
    assert learned(line, 400) is not None
    assert roll_back_model(line.folder, now=NOW).current == 1
    assert learned(line, 400) is None
    assert open_registered_model(line.folder).current == 1
    # What was trained last is what is not new: the same as an earlier version is.
    assert learned(line, 200) is not None


def test_what_is_worse_is_kept_back(line: RegisteredModel) -> None:
    known, apart = split_holdout(simulated(600)[0])
    assert retrain_model(line.folder, from_files(*known, *apart), now=NOW) is not None
    # Many come who pick the other way round: trained on all, a model follows them and is wrong for the first ones.
    others = (pair.swapped() for pair in known for _ in range(3))
    entry = retrain_model(line.folder, from_files(*known, *others, *apart), now=NOW)
    assert entry is not None
    assert (entry.what, entry.version, entry.current) == ("kept back", 2, 1)
    assert "not shown to be no worse than the one in use by more than 0.1" in entry.why
    assert entry.difference is not None
    assert entry.difference.ci_low < -0.1
    assert open_registered_model(line.folder).current == 1
    # It is there all the same, and somebody may decide otherwise; then back from that.
    assert roll_back_model(line.folder, 2, why="We asked others.", now=NOW).current == 2
    assert open_registered_model(line.folder).entries[-1].why == "We asked others."
    assert roll_back_model(line.folder, now=NOW).current == 1


def test_a_new_version_is_compared_with_the_current_one(line: RegisteredModel) -> None:
    for n in (200, 400, 800):
        assert learned(line, n) is not None
    roll_back_model(line.folder, 1, now=NOW)
    entry = learned(line, 1000)
    assert entry is not None
    assert entry.found["against"] == 1
    pairs = split_holdout(simulated(1000)[0]).apart
    hits = [
        np.mean(load_model(open_registered_model(line.folder).version(number)).margins(pairs) > 0) for number in (1, 4)
    ]
    assert entry.difference is not None
    assert entry.difference.estimate == pytest.approx(hits[1] - hits[0])


def test_a_new_version_is_compared_with_the_reference(line: RegisteredModel) -> None:
    for n in (200, 400):
        assert learned(line, n) is not None
    # The second one took the place of the first, and was not shown to be better.
    known = open_registered_model(line.folder)
    assert (known.current, known.reference) == (2, 1)
    entry = learned(line, 800)
    assert entry is not None
    assert (entry.found["against"], entry.found["reference"]) == (2, 1)
    pairs = split_holdout(simulated(800)[0]).apart
    hits = [
        np.mean(load_model(open_registered_model(line.folder).version(number)).margins(pairs) > 0) for number in (1, 3)
    ]
    assert entry.over_reference is not None
    assert entry.over_reference.estimate == pytest.approx(hits[1] - hits[0])
    roll_back_model(line.folder, 2, now=NOW)
    assert open_registered_model(line.folder).reference == 2


def test_back_to_a_version(line: RegisteredModel) -> None:
    with pytest.raises(Conflict, match="could go back: it has none"):
        roll_back_model(line.folder, now=NOW)
    for number, n in enumerate((200, 400, 800), 1):
        entry = learned(line, n)
        assert entry is not None
        assert entry.current == number
    assert roll_back_model(line.folder, now=NOW).current == 2
    assert roll_back_model(line.folder, now=NOW).current == 1
    with pytest.raises(Conflict, match=r"before version 1 there was none. Name one"):
        roll_back_model(line.folder, now=NOW)
    with pytest.raises(Conflict, match="Version 1 of harmless is current already"):
        roll_back_model(line.folder, 1, now=NOW)
    with pytest.raises(NotFound, match="has no version 7"):
        roll_back_model(line.folder, 7, now=NOW)
    with pytest.raises(InvalidInput, match="The reason"):
        roll_back_model(line.folder, 2, why="caf\udce9", now=NOW)
    (line.folder / "3" / "weights.npz").write_bytes(b"cut")
    with pytest.raises(InvalidInput, match="cut or changed"):
        roll_back_model(line.folder, 3, now=NOW)
    assert open_registered_model(line.folder).current == 1


def test_a_line_can_be_rolled_back_while_it_learns(line: RegisteredModel) -> None:
    for n in (200, 400):
        assert learned(line, n) is not None
    went_back: list[RegistryEntry] = []

    def progress(share: float) -> None:
        if not went_back:
            went_back.append(roll_back_model(line.folder, why="In an emergency.", now=NOW))

    entry = retrain_model(line.folder, from_files(*simulated(800)[0]), now=NOW, progress=progress)
    assert entry is not None
    # It was compared with what was current then.
    assert entry.found["against"] == 1
    assert [one.what for one in open_registered_model(line.folder).entries][:3] == [
        "promoted",
        "promoted",
        "rolled back",
    ]


def test_a_model_is_judged_by_what_chooses_responses(tmp_path: Path) -> None:
    votes = people(1.5, seed=3, known=300, rater_sd=1.5).votes
    line = register_model(
        tmp_path / "both", RegistrationTerms(purpose="helpful", kind="groups", rule=PromotionRule(margin=0.1))
    )
    entry = retrain_model(line.folder, from_files(*votes), now=NOW)
    model = load_model(line.folder / "1")
    assert isinstance(model, Groups)
    assert model.effects
    apart = split_holdout(votes).apart
    # Chatbots are ranked for all people: what it knows of single raters and their groups is of no use there.
    talks = [
        Conversation((*pair.context, Turn("bot", text))) for pair in apart for text in (pair.chosen, pair.rejected)
    ]
    scores = np.array([one[-1] for one in model.score(talks)])
    assert entry is not None
    assert entry.accuracy is not None
    assert entry.accuracy.estimate == pytest.approx(np.mean(scores[0::2] > scores[1::2]), abs=0.01)
    assert np.mean(model.margins(apart) > 0) > entry.accuracy.estimate + 0.03


def test_the_terms_say_what_is_trained(tmp_path: Path) -> None:
    line = register_model(tmp_path / "wide", RegistrationTerms(purpose="harmless", kind="mean-variance"))
    assert learned(line, 200) is not None
    assert isinstance(load_model(line.folder / "1"), MeanVariance)


def test_far_less_than_before_is_refused_unless_it_may_be(line: RegisteredModel) -> None:
    assert learned(line, 800) is not None
    with pytest.raises(InvalidInput, match=r"and the current version of harmless learned from 6\d\d"):
        learned(line, 200)
    assert retrain_model(line.folder, from_files(*simulated(200)[0]), fewer=True, now=NOW) is not None


def test_what_cannot_be_noted_is_not_kept(line: RegisteredModel) -> None:
    def note(entry: RegistryEntry) -> None:
        raise Unavailable("The database is gone.")

    with pytest.raises(Unavailable):
        retrain_model(line.folder, from_files(*simulated(200)[0]), now=NOW, note=note)
    assert open_registered_model(line.folder).entries == ()
    entry = learned(line, 200)
    assert entry is not None
    assert entry.version == 2


def test_files_that_are_of_something_else_are_refused(line: RegisteredModel, tmp_path: Path) -> None:
    (tmp_path / "helpful-base.jsonl").write_text(json.dumps({"chosen": "x", "rejected": "y"}))
    with pytest.raises(NotAllowed, match="people chose by something else than what is harmless"):
        collect_comparisons(line, platform=None, files=[tmp_path / "helpful-base.jsonl"])


def test_a_line_may_learn_from_named_campaigns_alone(platform: Platform, tmp_path: Path) -> None:
    kept = learning_from(platform)
    prefers(platform, enter(platform, kept.key), 4)
    line = register_model(tmp_path / "harmless", RegistrationTerms(purpose="harmless", campaigns=("another",)))
    with pytest.raises(NotFound, match="No campaign names harmless"):
        collect_comparisons(line, platform=platform)
    line = register_model(
        tmp_path / "two" / "harmless", RegistrationTerms(purpose="harmless", campaigns=("another", "pilot"))
    )
    assert collect_comparisons(line, platform=platform).by_campaign == {"pilot": 4}


def test_a_campaign_that_asked_for_something_else_holds_up_no_other(platform: Platform, tmp_path: Path) -> None:
    prefers(
        platform,
        enter(
            platform, open_chat_campaign(platform, chat={"most": 9, "equal": False}, registered_models=["helpful"]).key
        ),
        4,
    )
    line = register_model(tmp_path / "helpful", RegistrationTerms(purpose="helpful"))
    rows = [{side: write_hh([("human", f"{n}?"), ("bot", f"{side} {n}")]) for side in SIDES} for n in range(60)]
    (tmp_path / "pairs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    entry = retrain_from_campaigns(platform, line.folder, files=[tmp_path / "pairs.jsonl"], now=NOW)
    assert entry is not None
    assert (entry.found["by_campaign"], entry.found["from_files"]) == ({}, 60)
    assert entry.found["left_out"] == {"people were asked for something else": 4}
    with platform.database.reading() as tx:
        assert tx.scalars(select(EventTable.number).where(EventTable.kind == "model_trained")).all() == []


def test_nobody_is_learned_from_who_did_not_know(platform: Platform) -> None:
    kept = open_chat_campaign(platform, registered_models=["harmless"])
    campaigns.change_state(platform, "pilot", "paused", staff_id=kept.staff_id, now=NOW)
    with platform.database.reading() as tx:
        campaign = platform.definitions.of(tx, kept)
    with pytest.raises(Conflict, match="lines can only be taken out after raters came: they did not know"):
        campaigns.revise_campaign(
            platform,
            "pilot",
            replace(campaign, registered_models=("harmless", "helpful")),
            staff_id=kept.staff_id,
            now=NOW,
        )
    campaigns.revise_campaign(
        platform, "pilot", replace(campaign, registered_models=()), staff_id=kept.staff_id, now=NOW
    )


def test_campaigns_of_pairs_teach_too(platform: Platform, line: RegisteredModel) -> None:
    register_model(line.folder.parent / "helpful", RegistrationTerms(purpose="helpful"))
    kept = comparing(platform, 3, registered_models=["helpful"])
    one, flagged = (enter(platform, kept.key) for _ in range(2))
    prefer(platform, one, -2)
    rating.declare_attributes(platform, one, {"rater_age": "old"}, now=NOW)
    prefer(platform, flagged, 3)
    exclude(platform, kept, flagged)
    found = collect_comparisons(open_registered_model(line.folder.parent / "helpful"), platform=platform)
    assert found.by_campaign == {"pilot": 3}
    assert {pair.chosen for pair in found.read.pairs} == {f"Short {i}." for i in range(3)}
    assert {(pair.strength, *pair.groups) for pair in found.read.pairs} == {(2.0, ("rater_age", "old"))}


def test_too_little(platform: Platform, line: RegisteredModel) -> None:
    with pytest.raises(NotFound, match=r'No campaign names harmless: registered_models = \["harmless"\]'):
        retrain_from_campaigns(platform, line.folder, now=NOW)
    kept = learning_from(platform)
    rater = enter(platform, kept.key)
    with pytest.raises(NotFound, match="Nothing was preferred yet"):
        retrain_from_campaigns(platform, line.folder, now=NOW)
    prefers(platform, rater, 1)
    with pytest.raises((InvalidInput, UndefinedEstimate), match="Collect more"):
        retrain_from_campaigns(platform, line.folder, now=NOW)
    assert open_registered_model(line.folder).entries == ()
    # A mode that asks for something else teaches nothing of what is harmless.
    register_model(line.folder.parent / "helpful", RegistrationTerms(purpose="helpful"))
    open_chat_campaign(
        platform, "other", chat={"modes": [RED_TEAM]}, registered_models=["helpful"], staff_id=kept.staff_id
    )
    with pytest.raises(NotFound, match="Nothing was preferred yet in campaigns that name helpful"):
        retrain_from_campaigns(platform, line.folder.parent / "helpful", now=NOW)


def test_lines_learn_when_it_is_time(
    platform: Platform, line: RegisteredModel, caplog: pytest.LogCaptureFixture
) -> None:
    learning = RetrainingJob(line.folder.parent, every_h=24)
    rater = enter(platform, learning_from(platform).key)
    prefers(platform, rater, 60)
    with caplog.at_level(logging.INFO, "dissensus.models"):
        RetrainingJob(line.folder.parent, every_h=0)(platform, NOW)
        assert open_registered_model(line.folder).current is None
        learning(platform, NOW)
        assert open_registered_model(line.folder).current == 1
        prefers(platform, rater, 60, first=100)
        learning(platform, NOW + timedelta(hours=23))
        # Nor does another process that knows nothing of it.
        RetrainingJob(line.folder.parent, every_h=24)(platform, NOW + timedelta(hours=23))
        assert len(open_registered_model(line.folder).entries) == 1
        learning(platform, NOW + timedelta(hours=24))
        assert len(open_registered_model(line.folder).entries) == 2
        learning(platform, NOW + timedelta(hours=48))
        assert "nothing is new" in caplog.text


def test_a_line_that_cannot_learn_keeps_no_other_from_it(
    platform: Platform, line: RegisteredModel, caplog: pytest.LogCaptureFixture
) -> None:
    kept = learning_from(platform)
    open_chat_campaign(platform, "other", registered_models=["absent"], staff_id=kept.staff_id)
    RetrainingJob(line.folder.parent, every_h=1)(platform, NOW)
    assert "absent did not learn: There is no registered model 'absent'" in caplog.text
    assert "harmless did not learn: Nothing was preferred yet" in caplog.text


def test_training_is_given_up_where_the_process_ends(
    platform: Platform, line: RegisteredModel, caplog: pytest.LogCaptureFixture
) -> None:
    prefers(platform, enter(platform, learning_from(platform).key), 30)
    learning = RetrainingJob(line.folder.parent, every_h=1)
    learning.stopped.set()
    with caplog.at_level(logging.INFO, "dissensus.models"):
        learning(platform, NOW)
    assert "did not learn: the process ends" in caplog.text
    assert open_registered_model(line.folder).entries == ()


def test_a_line_that_is_trained_now_is_looked_at_again_soon(platform: Platform, line: RegisteredModel) -> None:
    prefers(platform, enter(platform, learning_from(platform).key), 60)
    learning = RetrainingJob(line.folder.parent, every_h=24)
    with lock_for_training(line.folder):
        learning(platform, NOW)
    learning(platform, NOW + timedelta(minutes=4))
    assert open_registered_model(line.folder).current is None
    learning(platform, NOW + timedelta(minutes=5))
    assert open_registered_model(line.folder).current == 1


def test_the_history_is_plain_lines(line: RegisteredModel) -> None:
    entry = learned(line, 200)
    (written,) = (line.folder / "history.jsonl").read_text("utf-8").splitlines()
    assert entry is not None
    assert json.loads(written) == entry.to_dict()
    assert json.loads(written)["accuracy"]["n"] == entry.found["n_held_out"]
