"""Chatbots whose definitions name a scorer."""

import asyncio
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.preference.pairs import simulate_pairs

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
from dissensus.workflows.models.scorers import RankerCache, open_chatbot_scorers

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
[best_of_n.chatbot]
name = "any"
kind = "scripted"
model_type = "our own"
version = "1"
scripted = {{ responses = ["kill the road", "sorry the road", "please the road"] }}
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    save_model(train(simulate_pairs(200)[0], purpose="harmless"), tmp_path / "taste")
    return tmp_path / "taste"


def bot(scorer: object, more: str = "") -> Chatbot:
    return parse_chatbot(DEFINITION.format(scorer=scorer, more=more))


def respond(chatbot: Chatbot) -> str:
    async def say() -> str:
        with open_chatbot_scorers(chatbot) as scorers:
            async with open_chatbot(chatbot, environment={}, scorers=scorers) as opened:
                return (await collect_response(opened, TALK, 7)).text

    return asyncio.run(say())


def test_the_named_model_ranks_responses(model: Path) -> None:
    assert respond(bot(model)) == "sorry the road"
    assert respond(bot(model, f'sha256 = "{read_identity(model).sha256}"')) == "sorry the road"


def test_a_model_with_another_digest_is_refused(model: Path) -> None:
    with pytest.raises(
        Conflict, match=f"another model than the definition names: its SHA-256 is {read_identity(model).sha256}"
    ):
        respond(bot(model, f'sha256 = "{"0" * 64}"'))


def test_a_model_of_another_purpose_is_refused(model: Path) -> None:
    with pytest.raises(NotAllowed, match="trained for harmless, and helpful is requested"):
        respond(bot(model, 'purpose = "helpful"'))


def test_the_digest_of_a_definition_covers_its_model(model: Path) -> None:
    plain, named, helpful = bot(model), bot(model, f'sha256 = "{"0" * 64}"'), bot(model, 'purpose = "helpful"')
    assert len({plain.digest, named.digest, helpful.digest}) == 3
    assert parse_chatbot(named.as_mapping()) == named
    assert isinstance(plain.source, BestOfNSettings)
    assert replace(plain, source=replace(plain.source, purpose="harmless")).digest == plain.digest


@pytest.mark.parametrize(
    ("more", "message"), [('sha256 = "abc"', "'abc' is not a SHA-256"), ('purpose = "funny"', "It is 'funny'")]
)
def test_invalid_definitions_are_refused(model: Path, more: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        bot(model, more)


def test_unknown_scorers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"no scorer 'brevety'. Did you mean 'brevity'\?"):
        respond(bot("brevety"))
    with pytest.raises(NotFound, match="is not a complete model"):
        respond(bot(tmp_path))
    with open_chatbot_scorers(bot("brevity")) as scorers:
        assert scorers is SCORERS


@pytest.fixture
def registered_model(tmp_path: Path) -> RegisteredModel:
    """A registered model with a version that prefers refusals and one that prefers the opposite."""
    registered = register_model(tmp_path / "models" / "taste", RegistrationTerms(purpose="harmless"))
    pairs = simulate_pairs(200)[0]
    for training_pairs in (pairs, [pair.swapped() for pair in pairs]):
        save_model(train(training_pairs, purpose="harmless"), make_version_folder(registered))
    return registered


def promote(registered_model: RegisteredModel, number: int) -> RegisteredModel:
    promoted_at, accuracy = datetime(2026, 3, 4, tzinfo=UTC), ClusteredEstimate(0.7, 0.6, 0.8, 300, 300)
    entry = RegistryEntry(at=promoted_at, action="rolled back", version=number, current=number, reason="Yes.")
    if number in registered_model.trained_versions:
        return append_entry(registered_model, entry)
    sha256 = read_identity(registered_model.folder / str(number)).sha256
    return append_entry(
        registered_model, replace(entry, action="promoted", n_pairs=200, accuracy=accuracy, sha256=sha256)
    )


def respond_with_registry(registry: RankerCache, scorer: str, more: str = "") -> Response:
    async def say() -> Response:
        async with open_chatbot(bot(scorer, more), environment={}, ranking=registry.ranker) as opened:
            return await collect_response(opened, TALK, 7)

    return asyncio.run(say())


def test_a_registry_scorer_follows_the_current_version(registered_model: RegisteredModel) -> None:
    registry = RankerCache(registered_model.folder.parent)
    first = respond_with_registry(registry, "registry:taste")
    assert (first.ranked_by, first.cost.samples) == ("", 1)
    registered_model = promote(registered_model, 1)
    assert [respond_with_registry(registry, "registry:taste").text for _ in range(2)] == ["sorry the road"] * 2
    registered_model = promote(registered_model, 2)
    response = respond_with_registry(registry, "registry:taste")
    assert (response.text, response.ranked_by) == ("kill the road", "taste/2")
    # The first version again, as after a rollback; then a fixed version.
    promote(registered_model, 1)
    assert respond_with_registry(registry, "registry:taste").ranked_by == "taste/1"
    response = respond_with_registry(registry, "registry:taste/2")
    assert (response.text, response.ranked_by) == ("kill the road", "taste/2")


def test_invalid_registry_scorers_are_refused(registered_model: RegisteredModel) -> None:
    registered_model, registry = promote(registered_model, 1), RankerCache(registered_model.folder.parent)
    sha256 = read_identity(registered_model.version_folder(1)).sha256
    assert respond_with_registry(registry, "registry:taste/1", f'sha256 = "{sha256}"').ranked_by == "taste/1"
    with pytest.raises(Conflict, match="another model than the definition names"):
        respond_with_registry(registry, "registry:taste/1", f'sha256 = "{"0" * 64}"')
    with pytest.raises(NotFound, match="has no version 2"):
        respond_with_registry(registry, "registry:taste/2")
    with pytest.raises(NotFound, match=r"no registered model 'test' in .* Did you mean 'taste'"):
        respond_with_registry(registry, "registry:test")
    with pytest.raises(NotAllowed, match=r'is for harmless responses, .*Name another one, or say purpose = "harmless"'):
        respond_with_registry(registry, "registry:taste", 'purpose = "helpful"')
    assert respond_with_registry(registry, "registry:taste").ranked_by == "taste/1"
    (registered_model.folder / "1" / "weights.npz").write_bytes(b"cut")
    assert respond_with_registry(registry, "registry:taste").ranked_by == "taste/1"
    with pytest.raises(InvalidInput, match="truncated or changed"):
        respond_with_registry(RankerCache(registered_model.folder.parent), "registry:taste")


def test_another_purpose_is_refused_before_the_first_version(registered_model: RegisteredModel) -> None:
    with pytest.raises(NotAllowed, match="is for harmless responses"):
        respond_with_registry(RankerCache(registered_model.folder.parent), "registry:taste", 'purpose = "helpful"')


def test_a_recreated_registered_model_is_loaded_again(registered_model: RegisteredModel) -> None:
    registry = RankerCache(registered_model.folder.parent)
    promote(registered_model, 1)
    assert respond_with_registry(registry, "registry:taste").text == "sorry the road"
    shutil.move(registered_model.folder, registered_model.folder.with_name("old"))
    other = register_model(registered_model.folder, RegistrationTerms(purpose="harmless"))
    shutil.copytree(registered_model.folder.with_name("old") / "2", other.folder / "1")
    promote(other, 1)
    response = respond_with_registry(registry, "registry:taste")
    assert (response.text, response.ranked_by) == ("kill the road", "taste/1")
    # The folder holds another model than the one that was trained.
    shutil.rmtree(other.folder / "1")
    shutil.copytree(registered_model.folder.with_name("old") / "1", other.folder / "1")
    with pytest.raises(Conflict, match="holds another model than the one that was trained as version 1"):
        respond_with_registry(RankerCache(registered_model.folder.parent), "registry:taste")
