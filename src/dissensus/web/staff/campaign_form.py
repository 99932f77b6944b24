"""Campaign form: definition and items, pasted or uploaded."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from starlette.datastructures import FormData, UploadFile

from dissensus.errors import DissensusError, InvalidInput
from dissensus.files.items import Items, parse_pasted_items
from dissensus.files.pairs.items import reader_for
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.parser import parse_campaign
from dissensus.schema.campaign.shipped import load_campaign_toml
from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item
from dissensus.web.core.uploads import read_uploaded

MAX_CARRIED_BYTES: Final = 40 << 20
"""Bytes of all turns and attributes: the form brings them back, with what stands around them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignProposal:
    """A submitted campaign form, with what was parsed and what is wrong."""

    definition: str = ""  # The texts as they were sent
    pasted: str = ""
    by_link: bool = True  # True if one open link lets anybody in
    campaign: Campaign | None = None  # What the definition says; None where it cannot be read
    items: tuple[Item, ...] = ()  # The items, and how they were read
    notes: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()  # Everything that is wrong

    @property
    def kept_items(self) -> str:
        """Items as a hidden form field, since browsers do not resubmit files."""
        return json.dumps(
            [
                [item.item_id, item.conversation.to_dicts(), dict(item.attributes), item.response_b]
                for item in self.items
            ],
            ensure_ascii=False,
        )


def read_proposal(sent: FormData) -> CampaignProposal:
    """Parse definition and items of a form, collecting all faults."""
    asked = read_definition(sent)
    rated = read_items(sent, asked.campaign)
    by_link = _text(sent, "entry") != "invitation"
    faults = (*asked.faults, *rated.faults)
    return replace(rated, definition=asked.definition, campaign=asked.campaign, by_link=by_link, faults=faults)


def read_items(sent: FormData, campaign: Campaign | None = None) -> CampaignProposal:
    """Parse the items of a form, as pairs where the campaign compares two responses."""
    pasted = _text(sent, "pasted")
    try:
        found = _items(sent, campaign)
        return CampaignProposal(pasted=pasted, items=found.items, notes=found.notes)
    except DissensusError as error:
        return CampaignProposal(pasted=pasted, faults=(f"The items: {error}",))


def read_definition(sent: FormData) -> CampaignProposal:
    """Parse the definition of a form."""
    definition = ""
    try:
        definition = _definition(sent)
        return CampaignProposal(definition=definition, campaign=parse_campaign(definition))
    except DissensusError as error:
        return CampaignProposal(definition=definition, faults=(str(error),))


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
        return load_campaign_toml(like) if like else _text(sent, "definition")
    try:
        return uploaded[1].decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput(f"The file {uploaded[0]} is not text in UTF-8. Choose a TOML file.") from None


def _items(sent: FormData, campaign: Campaign | None) -> Items:
    """Return the items of the uploaded file, else of pasted text, else of the hidden field."""
    uploaded = _file(sent, "items_file")
    if uploaded is not None:
        return _items_of_file(*uploaded, reader_for(campaign))
    pasted, kept = _text(sent, "pasted"), _text(sent, "items")
    if pasted.strip():
        return parse_pasted_items(pasted)
    return Items(_kept(kept)) if kept else Items(())


def _items_of_file(name: str, content: bytes, read: Callable[[Any], Items]) -> Items:
    found = read_uploaded(name, content, read)
    check_carried(found.items)
    return found


def check_carried(items: Sequence[Item]) -> None:
    """Raise `InvalidInput` for more items than a form can carry."""
    size = sum(len(text.encode()) for item in items for text in _texts(item))
    if size > MAX_CARRIED_BYTES:
        raise InvalidInput(
            f"They hold {size:,} bytes, and a form carries {MAX_CARRIED_BYTES:,}. Use the command line: it takes more."
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
