"""Preference models from where they are, and what ranks the responses of chatbots by them."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from dissensus.chat.best_of_n import SCORERS, Scorer
from dissensus.chat.preferring import scorer_of
from dissensus.errors import Conflict
from dissensus.files.model_folder import identity, load_model
from dissensus.preference.model import Identity, Model, check_purpose
from dissensus.preference.pairs import Purpose
from dissensus.remote import remote
from dissensus.schema.chatbot import Chatbot, Samples

ADDRESSES: Final = ("http://", "https://")


class Opened(NamedTuple):
    """A model, and what it is told from others by."""

    model: Model
    identity: Identity


@contextmanager
def opened_model(place: str, *, purpose: Purpose | None = None, key: str = "") -> Iterator[Opened]:
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
        As `load_model` or `remote`.
    """
    if place.startswith(ADDRESSES):
        with remote(place, purpose=purpose, key=key) as model:
            yield Opened(model, model.identity)
    else:
        yield Opened(load_model(Path(place)), identity(Path(place)))


@contextmanager
def opened_scorers(chatbot: Chatbot, *, key: str = "") -> Iterator[Mapping[str, Scorer]]:
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
        As `opened_model`.
    """
    source = chatbot.source
    with ExitStack() as stack:
        if not isinstance(source, Samples) or not _is_model(source.scorer):
            yield SCORERS
            return
        found = stack.enter_context(opened_model(source.scorer, key=key))
        check_purpose(found.model, source.purpose)
        if source.sha256 and source.sha256 != found.identity.sha256:
            raise Conflict(
                f"{source.scorer} holds another model than {chatbot.name} names: its SHA-256 is "
                f"{found.identity.sha256 or 'not known'}. Give that model back, or name this one in sha256."
            )
        yield {**SCORERS, source.scorer: scorer_of(found.model)}


def _is_model(name: str) -> bool:
    """Tell whether a scorer is a model; a name that leads nowhere is left to whoever knows all scorers."""
    return name not in SCORERS and (name.startswith(ADDRESSES) or Path(name).is_dir())
