"""Campaign form: definition and items, pasted or uploaded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from markupsafe import Markup
from starlette.datastructures import FormData, UploadFile

from dissensus.errors import DissensusError, InvalidInput
from dissensus.files.items import Items, parse_pasted_items
from dissensus.files.pairs.items import reader_for
from dissensus.files.raw.limits import restrict_to_upload
from dissensus.schema.advice import site_message
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.parser import MAX_FILE_LENGTH, parse_campaign
from dissensus.schema.campaign.shipped import load_campaign_toml
from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item
from dissensus.web.core.forms import check_carried, read_uploaded, write_carried
from dissensus.web.core.json_body import iterate_json_array

MAX_PASTED_LENGTH: Final = 2 << 20
NO_ITEMS: Final = "There are no items. Choose a file, or paste conversations."


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignProposal:
    """A submitted campaign form, with what was parsed and what is wrong."""

    definition: str = ""  # Submitted texts
    pasted: str = ""
    open_link: bool = True  # True if one open link admits anybody
    campaign: Campaign | None = None  # None if the definition is invalid
    items: tuple[Item, ...] = ()
    notes: tuple[str, ...] = ()  # Notes of the reader of items
    faults: tuple[str, ...] = ()

    @property
    def carried_items(self) -> Markup:
        """Items as JSON in a hidden form field, since browsers do not resubmit files."""
        return write_carried(map(_to_row, self.items))


def read_proposal(form: FormData) -> CampaignProposal:
    """Parse definition and items of a form, collecting all faults."""
    definition = read_definition(form)
    items = read_items(form, definition.campaign)
    open_link = _text(form, "entry") != "invitation"
    faults = (*definition.faults, *items.faults)
    return replace(
        items, definition=definition.definition, campaign=definition.campaign, open_link=open_link, faults=faults
    )


def read_items(form: FormData, campaign: Campaign | None = None) -> CampaignProposal:
    """Parse the items of a form, as pairs where the campaign compares two responses."""
    pasted = _text(form, "pasted")
    try:
        items = _items(form, campaign)
        check_items(items.items)
        return CampaignProposal(pasted=pasted, items=items.items, notes=items.notes)
    except DissensusError as error:
        return CampaignProposal(pasted=pasted, faults=(f"The items: {site_message(error)}",))


def read_definition(form: FormData) -> CampaignProposal:
    """Parse the definition of a form."""
    definition = ""
    try:
        definition = _definition(form)
        return CampaignProposal(definition=definition, campaign=parse_campaign(definition))
    except DissensusError as error:
        return CampaignProposal(definition=definition, faults=(site_message(error),))


def _text(form: FormData, name: str) -> str:
    value = form.get(name, "")
    return value if isinstance(value, str) else ""


def _file(form: FormData, name: str) -> tuple[str, bytes] | None:
    """Return name and content of an uploaded file, None where none was chosen."""
    value = form.get(name)
    if not isinstance(value, UploadFile) or not value.filename:
        return None
    return value.filename, value.file.read()


def _definition(form: FormData) -> str:
    uploaded = _file(form, "definition_file")
    if uploaded is None:
        example = _text(form, "example")
        return load_campaign_toml(example) if example else _text(form, "definition")
    name, content = uploaded
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput(f"The file {name} is not text in UTF-8. Choose a TOML file.") from None
    if len(text) > MAX_FILE_LENGTH:
        # The page would carry the whole text, and escaping it blocks other requests.
        raise InvalidInput(
            f"The file {name} has {len(text):,} characters, and {MAX_FILE_LENGTH:,} are allowed. Choose a shorter file."
        )
    return text


def _items(form: FormData, campaign: Campaign | None) -> Items:
    """Return the items of the uploaded file, else of pasted text, else of the hidden field."""
    uploaded = _file(form, "items_file")
    if uploaded is not None:
        return read_uploaded(*uploaded, reader_for(campaign))
    pasted, carried = _text(form, "pasted"), _text(form, "items")
    if len(pasted) > MAX_PASTED_LENGTH:
        raise InvalidInput(
            f"The pasted text has {len(pasted):,} characters, and {MAX_PASTED_LENGTH:,} are allowed. Save it as a file "
            "that ends in .txt, and choose that file."
        )
    if pasted.strip():
        with restrict_to_upload():
            return parse_pasted_items(pasted)
    return Items(_parse_carried(carried)) if carried else Items(())


def check_items(items: Sequence[Item]) -> None:
    """Raise `InvalidInput` for more items than a form can carry."""
    check_carried(map(_to_row, items))


def _to_row(item: Item) -> tuple[object, ...]:
    return item.item_id, item.conversation.to_dicts(), dict(item.attributes), item.response_b


def _parse_carried(text: str) -> tuple[Item, ...]:
    try:
        return tuple(_item(*row) for row in iterate_json_array(text))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise InvalidInput("They were changed after this page was sent. Choose the file again.") from None


def _item(
    item_id: str, turns: list[Mapping[str, Any]], attributes: Mapping[str, str], response_b: str | None = None
) -> Item:
    return Item(item_id, Conversation.from_dicts(turns), attributes, response_b)
