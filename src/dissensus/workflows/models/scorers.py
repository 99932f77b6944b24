"""Preference models from where they are, and what ranks the responses of chatbots by them."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Final, NamedTuple

from dissensus.chat.best_of_n import SCORERS, Scorer
from dissensus.chat.best_of_registry import Ranker
from dissensus.chat.preference_scorer import scorer_from_model
from dissensus.chat.remote_scorer import open_remote_model
from dissensus.errors import Conflict, InvalidInput, NotAllowed
from dissensus.files.models.folder import identity, load_model
from dissensus.files.models.registry import Line, changed, folder_of, read_line
from dissensus.preference.data.pairs import Purpose
from dissensus.preference.models.model import Identity, Model, check_purpose
from dissensus.schema.campaign.chatbot import Chatbot, Samples
from dissensus.schema.registered_model import RegisteredModelName

ADDRESSES: Final = ("http://", "https://")


class LoadedModel(NamedTuple):
    """A model, and what it is told from others by."""

    model: Model
    identity: Identity


@contextmanager
def open_model(place: str, *, purpose: Purpose | None = None, key: str = "") -> Iterator[LoadedModel]:
    """Open the model in a folder, or behind an address.

    Parameters
    ----------
    place
        A folder that training made, or what begins with http:// or https:// and answers ``/score``.
    purpose
        What the model behind an address is for, where it does not say so.
    key
        For an address that asks for one.

    Yields
    ------
    Opened
        The model.

    Raises
    ------
    DissensusError
        As `load_model` or `open_remote_model`.
    """
    if place.startswith(ADDRESSES):
        with open_remote_model(place, purpose=purpose, key=key) as model:
            yield LoadedModel(model, model.identity)
    else:
        yield LoadedModel(load_model(Path(place)), identity(Path(place)))


@contextmanager
def open_chatbot_scorers(chatbot: Chatbot, *, key: str = "") -> Iterator[Mapping[str, Scorer]]:
    """Open what ranks the responses of a chatbot, beside the scorers that ship.

    Parameters
    ----------
    chatbot
        Its definition, which may name a model.
    key
        For a model behind an address that asks for one.

    Yields
    ------
    Mapping
        Scorers by the names that definitions give.

    Raises
    ------
    Conflict
        The model is another one than the definition says.
    NotAllowed
        It was trained for another purpose.
    DissensusError
        As `open_model`.
    """
    source = chatbot.source
    with ExitStack() as stack:
        if not isinstance(source, Samples) or not _is_model(source.scorer):
            yield SCORERS
            return
        found = stack.enter_context(open_model(source.scorer, key=key))
        check_purpose(found.model, source.purpose)
        _check_same(source, found.identity)
        yield {**SCORERS, source.scorer: scorer_from_model(found.model)}


def _check_same(source: Samples, found: Identity) -> None:
    if source.sha256 and source.sha256 != found.sha256:
        raise Conflict(
            f"{source.scorer} holds another model than the definition names: its SHA-256 is "
            f"{found.sha256 or 'not known'}. Give that model back, or name this one in sha256."
        )


def _is_model(name: str) -> bool:
    """Tell whether a scorer is a model; a name that leads nowhere is left to whoever knows all scorers."""
    return name not in SCORERS and (name.startswith(ADDRESSES) or Path(name).is_dir())


@dataclass(slots=True)
class ModelRegistry:
    """The model lines in a folder, with what is asked of them at hand: one version of each line or pinned version.

    Parameters
    ----------
    folder
        It has a folder for each line.
    """

    folder: Path
    _read: dict[str, tuple[tuple[int, int], Line]] = field(default_factory=dict)
    _models: dict[RegisteredModelName, LoadedModel] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def ranker(self, samples: Samples) -> Ranker | None:
        """Return what ranks the responses of a chatbot now; None as long as its line has no version.

        Raises
        ------
        NotFound
            There is no such line, or no such version of it.
        NotAllowed
            The line is for another purpose than the chatbot.
        Conflict
            The version is another one than the definition says.
        InvalidInput
            No line ranks them; or what is there is no model that can be trusted.
        """
        asked = samples.line
        if asked is None:
            raise InvalidInput(f"{samples.scorer} is no model line.")
        with self._lock:
            line = self._line(asked.name)
            if line.terms.purpose != samples.purpose:
                raise NotAllowed(
                    f"The line {line.name} is for what is {line.terms.purpose}, and the best response is to be the "
                    f'most {samples.purpose}. Name another line, or say purpose = "{line.terms.purpose}".'
                )
            number = asked.version or line.current
            if number is None:
                return None
            found = self._model(asked, line, number)
        _check_same(samples, found.identity)
        return Ranker(scorer_from_model(found.model), f"{line.name}/{number}")

    def _line(self, name: str) -> Line:
        """Return a line as it is now; most of the time a look at the file tells that nothing happened."""
        folder = folder_of(self.folder, name)
        now = changed(folder)
        known = self._read.get(name)
        if known is None or known[0] != now:
            self._read[name] = known = (now, read_line(folder))
        return known[1]

    def _model(self, asked: RegisteredModelName, line: Line, number: int) -> LoadedModel:
        folder, trained = line.version(number), line.trained[number]
        known = self._models.get(asked)
        if known is None or known.identity.sha256 != trained.sha256:
            self._models[asked] = known = LoadedModel(load_model(folder), identity(folder))
        if known.identity.sha256 != trained.sha256:
            raise Conflict(f"{folder} holds another model than the one that was trained as version {number}.")
        return known
