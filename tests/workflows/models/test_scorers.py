"""Chatbots whose definitions name a model."""

import asyncio
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.preference.pairs import simulated

from dissensus.chat import SCORERS, Response, collect_response, open_chatbot
from dissensus.errors import Conflict, InvalidInput, NotAllowed, NotFound
from dissensus.files.models.folder import read_identity, save_model
from dissensus.files.models.registry import (
    RegisteredModel,
    RegistrationTerms,
    RegistryEntry,
    append_entry,
    make_version_folder,
    register_model,
)
from dissensus.preference.fit.training import train
from dissensus.schema.campaign.chatbot import BestOfNSettings, Chatbot
from dissensus.schema.campaign.chatbot_parser import parse_chatbot
from dissensus.schema.records.conversation import Conversation
from dissensus.stats.cluster_robust import ClusteredEstimate
from dissensus.workflows.models.scorers import ModelRegistry, open_chatbot_scorers

TALK = Conversation.from_turns([("human", "Hi")])
DEFINITION = """
name = "careful"
kind = "best_of_n"
model_type = "rejection sampling"
version = "1"
[best_of_n]
scorer = "{scorer}"
n = 64
{more}
[best_of_n.of]
name = "any"
kind = "scripted"
model_type = "our own"
version = "1"
scripted = {{ responses = ["kill the road", "sorry the road", "please the road"] }}
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    save_model(train(simulated(200)[0], purpose="harmless"), tmp_path / "taste")
    return tmp_path / "taste"


def bot(scorer: object, more: str = "") -> Chatbot:
    return parse_chatbot(DEFINITION.format(scorer=scorer, more=more))


def said(chatbot: Chatbot) -> str:
    async def say() -> str:
        with open_chatbot_scorers(chatbot) as scorers:
            async with open_chatbot(chatbot, environment={}, scorers=scorers) as found:
                return (await collect_response(found, TALK, 7)).text

    return asyncio.run(say())


def test_the_model_that_a_definition_names_ranks(model: Path) -> None:
    assert said(bot(model)) == "sorry the road"
    assert said(bot(model, f'sha256 = "{read_identity(model).sha256}"')) == "sorry the road"


def test_another_model_in_its_place_is_refused(model: Path) -> None:
    with pytest.raises(
        Conflict, match=f"another model than the definition names: its SHA-256 is {read_identity(model).sha256}"
    ):
        said(bot(model, f'sha256 = "{"0" * 64}"'))


def test_a_model_of_another_purpose_is_refused(model: Path) -> None:
    with pytest.raises(NotAllowed, match="trained for what is harmless, and what is helpful is asked for"):
        said(bot(model, 'purpose = "helpful"'))


def test_what_a_definition_says_of_its_model_is_part_of_its_digest(model: Path) -> None:
    plain, named, helpful = bot(model), bot(model, f'sha256 = "{"0" * 64}"'), bot(model, 'purpose = "helpful"')
    assert len({plain.digest, named.digest, helpful.digest}) == 3
    assert parse_chatbot(named.as_mapping()) == named
    assert isinstance(plain.source, BestOfNSettings)
    assert replace(plain, source=replace(plain.source, purpose="harmless")).digest == plain.digest


@pytest.mark.parametrize(
    ("more", "says"), [('sha256 = "abc"', "'abc' is no SHA-256"), ('purpose = "funny"', "It is 'funny'")]
)
def test_what_a_definition_cannot_say(model: Path, more: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        bot(model, more)


def test_names_that_lead_nowhere(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"no scorer 'brevety'. Did you mean 'brevity'\?"):
        said(bot("brevety"))
    with pytest.raises(NotFound, match="is no whole model"):
        said(bot(tmp_path))
    with open_chatbot_scorers(bot("brevity")) as scorers:
        assert scorers is SCORERS


@pytest.fixture
def line(tmp_path: Path) -> RegisteredModel:
    """A line whose first version likes what refuses, and whose second one likes the contrary."""
    made = register_model(tmp_path / "models" / "taste", RegistrationTerms(purpose="harmless"))
    pairs = simulated(200)[0]
    for learned in (pairs, [pair.swapped() for pair in pairs]):
        save_model(train(learned, purpose="harmless"), make_version_folder(made))
    return made


def promoted(line: RegisteredModel, number: int) -> RegisteredModel:
    at, right = datetime(2026, 3, 4, tzinfo=UTC), ClusteredEstimate(0.7, 0.6, 0.8, 300, 300)
    told = {"version": number, "current": number, "why": "Yes."}
    if number in line.trained:
        return append_entry(line, RegistryEntry(at=at, what="rolled back", **told))  # type: ignore[arg-type]
    sha256 = read_identity(line.folder / str(number)).sha256
    return append_entry(line, RegistryEntry(at=at, what="promoted", n_pairs=200, accuracy=right, sha256=sha256, **told))  # type: ignore[arg-type]


def on_line(lines: ModelRegistry, scorer: str, more: str = "") -> Response:
    async def say() -> Response:
        async with open_chatbot(bot(scorer, more), environment={}, ranking=lines.ranker) as found:
            return await collect_response(found, TALK, 7)

    return asyncio.run(say())


def test_a_chatbot_on_a_line_goes_on_with_its_current_version(line: RegisteredModel) -> None:
    lines = ModelRegistry(line.folder.parent)
    first = on_line(lines, "registry:taste")
    assert (first.ranked_by, first.cost.samples) == ("", 1)
    line = promoted(line, 1)
    assert [on_line(lines, "registry:taste").text for _ in range(2)] == ["sorry the road"] * 2
    line = promoted(line, 2)
    found = on_line(lines, "registry:taste")
    assert (found.text, found.ranked_by) == ("kill the road", "taste/2")
    # Back again, as after a rollback; and one version for ever.
    promoted(line, 1)
    assert on_line(lines, "registry:taste").ranked_by == "taste/1"
    found = on_line(lines, "registry:taste/2")
    assert (found.text, found.ranked_by) == ("kill the road", "taste/2")


def test_what_a_line_refuses(line: RegisteredModel) -> None:
    line, lines = promoted(line, 1), ModelRegistry(line.folder.parent)
    known = read_identity(line.version(1)).sha256
    assert on_line(lines, "registry:taste/1", f'sha256 = "{known}"').ranked_by == "taste/1"
    with pytest.raises(Conflict, match="another model than the definition names"):
        on_line(lines, "registry:taste/1", f'sha256 = "{"0" * 64}"')
    with pytest.raises(NotFound, match="has no version 2"):
        on_line(lines, "registry:taste/2")
    with pytest.raises(NotFound, match=r"no registered model 'test' in .* Did you mean 'taste'"):
        on_line(lines, "registry:test")
    with pytest.raises(NotAllowed, match=r'is for what is harmless, .*Name another line, or say purpose = "harmless"'):
        on_line(lines, "registry:taste", 'purpose = "helpful"')
    assert on_line(lines, "registry:taste").ranked_by == "taste/1"
    (line.folder / "1" / "weights.npz").write_bytes(b"cut")
    assert on_line(lines, "registry:taste").ranked_by == "taste/1"
    with pytest.raises(InvalidInput, match="cut or changed"):
        on_line(ModelRegistry(line.folder.parent), "registry:taste")


def test_a_purpose_is_refused_before_there_is_a_version(line: RegisteredModel) -> None:
    with pytest.raises(NotAllowed, match="is for what is harmless"):
        on_line(ModelRegistry(line.folder.parent), "registry:taste", 'purpose = "helpful"')


def test_a_line_that_is_made_anew_is_another_one(line: RegisteredModel) -> None:
    lines = ModelRegistry(line.folder.parent)
    promoted(line, 1)
    assert on_line(lines, "registry:taste").text == "sorry the road"
    shutil.move(line.folder, line.folder.with_name("old"))
    other = register_model(line.folder, RegistrationTerms(purpose="harmless"))
    shutil.copytree(line.folder.with_name("old") / "2", other.folder / "1")
    promoted(other, 1)
    found = on_line(lines, "registry:taste")
    assert (found.text, found.ranked_by) == ("kill the road", "taste/1")
    # What lies there now is not what was trained.
    shutil.rmtree(other.folder / "1")
    shutil.copytree(line.folder.with_name("old") / "1", other.folder / "1")
    with pytest.raises(Conflict, match="holds another model than the one that was trained as version 1"):
        on_line(ModelRegistry(line.folder.parent), "registry:taste")
