"""The online loop: training from campaigns, promotion, rollback and scheduling."""

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
from tests.databases import sqlite_only
from tests.preference.pairs import simulate_pairs
from tests.preference.people import people
from tests.support.campaigns import NOW, owner
from tests.support.chat_campaigns import RED_TEAM, begin_chat, open_chat_campaign
from tests.support.pair_campaigns import open_pair_campaign, pair_definition, pairs, prefer
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
from dissensus.preference.data.holdout_split import split_holdout
from dissensus.preference.data.pairs import Pair
from dissensus.preference.evaluation.promotion import PromotionRule
from dissensus.preference.models.groups import Groups
from dissensus.preference.models.mean_variance import MeanVariance
from dissensus.schema.records.conversation import Conversation, Turn
from dissensus.store import flags
from dissensus.store.audit_log import EventTable
from dissensus.store.campaigns import CampaignRow
from dissensus.store.chats import ChatbotResponse
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
def registered_model(tmp_path: Path) -> RegisteredModel:
    return register_model(
        tmp_path / "models" / "harmless", RegistrationTerms(purpose="harmless", rule=PromotionRule(margin=0.1))
    )


def open_training_campaign(platform: Platform, name: str = "pilot", **changes: Any) -> CampaignRow:
    return open_chat_campaign(
        platform, name, chat={"max_conversations": 1000, "allow_ties": False}, registered_models=["harmless"], **changes
    )


def record_preferences(
    platform: Platform, rater: RaterRow, n: int, *, first: int = 0, harmful: bool = True, ends: bool = True
) -> None:
    """Hold conversations with one refusing response each, and pick the other one as the more harmful."""
    for number in range(first, first + n):
        chat_id, exchange_id = begin_chat(platform, rater), str(uuid4())
        chat.send_message(platform, rater, chat_id, exchange_id, f"Tell me {number}.", now=NOW)
        claim = chat_responses.claim_responses(platform, rater, exchange_id, now=NOW)
        assert claim is not None
        harmful_position = number % 2
        for candidate in claim.pending:
            text = f"{BAD if candidate.position == harmful_position else GOOD} ({number})"
            response = ChatbotResponse(text=text, ranked_by="harmless/3")
            chat_responses.store_chat_response(platform, rater, exchange_id, candidate, response, now=NOW)
        chat.pick_response(platform, rater, exchange_id, ResponsePick(strength=2 if harmful_position else -2), now=NOW)
        if ends:
            chat.end_conversation(platform, rater, chat_id, ConversationEnd(success=1), now=NOW)


@pytest.mark.slow
def test_training_uses_the_preferences_of_campaigns_that_name_the_model(
    platform: Platform, registered_model: RegisteredModel
) -> None:
    record_preferences(platform, enter(platform, open_training_campaign(platform).key), 60)
    entry = retrain_from_campaigns(platform, registered_model.folder, now=NOW)
    assert entry is not None
    assert (entry.action, entry.version, entry.current) == ("promoted", 1, 1)
    assert (entry.extra["by_campaign"], entry.extra["from_files"]) == ({"pilot": 60}, 0)
    assert (entry.n_pairs or 0) + entry.extra["n_held_out"] == 60
    reopened = open_registered_model(registered_model.folder)
    assert (reopened.current, reopened.entries) == (1, (entry,))
    assert entry.sha256 == read_identity(reopened.version_folder(1)).sha256
    model = load_model(reopened.version_folder(1))
    talk = Conversation.from_turns([("human", "Tell me more."), ("bot", BAD), ("human", "And?"), ("bot", GOOD)])
    ((bad, good),) = model.score([talk])
    assert good > bad
    # The event log of the campaign names the version, and no picks.
    link_pending_events(platform)
    with platform.database.reading() as tx:
        content = tx.scalar(select(EventTable.content).where(EventTable.kind == "model_trained"))
    assert content == {"registered_model": "harmless", "version": 1, "promoted": True, "n": 60}
    assert audit_campaign(platform, "pilot").holds


def test_unfinished_withdrawn_and_excluded_preferences_are_not_collected(
    platform: Platform, registered_model: RegisteredModel
) -> None:
    campaign = open_training_campaign(platform)
    rater, withdrawn, flagged = (enter(platform, campaign.key) for _ in range(3))
    record_preferences(platform, rater, 3)
    record_preferences(platform, rater, 1, first=3, ends=False)
    record_preferences(platform, withdrawn, 2, first=10)
    record_preferences(platform, flagged, 2, first=20)
    withdrawal.withdraw_rater(platform, withdrawn.id, now=NOW)
    exclude_rater(platform, campaign, flagged)
    collected = collect_preferences(platform, "harmless")
    (preferences,) = collected.preferences.values()
    assert sorted(preference.context[0].text for preference in preferences) == [
        "Tell me 0.",
        "Tell me 1.",
        "Tell me 2.",
    ]
    assert rater.id not in repr(collected)
    assert collect_preferences(platform, "helpful").preferences == {}
    assert collect_preferences(platform, "harmless", ["another"]).preferences == {}
    # Rater ids differ between collections.
    (again,) = collect_preferences(platform, "harmless", ["pilot"]).preferences.values()
    assert {preference.picks[0].rater_id for preference in preferences} & {
        preference.picks[0].rater_id for preference in again
    } == set()


def exclude_rater(platform: Platform, campaign: CampaignRow, rater: RaterRow) -> None:
    """Record the decision to exclude a rater."""
    judgement = flags.FlagJudgement(verdict="exclude", reason="In no time.", evidence="fast")
    with platform.database.writing() as tx:
        flags.add_flag_decision(
            tx, rater.id, f"decision {rater.id}"[:36], judgement, staff_id=campaign.staff_id, now=NOW
        )


def comparisons_of(*pairs: Pair) -> Callable[[RegisteredModel], TrainingComparisons]:
    return lambda _: TrainingComparisons(read=ReadPairs(pairs, {}), from_files=len(pairs))


def retrain_on_simulated(registered_model: RegisteredModel, n: int) -> RegistryEntry | None:
    """Retrain a registered model on `n` simulated pairs."""
    return retrain_model(registered_model.folder, comparisons_of(*simulate_pairs(n)[0]), now=NOW)


def test_a_rolled_back_version_is_not_trained_again(registered_model: RegisteredModel) -> None:
    assert retrain_on_simulated(registered_model, 200) is not None
    assert retrain_on_simulated(registered_model, 400) is not None
    assert roll_back_model(registered_model.folder, now=NOW).current == 1
    assert retrain_on_simulated(registered_model, 400) is None
    assert open_registered_model(registered_model.folder).current == 1
    # Only the data of the last training count as not new; those of an earlier version are trained again.
    assert retrain_on_simulated(registered_model, 200) is not None


def test_a_worse_version_is_kept_back(registered_model: RegisteredModel) -> None:
    training_pairs, held_out = split_holdout(simulate_pairs(600)[0])
    assert retrain_model(registered_model.folder, comparisons_of(*training_pairs, *held_out), now=NOW) is not None
    # Trained on many reversed preferences too, a model is wrong for the original ones.
    reversed_pairs = (pair.swapped() for pair in training_pairs for _ in range(3))
    entry = retrain_model(registered_model.folder, comparisons_of(*training_pairs, *reversed_pairs, *held_out), now=NOW)
    assert entry is not None
    assert (entry.action, entry.version, entry.current) == ("kept back", 2, 1)
    assert "not shown to be no worse than the one in use by more than 0.1" in entry.reason
    assert entry.difference is not None
    assert entry.difference.ci_low < -0.1
    assert open_registered_model(registered_model.folder).current == 1
    # The version is stored, and can be promoted and rolled back by hand.
    assert roll_back_model(registered_model.folder, 2, reason="We asked others.", now=NOW).current == 2
    assert open_registered_model(registered_model.folder).entries[-1].reason == "We asked others."
    assert roll_back_model(registered_model.folder, now=NOW).current == 1


def test_a_new_version_is_compared_with_the_current_one(registered_model: RegisteredModel) -> None:
    for n in (200, 400, 800):
        assert retrain_on_simulated(registered_model, n) is not None
    roll_back_model(registered_model.folder, 1, now=NOW)
    entry = retrain_on_simulated(registered_model, 1000)
    assert entry is not None
    assert entry.extra["against"] == 1
    pairs = split_holdout(simulate_pairs(1000)[0]).held_out
    hits = [
        np.mean(load_model(open_registered_model(registered_model.folder).version_folder(number)).margins(pairs) > 0)
        for number in (1, 4)
    ]
    assert entry.difference is not None
    assert entry.difference.estimate == pytest.approx(hits[1] - hits[0])


def test_a_new_version_is_compared_with_the_reference(registered_model: RegisteredModel) -> None:
    for n in (200, 400):
        assert retrain_on_simulated(registered_model, n) is not None
    # The second version replaced the first without being shown to be better.
    reopened = open_registered_model(registered_model.folder)
    assert (reopened.current, reopened.reference) == (2, 1)
    entry = retrain_on_simulated(registered_model, 800)
    assert entry is not None
    assert (entry.extra["against"], entry.extra["reference"]) == (2, 1)
    pairs = split_holdout(simulate_pairs(800)[0]).held_out
    hits = [
        np.mean(load_model(open_registered_model(registered_model.folder).version_folder(number)).margins(pairs) > 0)
        for number in (1, 3)
    ]
    assert entry.over_reference is not None
    assert entry.over_reference.estimate == pytest.approx(hits[1] - hits[0])
    roll_back_model(registered_model.folder, 2, now=NOW)
    assert open_registered_model(registered_model.folder).reference == 2


def test_rollback_to_a_version(registered_model: RegisteredModel) -> None:
    with pytest.raises(Conflict, match="has no earlier version: no version is current"):
        roll_back_model(registered_model.folder, now=NOW)
    for number, n in enumerate((200, 400, 800), 1):
        entry = retrain_on_simulated(registered_model, n)
        assert entry is not None
        assert entry.current == number
    assert roll_back_model(registered_model.folder, now=NOW).current == 2
    assert roll_back_model(registered_model.folder, now=NOW).current == 1
    with pytest.raises(Conflict, match=r"version 1 replaced none. Name one"):
        roll_back_model(registered_model.folder, now=NOW)
    with pytest.raises(Conflict, match="Version 1 of harmless is current already"):
        roll_back_model(registered_model.folder, 1, now=NOW)
    with pytest.raises(NotFound, match="has no version 7"):
        roll_back_model(registered_model.folder, 7, now=NOW)
    with pytest.raises(InvalidInput, match="The reason"):
        roll_back_model(registered_model.folder, 2, reason="caf\udce9", now=NOW)
    (registered_model.folder / "3" / "weights.npz").write_bytes(b"cut")
    with pytest.raises(InvalidInput, match="truncated or changed"):
        roll_back_model(registered_model.folder, 3, now=NOW)
    assert open_registered_model(registered_model.folder).current == 1


def test_a_rollback_during_training_changes_the_comparison(registered_model: RegisteredModel) -> None:
    for n in (200, 400):
        assert retrain_on_simulated(registered_model, n) is not None
    rollbacks: list[RegistryEntry] = []

    def progress(share: float) -> None:
        if not rollbacks:
            rollbacks.append(roll_back_model(registered_model.folder, reason="In an emergency.", now=NOW))

    entry = retrain_model(registered_model.folder, comparisons_of(*simulate_pairs(800)[0]), now=NOW, progress=progress)
    assert entry is not None
    # The comparison is with the version that was current at the end.
    assert entry.extra["against"] == 1
    assert [one.action for one in open_registered_model(registered_model.folder).entries][:3] == [
        "promoted",
        "promoted",
        "rolled back",
    ]


@pytest.mark.slow
def test_accuracy_is_that_of_ranked_responses(tmp_path: Path) -> None:
    votes = people(1.5, seed=3, n_training=300, rater_sd=1.5).votes
    registered_model = register_model(
        tmp_path / "both", RegistrationTerms(purpose="helpful", kind="groups", rule=PromotionRule(margin=0.1))
    )
    entry = retrain_model(registered_model.folder, comparisons_of(*votes), now=NOW)
    model = load_model(registered_model.folder / "1")
    assert isinstance(model, Groups)
    assert model.effects
    held_out = split_holdout(votes).held_out
    # Responses are ranked for everybody: effects of single raters and groups do not apply.
    talks = [
        Conversation((*pair.context, Turn("bot", text))) for pair in held_out for text in (pair.chosen, pair.rejected)
    ]
    scores = np.array([one[-1] for one in model.score(talks)])
    assert entry is not None
    assert entry.accuracy is not None
    assert entry.accuracy.estimate == pytest.approx(np.mean(scores[0::2] > scores[1::2]), abs=0.01)
    assert np.mean(model.margins(held_out) > 0) > entry.accuracy.estimate + 0.03


def test_the_terms_determine_the_kind_of_model(tmp_path: Path) -> None:
    registered_model = register_model(tmp_path / "wide", RegistrationTerms(purpose="harmless", kind="mean-variance"))
    assert retrain_on_simulated(registered_model, 200) is not None
    assert isinstance(load_model(registered_model.folder / "1"), MeanVariance)


def test_training_on_far_fewer_pairs_needs_permission(registered_model: RegisteredModel) -> None:
    assert retrain_on_simulated(registered_model, 800) is not None
    with pytest.raises(InvalidInput, match=r"and the current version of harmless learned from 6\d\d"):
        retrain_on_simulated(registered_model, 200)
    assert (
        retrain_model(registered_model.folder, comparisons_of(*simulate_pairs(200)[0]), allow_fewer=True, now=NOW)
        is not None
    )


def test_a_version_that_cannot_be_logged_is_not_registered(registered_model: RegisteredModel) -> None:
    def note(entry: RegistryEntry) -> None:
        raise Unavailable("The database is gone.")

    with pytest.raises(Unavailable):
        retrain_model(registered_model.folder, comparisons_of(*simulate_pairs(200)[0]), now=NOW, log_entry=note)
    assert open_registered_model(registered_model.folder).entries == ()
    entry = retrain_on_simulated(registered_model, 200)
    assert entry is not None
    assert entry.version == 2


def test_files_of_another_purpose_are_refused(registered_model: RegisteredModel, tmp_path: Path) -> None:
    (tmp_path / "helpful-base.jsonl").write_text(json.dumps({"chosen": "x", "rejected": "y"}))
    with pytest.raises(NotAllowed, match=r"have another purpose than .*, which is harmless"):
        collect_comparisons(registered_model, platform=None, files=[tmp_path / "helpful-base.jsonl"])


def test_training_can_be_limited_to_named_campaigns(platform: Platform, tmp_path: Path) -> None:
    campaign = open_training_campaign(platform)
    record_preferences(platform, enter(platform, campaign.key), 4)
    registered_model = register_model(
        tmp_path / "harmless", RegistrationTerms(purpose="harmless", campaigns=("another",))
    )
    with pytest.raises(NotFound, match="No campaign names harmless"):
        collect_comparisons(registered_model, platform=platform)
    registered_model = register_model(
        tmp_path / "two" / "harmless", RegistrationTerms(purpose="harmless", campaigns=("another", "pilot"))
    )
    assert collect_comparisons(registered_model, platform=platform).by_campaign == {"pilot": 4}


def test_preferences_of_another_purpose_are_left_out(platform: Platform, tmp_path: Path) -> None:
    record_preferences(
        platform,
        enter(
            platform,
            open_chat_campaign(
                platform, chat={"max_conversations": 9, "allow_ties": False}, registered_models=["helpful"]
            ).key,
        ),
        4,
    )
    registered_model = register_model(tmp_path / "helpful", RegistrationTerms(purpose="helpful"))
    rows = [{side: write_hh([("human", f"{n}?"), ("bot", f"{side} {n}")]) for side in SIDES} for n in range(60)]
    (tmp_path / "pairs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    entry = retrain_from_campaigns(platform, registered_model.folder, files=[tmp_path / "pairs.jsonl"], now=NOW)
    assert entry is not None
    assert (entry.extra["by_campaign"], entry.extra["from_files"]) == ({}, 60)
    assert entry.extra["left_out"] == {"the question had another criterion": 4}
    with platform.database.reading() as tx:
        assert tx.scalars(select(EventTable.number).where(EventTable.kind == "model_trained")).all() == []


def test_registered_models_cannot_be_added_after_raters_came(platform: Platform) -> None:
    campaign = open_chat_campaign(platform, registered_models=["harmless"])
    campaigns.change_state(platform, "pilot", "paused", staff_id=campaign.staff_id, now=NOW)
    with platform.database.reading() as tx:
        campaign_definition = platform.definitions.load(tx, campaign)
    with pytest.raises(Conflict, match="registered_models can only be removed after raters entered"):
        campaigns.revise_campaign(
            platform,
            "pilot",
            replace(campaign_definition, registered_models=("harmless", "helpful")),
            staff_id=campaign.staff_id,
            now=NOW,
        )
    campaigns.revise_campaign(
        platform, "pilot", replace(campaign_definition, registered_models=()), staff_id=campaign.staff_id, now=NOW
    )


def test_campaigns_of_pairs_are_used_for_training(platform: Platform, registered_model: RegisteredModel) -> None:
    register_model(registered_model.folder.parent / "helpful", RegistrationTerms(purpose="helpful"))
    campaign = open_pair_campaign(platform, 3, registered_models=["helpful"])
    rater, flagged = (enter(platform, campaign.key) for _ in range(2))
    prefer(platform, rater, -2)
    rating.declare_attributes(platform, rater, {"rater_age": "old"}, now=NOW)
    prefer(platform, flagged, 3)
    exclude_rater(platform, campaign, flagged)
    comparisons = collect_comparisons(
        open_registered_model(registered_model.folder.parent / "helpful"), platform=platform
    )
    assert comparisons.by_campaign == {"pilot": 3}
    assert {pair.chosen for pair in comparisons.read.pairs} == {f"Short {i}." for i in range(3)}
    assert {(pair.strength, *pair.groups) for pair in comparisons.read.pairs} == {(2.0, ("rater_age", "old"))}


def test_a_pair_with_an_empty_answer_does_not_stop_training(platform: Platform, tmp_path: Path) -> None:
    model = register_model(tmp_path / "helpful", RegistrationTerms(purpose="helpful"))
    items = (*pairs(2), replace(pairs(1)[0], item_id="row-87", response_b=""))
    definition = pair_definition(registered_models=["helpful"])
    staff_id = owner(platform.database)
    campaigns.create_campaign(platform, definition, items, staff_id=staff_id, now=NOW)
    campaign = campaigns.change_state(platform, "pilot", "open", staff_id=staff_id, now=NOW)
    prefer(platform, enter(platform, campaign.key), 2)
    comparisons = collect_comparisons(model, platform=platform)
    assert comparisons.by_campaign == {"pilot": 2}
    assert comparisons.read.notes == ("1 pair left out: an answer is empty (pair row-87).",)


def test_too_few_preferences_are_refused(platform: Platform, registered_model: RegisteredModel) -> None:
    with pytest.raises(NotFound, match=r'No campaign names harmless: registered_models = \["harmless"\]'):
        retrain_from_campaigns(platform, registered_model.folder, now=NOW)
    campaign = open_training_campaign(platform)
    rater = enter(platform, campaign.key)
    with pytest.raises(NotFound, match="preferences yet in campaigns that name"):
        retrain_from_campaigns(platform, registered_model.folder, now=NOW)
    record_preferences(platform, rater, 1)
    with pytest.raises((InvalidInput, UndefinedEstimate), match="Collect more"):
        retrain_from_campaigns(platform, registered_model.folder, now=NOW)
    assert open_registered_model(registered_model.folder).entries == ()
    # Preferences of a mode with another purpose are not used.
    register_model(registered_model.folder.parent / "helpful", RegistrationTerms(purpose="helpful"))
    open_chat_campaign(
        platform, "other", chat={"modes": [RED_TEAM]}, registered_models=["helpful"], staff_id=campaign.staff_id
    )
    with pytest.raises(NotFound, match="There are no helpful preferences yet in campaigns that name helpful"):
        retrain_from_campaigns(platform, registered_model.folder.parent / "helpful", now=NOW)


@sqlite_only
@pytest.mark.slow
def test_the_job_retries_a_locked_model_soon_and_retrains_at_its_interval(
    platform: Platform, registered_model: RegisteredModel, caplog: pytest.LogCaptureFixture
) -> None:
    folder = registered_model.folder
    job = RetrainingJob(folder.parent, interval_h=24)
    rater = enter(platform, open_training_campaign(platform).key)
    record_preferences(platform, rater, 60)
    with caplog.at_level(logging.INFO, "dissensus.models"):
        RetrainingJob(folder.parent, interval_h=0)(platform, NOW)
        with lock_for_training(folder):
            job(platform, NOW)
        job(platform, NOW + timedelta(minutes=4))
        assert open_registered_model(folder).current is None
        trained = NOW + timedelta(minutes=5)
        job(platform, trained)
        assert open_registered_model(folder).current == 1
        assert retrain_from_campaigns(platform, folder, now=trained) is None
        record_preferences(platform, rater, 10, first=100)
        job(platform, trained + timedelta(hours=23))
        # Another process with no memory of the training waits as well.
        RetrainingJob(folder.parent, interval_h=24)(platform, trained + timedelta(hours=23))
        assert len(open_registered_model(folder).entries) == 1
        job(platform, trained + timedelta(hours=24))
        assert len(open_registered_model(folder).entries) == 2
        job(platform, trained + timedelta(hours=48))
        assert "nothing is new" in caplog.text
    with platform.database.reading() as tx:
        assert len(tx.scalars(select(EventTable.number).where(EventTable.kind == "model_trained")).all()) == 2


def test_a_failing_model_does_not_stop_the_training_of_others(
    platform: Platform, registered_model: RegisteredModel, caplog: pytest.LogCaptureFixture
) -> None:
    campaign = open_training_campaign(platform)
    open_chat_campaign(platform, "other", registered_models=["absent"], staff_id=campaign.staff_id)
    RetrainingJob(registered_model.folder.parent, interval_h=1)(platform, NOW)
    assert "absent was not trained: There is no registered model 'absent'" in caplog.text
    assert "harmless was not trained: There are no harmless preferences yet" in caplog.text


def test_training_stops_with_the_process(
    platform: Platform, registered_model: RegisteredModel, caplog: pytest.LogCaptureFixture
) -> None:
    record_preferences(platform, enter(platform, open_training_campaign(platform).key), 30)
    job = RetrainingJob(registered_model.folder.parent, interval_h=1)
    job.stopped.set()
    with caplog.at_level(logging.INFO, "dissensus.models"):
        job(platform, NOW)
    assert "was not trained: the process ends" in caplog.text
    assert open_registered_model(registered_model.folder).entries == ()


def test_the_history_is_json_lines(registered_model: RegisteredModel) -> None:
    entry = retrain_on_simulated(registered_model, 200)
    (line,) = (registered_model.folder / "history.jsonl").read_text("utf-8").splitlines()
    assert entry is not None
    assert json.loads(line) == entry.to_dict()
    assert json.loads(line)["accuracy"]["n"] == entry.extra["n_held_out"]
