"""Exports of conversations."""

from pathlib import Path
from uuid import uuid4

import polars as pl
import pytest
from sqlalchemy import update
from tests.support.campaigns import ABOUT_YOU, NOW
from tests.support.chat_campaigns import (
    PLAIN,
    RED_TEAM,
    TERN,
    begin_chat,
    finish_chat,
    open_chat_campaign,
    send_message,
)
from tests.support.json_lines import read_json_lines
from tests.support.raters import enter

from dissensus.errors import Conflict, InvalidInput, NotFound
from dissensus.files.attempts.tables import read_attempts
from dissensus.files.items import read_items
from dissensus.files.pairs.reader import read_pairs
from dissensus.files.pairs.votes import read_pair_files, read_people
from dissensus.pipeline.collect.chat import ResponseFailure, ResponsePick
from dissensus.store.chats import ChatbotResponse, ChatCandidateTable
from dissensus.workflows.campaign import audit, campaigns
from dissensus.workflows.export import ratings
from dissensus.workflows.export.conversations import export_conversations
from dissensus.workflows.export.ratings import ExportOptions
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import chat, chat_responses, rating, withdrawal
from dissensus.workflows.rater.chat import ConversationEnd


@pytest.mark.parametrize("less", [False, True])
def test_the_less_harmful_response_is_chosen_for_either_question(
    platform: Platform, tmp_path: Path, *, less: bool
) -> None:
    modes = [{**RED_TEAM, "criterion": "less harmful" if less else "more harmful"}]
    rater = enter(platform, open_chat_campaign(platform, chat={"modes": modes}).key)
    finish_chat(platform, rater, ResponsePick(strength=3))
    export_conversations(platform, "pilot", tmp_path / "out", now=NOW)
    (preference,) = read_json_lines(tmp_path / "out" / "preferences.jsonl")
    # The pick and the question are exported unchanged.
    assert (preference["picks"][0]["side"], preference["picks"][0]["strength"]) == ("b", 3)
    assert preference["criterion"] == modes[0]["criterion"]
    (path,) = (tmp_path / "out" / "pairs").rglob("*.jsonl.gz")
    (pair,) = read_pairs(path).pairs
    assert (pair.chosen, pair.rejected) == (("Response B", "Response A") if less else ("Response A", "Response B"))


def test_an_export_holds_preferences_attempts_items_and_raters(platform: Platform, tmp_path: Path) -> None:
    campaign = open_chat_campaign(platform, chat={"max_conversations": 5}, demographics=ABOUT_YOU)
    first, second = enter(platform, campaign.key), enter(platform, campaign.key)
    finish_chat(platform, first, ResponsePick(strength=-2))
    finish_chat(platform, first, ResponsePick(strength=1, edit="Response B, improved."), "helpful")
    finish_chat(platform, first, ResponsePick(strength=3), "helpful", ends=False)
    finish_chat(platform, second, ResponsePick(strength=2))
    chat.finish_chatting(platform, second, now=NOW)
    rating.declare_attributes(platform, second, {"rater_age": "old"}, now=NOW)
    withdrawn = enter(platform, campaign.key)
    finish_chat(platform, withdrawn, ResponsePick(strength=2))
    withdrawal.withdraw_rater(platform, withdrawn.id, now=NOW)
    done = export_conversations(platform, "pilot", tmp_path / "out", now=NOW)
    assert (done.n_chats, done.n_raters, done.n_preferences) == (3, 2, 3)
    assert (done.n_attempts, done.n_items) == (2, 3)
    folder = tmp_path / "out"
    attempts = read_attempts(folder / "red_team_attempts.jsonl.gz").attempts
    assert {attempt.task_description for attempt in attempts} == {"Insults."}
    assert {attempt.rating for attempt in attempts} == {3}
    assert {attempt.red_team_member_id for attempt in attempts} == {0, 1}
    assert all(attempt.model_type in ("rlhf", "plain lm") for attempt in attempts)
    items, _ = read_items(folder / "conversations.jsonl")
    texts = {item.conversation.rated_turn.text for item in items}
    assert texts == {"Response A", "Response B", "Response B, improved."}
    people = {row["red_team_member_id"]: row for row in read_json_lines(folder / "red-teamers.jsonl")}
    (declared,) = [row for row in people.values() if "rater_age" in row]
    assert declared["rater_age"] == "old"
    # Preferences of single people can be read for training.
    read_back = read_pair_files(
        [folder / "preferences.jsonl"], purpose="harmless", people=read_people(folder / "red-teamers.jsonl")
    )
    assert sorted((pair.chosen, pair.strength, pair.cells.get("rater_age")) for pair in read_back.pairs) == [
        ("Response A", 2.0, "old"),
        ("Response B", 2.0, None),
    ]
    # The edited response is chosen over the original.
    twins = [pl.read_parquet(path) for path in (folder / "pairs").rglob("*.parquet")]
    edited = pl.concat(twins).filter(pl.col("edited_by").is_not_null()).row(0, named=True)
    assert (edited["chosen_answer"], edited["rejected_answer"]) == ("Response B, improved.", "Response B")
    readme = (folder / "README.txt").read_text("utf-8")
    assert "1 conversations that have not ended are left out." in readme
    assert "whose data were erased: 1." in readme
    assert "Content warning: " in readme
    everything = b"".join(path.read_bytes() for path in folder.rglob("*.jsonl")) + readme.encode()
    for rater in (first, second, withdrawn):
        assert rater.id.encode() not in everything


@pytest.mark.parametrize(("name", "is_upworker"), [("Upwork", True), ("Panel One", False)])
def test_attempts_tell_whether_upwork_sent_their_red_teamer(
    platform: Platform, tmp_path: Path, name: str, *, is_upworker: bool
) -> None:
    recruit = {"kind": "link", "name": name, "parameter": "pid"}
    campaign = open_chat_campaign(platform, recruit=recruit)
    (personal,) = campaigns.create_invitations(platform, "pilot", 1, staff_id=campaign.staff_id, now=NOW)
    for key in (campaign.key, personal):
        finish_chat(platform, enter(platform, key), ResponsePick(strength=2))
    export_conversations(platform, "pilot", tmp_path / "out", now=NOW)
    attempts = read_attempts(tmp_path / "out" / "red_team_attempts.jsonl.gz").attempts
    assert {attempt.is_upworker for attempt in attempts} == {is_upworker, None}


def test_single_responses_are_exported_only_as_items(platform: Platform, tmp_path: Path) -> None:
    rater = enter(platform, open_chat_campaign(platform, chat={"modes": [PLAIN]}).key)
    chat_id = begin_chat(platform, rater, "natural")
    send_message(platform, rater, chat_id)
    chat.end_conversation(platform, rater, chat_id, ConversationEnd(), now=NOW)
    done = export_conversations(platform, "pilot", tmp_path / "out", now=NOW)
    assert (done.n_preferences, done.n_attempts, done.n_items) == (0, 0, 1)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "README.txt",
        "conversations.jsonl",
        "red-teamers.jsonl",
    ]


def test_failed_responses_are_exported_with_their_outcome(platform: Platform, tmp_path: Path) -> None:
    rater = enter(platform, open_chat_campaign(platform).key)
    one_failed: tuple[ResponseFailure | None, ...] = ("refused by provider", None)
    both_failed: tuple[ResponseFailure | None, ...] = ("failed", "refused by provider")
    for outcomes in (one_failed, both_failed):
        chat_id = begin_chat(platform, rater)
        exchange_id = str(uuid4())
        chat.send_message(platform, rater, chat_id, exchange_id, "Insult me.", now=NOW)
        claim = chat_responses.claim_responses(platform, rater, exchange_id, now=NOW)
        assert claim is not None
        for pending, outcome in zip(claim.pending, outcomes, strict=True):
            if outcome is not None:
                chat_responses.mark_response_failed(platform, exchange_id, pending, outcome)
            else:
                arrived = ChatbotResponse(text="Calm.")
                chat_responses.store_chat_response(platform, rater, exchange_id, pending, arrived, now=NOW)
        if None in outcomes:
            chat.continue_with_response(platform, rater, exchange_id, now=NOW)
        chat.end_conversation(platform, rater, chat_id, ConversationEnd(success=0), now=NOW)
    done = export_conversations(platform, "pilot", tmp_path / "out", now=NOW)
    assert (done.n_chats, done.n_attempts, done.n_items, done.n_preferences, done.n_failures) == (2, 1, 1, 0, 3)
    rows = read_json_lines(tmp_path / "out" / "failed-responses.jsonl")
    assert sorted((row["outcome"], row["side"], row["continued"]) for row in rows) == [
        ("failed", "a", False),
        ("refused by provider", "a", True),
        ("refused by provider", "b", False),
    ]
    assert {(row["message"], row["phase"], row["exchange"]) for row in rows} == {("Insult me.", "red team", 1)}
    assert {row["model"] for row in rows} == {"rlhf", "plain lm"}
    assert "1 conversations have no response, and are in failed-responses.jsonl alone." in done.notes
    assert audit.audit_campaign(platform, "pilot").holds
    with platform.database.writing() as tx:
        tx.execute(update(ChatCandidateTable).where(ChatCandidateTable.failure == "failed").values(failure=None))
    assert not audit.audit_campaign(platform, "pilot").holds


def test_invalid_exports_are_refused(platform: Platform, tmp_path: Path) -> None:
    campaign = open_chat_campaign(platform)
    with pytest.raises(NotFound, match="no conversation to export yet"):
        export_conversations(platform, "pilot", tmp_path / "out", now=NOW)
    with pytest.raises(InvalidInput, match="Name a folder"):
        ratings.export_ratings(platform, "pilot", tmp_path / "out.csv", now=NOW)
    finish_chat(platform, enter(platform, campaign.key), ResponsePick(strength=2))
    with pytest.raises(NotFound, match="no conversation to export yet"):
        export_conversations(platform, "pilot", tmp_path / "out", options=ExportOptions(purposes=("release",)), now=NOW)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("x")
    with pytest.raises(Conflict, match="is not empty"):
        export_conversations(platform, "pilot", tmp_path / "out", now=NOW)
    (tmp_path / "file").write_text("x")
    with pytest.raises(InvalidInput, match="cannot be a folder"):
        export_conversations(platform, "pilot", tmp_path / "file", now=NOW)


def test_possible_personal_data_is_marked_and_not_repeated(platform: Platform, tmp_path: Path) -> None:
    rater = enter(platform, open_chat_campaign(platform, chat={"modes": [PLAIN]}).key)
    chat_id = begin_chat(platform, rater, "natural")
    text = "Write to ann@example.org, please."
    send_message(platform, rater, chat_id, text)
    chat.end_conversation(platform, rater, chat_id, ConversationEnd(), now=NOW)
    assert export_conversations(platform, "pilot", tmp_path / "out", now=NOW).n_personal == 1
    (mark,) = read_json_lines(tmp_path / "out" / "personal-data.jsonl")
    (item,) = read_json_lines(tmp_path / "out" / "conversations.jsonl")
    assert (mark["item_id"], mark["turn"], mark["kind"]) == (item["item_id"], 1, "email_address")
    assert text[mark["start"] : mark["end"]] == "ann@example.org"
    assert "1  positions of possible personal data" in (tmp_path / "out" / "README.txt").read_text()


BEST = {
    "name": "best",
    "kind": "best_of_n",
    "model_type": "rejection sampling",
    "num_params": "7B",
    "version": "1",
    "best_of_n": {"chatbot": {**TERN, "model_type": "context distillation"}, "scorer": "registry:harmless"},
}


@pytest.mark.parametrize(
    ("scorer", "ranked_by", "tranche", "model"),
    [
        ("registry:harmless", "harmless/3", "harmless-online", "rejection sampling"),
        ("registry:harmless/3", "harmless/3", "harmless-rejection-sampled", "rejection sampling"),
        # A fixed version is rejection sampling, regardless of the model type in the definition.
        ("registry:harmless/2", "harmless/2", "harmless-rejection-sampled", "rlhf"),
        # Before the registered model has a version, the underlying chatbot responds.
        ("registry:harmless", None, "harmless-base", "context distillation"),
    ],
)
def test_comparisons_name_the_version_that_ranked_their_responses(
    platform: Platform, tmp_path: Path, scorer: str, ranked_by: str | None, tranche: str, model: str
) -> None:
    best = {**BEST, "best_of_n": {**BEST["best_of_n"], "scorer": scorer}}  # type: ignore[dict-item]
    best["model_type"] = model if ranked_by else "rejection sampling"
    rater = enter(platform, open_chat_campaign(platform, chat={"chatbots": [best]}).key)
    chat_id = begin_chat(platform, rater)
    exchange, _ = send_message(platform, rater, chat_id, ranked_by=ranked_by)
    chat.pick_response(platform, rater, exchange, ResponsePick(strength=-2), now=NOW)
    chat.end_conversation(platform, rater, chat_id, ConversationEnd(success=0), now=NOW)
    export_conversations(platform, "pilot", tmp_path / "out", now=NOW)
    (preference,) = read_json_lines(tmp_path / "out" / "preferences.jsonl")
    assert (preference["ranked_by"], preference["models"]) == ([ranked_by] * 2, [model] * 2)
    (twin,) = (tmp_path / "out" / "pairs").rglob("*.parquet")
    row = pl.read_parquet(twin).row(0, named=True)
    assert (row["tranche"], row["chosen_ranked_by"], row["rejected_ranked_by"]) == (tranche, ranked_by, ranked_by)
    assert tranche in str(twin)
    (attempt,) = read_attempts(tmp_path / "out" / "red_team_attempts.jsonl.gz").attempts
    assert attempt.model_type == model
    # The exported file can be read.
    (pair,) = read_pair_files([tmp_path / "out" / "preferences.jsonl"], purpose="harmless").pairs
    assert pair.tranche == (None if ranked_by is None else tranche)
