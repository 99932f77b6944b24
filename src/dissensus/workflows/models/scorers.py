"""Open preference models and the rankers of chatbot responses."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Final, NamedTuple

from dissensus.chat.best_of_n import SCORERS, Ranker, Scorer, scorer_from_model
from dissensus.chat.remote_scorer import open_remote_model
from dissensus.errors import Conflict, InvalidInput, NotAllowed
from dissensus.files.models.folder import load_any_model, load_model, read_identity
from dissensus.files.models.registry import (
    RegisteredModel,
    history_stamp,
    open_registered_model,
    registered_model_folder,
)
from dissensus.preference.data.pairs import Purpose
from dissensus.preference.models.model import Model, ModelIdentity, check_purpose
from dissensus.schema.campaign.chatbot import BestOfNSettings, Chatbot
from dissensus.schema.registered_model import RegisteredModelName

ADDRESSES: Final = ("http://", "https://")


class LoadedModel(NamedTuple):
    """A model and its identity."""

    model: Model
    identity: ModelIdentity


@contextmanager
def open_model(source: str, *, purpose: Purpose | None = None, key: str = "") -> Iterator[LoadedModel]:
    """Open the model in a folder or behind an address."""
    if source.startswith(ADDRESSES):
        with open_remote_model(source, purpose=purpose, key=key) as model:
            yield LoadedModel(model, model.identity)
    else:
        yield LoadedModel(load_any_model(Path(source)), read_identity(Path(source)))


@contextmanager
def open_chatbot_scorers(chatbot: Chatbot, *, key: str = "") -> Iterator[Mapping[str, Scorer]]:
    """Open the custom scorer of a chatbot, in addition to the built-in ones."""
    source = chatbot.source
    with ExitStack() as stack:
        if not isinstance(source, BestOfNSettings) or not _is_model(source.scorer):
            yield SCORERS
            return
        loaded = stack.enter_context(open_model(source.scorer, key=key))
        check_purpose(loaded.model, source.purpose)
        _check_identity(source, loaded.identity)
        yield {**SCORERS, source.scorer: scorer_from_model(loaded.model)}


def _check_identity(source: BestOfNSettings, identity: ModelIdentity) -> None:
    if source.sha256 and source.sha256 != identity.sha256:
        raise Conflict(
            f"{source.scorer} holds another model than the definition names: its SHA-256 is "
            f"{identity.sha256 or 'not known'}. Restore that model, or name this one in sha256."
        )


def _is_model(name: str) -> bool:
    """Return whether a scorer is a model path or address; unknown names are left to the caller."""
    return name not in SCORERS and (name.startswith(ADDRESSES) or Path(name).is_dir())


@dataclass(slots=True)
class RankerCache:
    """Registered models in a folder, with one cached version per model or pin."""

    folder: Path  # one folder per model
    _registrations: dict[str, tuple[tuple[int, int], RegisteredModel]] = field(default_factory=dict)
    _models: dict[RegisteredModelName, LoadedModel] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def ranker(self, samples: BestOfNSettings) -> Ranker | None:
        """Return the current ranker of a chatbot's responses; None while its model has no version."""
        name = samples.registered_model
        if name is None:
            raise InvalidInput(f"{samples.scorer} is not a registered model.")
        with self._lock:
            registered_model = self._registered_model(name.name)
            purpose = registered_model.terms.purpose
            if purpose != samples.purpose:
                raise NotAllowed(
                    f"The registered model {registered_model.name} is for {purpose} responses, and the best response "
                    f'is to be the most {samples.purpose}. Name another one, or say purpose = "{purpose}".'
                )
            number = name.version or registered_model.current
            if number is None:
                return None
            loaded = self._load_version(name, registered_model, number)
        _check_identity(samples, loaded.identity)
        return Ranker(scorer_from_model(loaded.model), f"{registered_model.name}/{number}")

    def _registered_model(self, name: str) -> RegisteredModel:
        """Return the current state of a registered model, cached by the file's modification."""
        folder = registered_model_folder(self.folder, name)
        stamp = history_stamp(folder)
        cached = self._registrations.get(name)
        if cached is None or cached[0] != stamp:
            self._registrations[name] = cached = (stamp, open_registered_model(folder))
        return cached[1]

    def _load_version(self, name: RegisteredModelName, registered_model: RegisteredModel, number: int) -> LoadedModel:
        folder, trained = registered_model.version_folder(number), registered_model.trained_versions[number]
        cached = self._models.get(name)
        if cached is None or cached.identity.sha256 != trained.sha256:
            self._models[name] = cached = LoadedModel(load_model(folder), read_identity(folder))
        if cached.identity.sha256 != trained.sha256:
            raise Conflict(f"{folder} holds another model than the one that was trained as version {number}.")
        return cached
