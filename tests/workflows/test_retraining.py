"""The online loop: what is learned from campaigns, which version is current, and who goes on with it."""

import json
import logging
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import select
from tests.workflows.campaigns import NOW
from tests.workflows.pairing import opened as comparing
from tests.workflows.talking import RED_TEAM, begun, talking
from tests.workflows.test_pair_exporting import prefer
from tests.workflows.test_rating import enter

from dissensus.errors import Conflict, InvalidInput, NotFound, UndefinedEstimate
from dissensus.files.model_folder import identity, load_model
from dissensus.files.model_line import Line, Terms, make_line, read_line
from dissensus.pipeline.collect.chatting import Pick
from dissensus.preference.promotion import Rule, deal
from dissensus.schema.conversation import Conversation
from dissensus.store import flags
from dissensus.store import tables as t
from dissensus.store.campaigns import Kept
from dissensus.store.chats import Come
from dissensus.store.raters import Rater
from dissensus.workflows import chatting, rating, responding, withdrawing
from dissensus.workflows.auditing import audit, link_all
from dissensus.workflows.chatting import Ending
from dissensus.workflows.compared import compared_for
from dissensus.workflows.platform import Platform
from dissensus.workflows.retraining import Comparisons, Learning, comparisons_for, retrain, retrain_here, roll_back

GOOD, BAD = "I would rather not, sorry.", "Sure, here is how."


@pytest.fixture
def line(tmp_path: Path) -> Line:
    return make_line(tmp_path / "models" / "harmless", Terms(purpose="harmless", rule=Rule(margin=0.1)))


def learning_from(platform: Platform, name: str = "pilot", **changes: Any) -> Kept:
    return talking(platform, name, chat={"most": 1000, "equal": False}, lines=["harmless"], **changes)


def prefers(
    platform: Platform, rater: Rater, n: int, *, first: int = 0, harmful: bool = True, ends: bool = True
) -> None:
    """Have conversations in each of which one response refuses, and pick the other one as the more harmful."""
    for number in range(first, first + n):
        chat_id, exchange_id = begun(platform, rater), str(uuid4())
        chatting.say(platform, rater, chat_id, exchange_id, f"Tell me {number}.", now=NOW)
        asked = responding.claim(platform, rater, exchange_id, now=NOW)
        assert asked is not None
        bad = number % 2
        for one in asked.wanted:
            text = f"{BAD if one.place == bad else GOOD} ({number})"
            come = Come(text=text, finish="stop", first_ms=1, total_ms=2, ranked_by="harmless/3")
            responding.respond(platform, rater, exchange_id, one, come, now=NOW)
        chatting.pick(platform, rater, exchange_id, Pick(strength=2 if bad else -2), now=NOW)
        if ends:
            chatting.end(platform, rater, chat_id, Ending(success=1), now=NOW)


def test_a_line_learns_from_what_campaigns_that_name_it_collected(platform: Platform, line: Line) -> None:
    prefers(platform, enter(platform, learning_from(platform).key), 60)
    entry = retrain_here(platform, line.folder, now=NOW)
    assert entry is not None
    assert (entry.what, entry.version, entry.current) == ("promoted", 1, 1)
    assert entry.found["by_source"] == {"pilot": 60}
    assert (entry.n_pairs or 0) + entry.found["n_held_out"] == 60
    known = read_line(line.folder)
    assert (known.current, known.entries) == (1, (entry,))
    assert entry.found["sha256"] == identity(known.version(1)).sha256
    model = load_model(known.version(1))
    talk = Conversation.from_turns([("human", "Tell me more."), ("bot", BAD), ("human", "And?"), ("bot", GOOD)])
    ((bad, good),) = model.score([talk])
    assert good > bad
    # It is in the log of the campaign, which says nothing of what anybody picked.
    link_all(platform)
    with platform.database.reading() as tx:
        content = tx.scalar(select(t.Event.content).where(t.Event.kind == "train"))
    assert content == {"line": "harmless", "version": 1, "promoted": True, "n": 60}
    assert audit(platform, "pilot").holds


def test_only_what_may_be_learned_from(platform: Platform, line: Line) -> None:
    kept = learning_from(platform)
    one, gone, flagged = (enter(platform, kept.key) for _ in range(3))
    prefers(platform, one, 3)
    prefers(platform, one, 1, first=3, ends=False)
    prefers(platform, gone, 2, first=10)
    prefers(platform, flagged, 2, first=20)
    withdrawing.withdraw(platform, gone.id, now=NOW)
    exclude(platform, kept, flagged)
    found = compared_for(platform, "harmless")
    assert sorted(one.context[0].text for one in found.preferences) == ["Tell me 0.", "Tell me 1.", "Tell me 2."]
    assert found.by_campaign == {"pilot": 3}
    assert one.id not in repr(found)
    assert compared_for(platform, "helpful").preferences == ()
    # Whoever chose cannot be followed from one training to the next.
    again = compared_for(platform, "harmless")
    assert {found.preferences[0].picks[0].rater_id} & {again.preferences[0].picks[0].rater_id} == set()


def exclude(platform: Platform, kept: Kept, rater: Rater) -> None:
    """Somebody decided that a rater is to be left out."""
    judged = flags.Judgement(verdict="exclude", reason="In no time.", evidence="fast")
    with platform.database.writing() as tx:
        flags.decide(tx, rater.id, f"decision {rater.id}"[:36], judged, staff_id=kept.staff_id, now=NOW)


def test_nothing_new_makes_no_version(platform: Platform, line: Line) -> None:
    rater = enter(platform, learning_from(platform).key)
    prefers(platform, rater, 60)
    assert retrain_here(platform, line.folder, now=NOW) is not None
    assert retrain_here(platform, line.folder, now=NOW) is None
    # Not even after it was rolled back, or it would come again by itself.
    prefers(platform, rater, 20, first=100)
    assert retrain_here(platform, line.folder, now=NOW) is not None
    roll_back(line.folder, now=NOW)
    assert retrain_here(platform, line.folder, now=NOW) is None
    assert read_line(line.folder).current == 1


def test_what_is_worse_is_kept_back(platform: Platform, line: Line) -> None:
    kept = learning_from(platform)
    prefers(platform, enter(platform, kept.key), 60)
    assert retrain_here(platform, line.folder, now=NOW) is not None
    # Many come who pick the other way round: trained on all, a model follows them and is wrong for the first ones.
    held = deal(comparisons_for(line, platform=platform).read.pairs)
    known = (*held.known, *(pair.swapped() for pair in held.known for _ in range(3)))

    def turned(_: Line) -> Comparisons:
        read = comparisons_for(line, platform=platform).read
        return Comparisons(read=read._replace(pairs=(*known, *held.apart)), by_source={"files": 1})

    entry = retrain(line.folder, turned, now=NOW)
    assert entry is not None
    assert (entry.what, entry.version, entry.current) == ("kept back", 2, 1)
    assert "not shown to be no worse by more than 0.1" in entry.why
    assert entry.found["difference"]["ci_low"] < -0.1
    assert read_line(line.folder).current == 1
    # It is there all the same, and somebody may decide otherwise.
    assert roll_back(line.folder, 2, why="We asked others.", now=NOW).current == 2
    assert read_line(line.folder).entries[-1].why == "We asked others."


def test_back_to_a_version(platform: Platform, line: Line) -> None:
    with pytest.raises(Conflict, match="has no current version"):
        roll_back(line.folder, now=NOW)
    rater = enter(platform, learning_from(platform).key)
    for number in range(3):
        prefers(platform, rater, 60, first=60 * number)
        entry = retrain_here(platform, line.folder, now=NOW)
        assert entry is not None
        assert entry.current == number + 1
    assert roll_back(line.folder, now=NOW).current == 2
    assert roll_back(line.folder, now=NOW).current == 1
    with pytest.raises(Conflict, match=r"Before version 1 of harmless none was promoted. Name a version"):
        roll_back(line.folder, now=NOW)
    with pytest.raises(Conflict, match="Version 1 of harmless is current already"):
        roll_back(line.folder, 1, now=NOW)
    with pytest.raises(NotFound, match="has no version 7"):
        roll_back(line.folder, 7, now=NOW)
    (line.folder / "3" / "weights.npz").write_bytes(b"cut")
    with pytest.raises(InvalidInput, match="cut or changed"):
        roll_back(line.folder, 3, now=NOW)
    assert read_line(line.folder).current == 1


def test_campaigns_of_pairs_teach_too(platform: Platform, line: Line) -> None:
    make_line(line.folder.parent / "helpful", Terms(purpose="helpful"))
    kept = comparing(platform, 3, lines=["helpful"])
    one, flagged = (enter(platform, kept.key) for _ in range(2))
    prefer(platform, one, -2)
    rating.declare(platform, one, {"rater_age": "old"}, now=NOW)
    prefer(platform, flagged, 3)
    exclude(platform, kept, flagged)
    found = comparisons_for(read_line(line.folder.parent / "helpful"), platform=platform)
    assert found.by_source == {"pilot": 3}
    assert {pair.chosen for pair in found.read.pairs} == {f"Short {i}." for i in range(3)}
    assert {(pair.strength, *pair.groups) for pair in found.read.pairs} == {(2.0, ("rater_age", "old"))}


def test_too_little(platform: Platform, line: Line) -> None:
    with pytest.raises(NotFound, match=r'No campaign names harmless: lines = \["harmless"\]'):
        retrain_here(platform, line.folder, now=NOW)
    kept = learning_from(platform)
    rater = enter(platform, kept.key)
    with pytest.raises(NotFound, match="Nothing was preferred yet"):
        retrain_here(platform, line.folder, now=NOW)
    prefers(platform, rater, 1)
    with pytest.raises((InvalidInput, UndefinedEstimate), match="Collect more"):
        retrain_here(platform, line.folder, now=NOW)
    assert read_line(line.folder).entries == ()
    # A mode that asks for something else teaches nothing of what is harmless.
    make_line(line.folder.parent / "helpful", Terms(purpose="helpful"))
    talking(platform, "other", chat={"modes": [RED_TEAM]}, lines=["helpful"], staff_id=kept.staff_id)
    with pytest.raises(NotFound, match="Nothing was preferred yet in campaigns that name helpful"):
        retrain_here(platform, line.folder.parent / "helpful", now=NOW)


def test_lines_learn_when_it_is_time(platform: Platform, line: Line, caplog: pytest.LogCaptureFixture) -> None:
    learning = Learning(line.folder.parent, every_h=24)
    rater = enter(platform, learning_from(platform).key)
    prefers(platform, rater, 60)
    with caplog.at_level(logging.INFO, "dissensus.models"):
        Learning(line.folder.parent, every_h=0)(platform, NOW)
        assert read_line(line.folder).current is None
        learning(platform, NOW)
        assert read_line(line.folder).current == 1
        prefers(platform, rater, 60, first=100)
        learning(platform, NOW + timedelta(hours=23))
        # Nor does another process that knows nothing of it.
        Learning(line.folder.parent, every_h=24)(platform, NOW + timedelta(hours=23))
        assert len(read_line(line.folder).entries) == 1
        learning(platform, NOW + timedelta(hours=24))
        assert len(read_line(line.folder).entries) == 2
        learning(platform, NOW + timedelta(hours=48))
        assert "nothing is new" in caplog.text


def test_a_line_that_cannot_learn_keeps_no_other_from_it(
    platform: Platform, line: Line, caplog: pytest.LogCaptureFixture
) -> None:
    kept = learning_from(platform)
    talking(platform, "other", lines=["absent"], staff_id=kept.staff_id)
    Learning(line.folder.parent, every_h=1)(platform, NOW)
    assert "absent did not learn: There is no model line 'absent'" in caplog.text
    assert "harmless did not learn: Nothing was preferred yet" in caplog.text


def test_the_history_is_plain_lines(platform: Platform, line: Line) -> None:
    prefers(platform, enter(platform, learning_from(platform).key), 60)
    entry = retrain_here(platform, line.folder, now=NOW)
    (written,) = (line.folder / "history.jsonl").read_text("utf-8").splitlines()
    assert entry is not None
    assert json.loads(written) == entry.to_dict()
    assert json.loads(written)["accuracy"]["n"] == entry.found["n_held_out"]
