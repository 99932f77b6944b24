"""A campaign as an owner proposes it in a form: definition and items, each pasted or as a file."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from starlette.datastructures import FormData, UploadFile

from dissensus.errors import DissensusError, InvalidInput
from dissensus.files.items import Items, pasted_items
from dissensus.files.pairs.items import reader_for
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.parser import parse_campaign
from dissensus.schema.campaign.shipped import text_of
from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item
from dissensus.web.core.uploads import read_uploaded

MOST_CARRIED: Final = 40 << 20
"""Bytes of all turns and attributes: the form brings them back, with what stands around them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What was sent, and what was understood of it."""

    definition: str = ""  # The texts as they were sent
    pasted: str = ""
    by_link: bool = True  # Whether one open link lets anybody in
    campaign: Campaign | None = None  # What the definition says; None where it cannot be read
    items: tuple[Item, ...] = ()  # The items, and how they were read
    notes: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()  # Everything that is wrong

    @property
    def kept_items(self) -> str:
        """The items as a form carries them from one page to the next, since browsers forget files."""
        return json.dumps(
            [
                [item.item_id, item.conversation.to_dicts(), dict(item.attributes), item.response_b]
                for item in self.items
            ],
            ensure_ascii=False,
        )


def read_proposal(sent: FormData) -> Proposal:
    """Return what a form proposes; what is wrong with definition and items is told together."""
    asked = read_definition(sent)
    rated = read_rated(sent, asked.campaign)
    by_link = _text(sent, "entry") != "invitation"
    faults = (*asked.faults, *rated.faults)
    return replace(rated, definition=asked.definition, campaign=asked.campaign, by_link=by_link, faults=faults)


def read_rated(sent: FormData, campaign: Campaign | None = None) -> Proposal:
    """Return what a form proposes to be rated, without a definition; pairs where the campaign compares two."""
    pasted = _text(sent, "pasted")
    try:
        found = _items(sent, campaign)
        return Proposal(pasted=pasted, items=found.items, notes=found.notes)
    except DissensusError as error:
        return Proposal(pasted=pasted, faults=(f"The items: {error}",))


def read_definition(sent: FormData) -> Proposal:
    """Return what a form proposes to ask, without items."""
    definition = ""
    try:
        definition = _definition(sent)
        return Proposal(definition=definition, campaign=parse_campaign(definition))
    except DissensusError as error:
        return Proposal(definition=definition, faults=(str(error),))


def _text(sent: FormData, name: str) -> str:
    value = sent.get(name, "")
    return value if isinstance(value, str) else ""


def _file(sent: FormData, name: str) -> tuple[str, bytes] | None:
    """Return name and content of an uploaded file, None where none was chosen."""
    value = sent.get(name)
    if not isinstance(value, UploadFile) or not value.filename:
        return None
    return value.filename, value.file.read()


def _definition(sent: FormData) -> str:
    uploaded = _file(sent, "definition_file")
    if uploaded is None:
        like = _text(sent, "like")
        return text_of(like) if like else _text(sent, "definition")
    try:
        return uploaded[1].decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput(f"The file {uploaded[0]} is not text in UTF-8. Choose a TOML file.") from None


def _items(sent: FormData, campaign: Campaign | None) -> Items:
    """Return the items of a file, else of pasted text, else those that the form kept."""
    uploaded = _file(sent, "items_file")
    if uploaded is not None:
        return _items_of_file(*uploaded, reader_for(campaign))
    pasted, kept = _text(sent, "pasted"), _text(sent, "items")
    if pasted.strip():
        return pasted_items(pasted)
    return Items(_kept(kept)) if kept else Items(())


def _items_of_file(name: str, content: bytes, read: Callable[[Any], Items]) -> Items:
    found = read_uploaded(name, content, read)
    check_carried(found.items)
    return found


def check_carried(items: Sequence[Item]) -> None:
    """Refuse more items than a form carries from one page to the next."""
    size = sum(len(text.encode()) for item in items for text in _texts(item))
    if size > MOST_CARRIED:
        raise InvalidInput(
            f"They hold {size:,} bytes, and a form carries {MOST_CARRIED:,}. Use the command line: it takes more."
        )


def _texts(item: Item) -> Iterator[str]:
    yield from (turn.text for turn in item.conversation.turns)
    yield from item.attributes.values()
    yield item.response_b or ""


def _kept(text: str) -> tuple[Item, ...]:
    try:
        rows = json.loads(text)
        return tuple(_item(*row) for row in rows)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise InvalidInput("They did not come back as this page sent them. Choose the file again.") from None


def _item(
    item_id: str, turns: list[Mapping[str, Any]], attributes: Mapping[str, str], response_b: str | None = None
) -> Item:
    return Item(item_id, Conversation.from_dicts(turns), attributes, response_b)
