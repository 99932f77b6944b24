"""Check of a definition that is being edited: its faults with their lines and fields."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import tomli_w

from dissensus.campaign.builder.field import FormNode
from dissensus.campaign.builder.step import STEP_OF
from dissensus.campaign.builder.table import iterate_nodes
from dissensus.errors import InvalidInput
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.parser import MAX_FILE_LENGTH, parse_campaign
from dissensus.schema.definition_errors import DefinitionFault, InvalidDefinition, InvalidToml, Path, format_path
from dissensus.schema.definition_lines import find_lines, line_of
from dissensus.schema.definition_table import read_toml
from dissensus.schema.questionnaire.shipped import load_questionnaire, questionnaires

TOML_STEP: Final = "toml"
"""Step of faults that have no field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionCheck:
    """A definition as TOML text, the table read from it, and the campaign or the faults."""

    text: str
    table: Mapping[str, Any] | None = None  # None if the text is not TOML
    campaign: Campaign | None = None  # None if there are faults
    faults: tuple[DefinitionFault, ...] = ()  # with their lines

    @property
    def n_faults(self) -> Mapping[str, int]:
        """Number of faults by step."""
        return Counter(step_of(fault.path) for fault in self.faults)

    @property
    def has_comments(self) -> bool:
        """True if the text has comments, which are lost when the definition is saved from a form."""
        return self.table is not None and self.text.count("#") > write_definition(self.table).count("#")


def check_definition(text: str) -> DefinitionCheck:
    r"""Check a definition as it is typed.

    Examples
    --------
    >>> check = check_definition('name = "pilot"\nseed = -1')
    >>> [(fault.line, fault.path) for fault in check.faults][:1], check.n_faults["people"]
    ([(None, ('languages',))], 1)
    """
    try:
        table = read_toml(text, "The campaign", MAX_FILE_LENGTH)
    except InvalidToml as error:
        return DefinitionCheck(text=text, faults=(DefinitionFault((), str(error), str(error), line=error.line),))
    try:
        return DefinitionCheck(text=text, table=table, campaign=parse_campaign(table))
    except InvalidDefinition as error:
        lines = find_lines(text)
        faults = tuple(replace(fault, line=line_of(lines, fault.path)) for fault in error.faults)
        return DefinitionCheck(text=text, table=table, faults=faults)


def step_of(path: Path) -> str:
    """Return the step with the field of a path, `TOML_STEP` if there is none."""
    return STEP_OF.get(str(path[0]), TOML_STEP) if path else TOML_STEP


def write_definition(table: Mapping[str, Any]) -> str:
    """Return a definition as TOML, its texts on lines of their own.

    Examples
    --------
    >>> print(write_definition({"name": "pilot", "title": {"en": "Is it safe?"}}), end="")
    name = "pilot"
    <BLANKLINE>
    [title]
    en = "Is it safe?"
    """
    try:
        return tomli_w.dumps(table, multiline_strings=True)
    except RecursionError:
        raise InvalidInput("The definition nests too deep. Flatten it.") from None


def shorten_definition(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a definition in which questionnaires that equal shipped ones are replaced by their names."""
    result = {key: _name_shipped(value) for key, value in table.items()}
    care = result.get("care")
    if isinstance(care, Mapping):
        result["care"] = {key: _name_shipped(value) for key, value in care.items()}
    return result


def _name_shipped(value: Any) -> Any:
    name = value.get("name") if isinstance(value, Mapping) else None
    if name in (*questionnaires(), *questionnaires(about="rater")):
        return name if load_questionnaire(name).as_mapping() == value else value
    return value


def place_faults(nodes: Iterable[FormNode], faults: Sequence[DefinitionFault]) -> dict[str, tuple[str, ...]]:
    """Return the messages at each field, by its name; those of faults without a field are at the nearest group."""
    names: dict[Path, str] = {}
    for top in nodes:
        for node in iterate_nodes(top):
            # A group and its first field may have one path; the field comes later.
            names[node.path] = node.name
    placed: dict[str, tuple[str, ...]] = {}
    for fault in faults:
        near = next((fault.path[:n] for n in range(len(fault.path), 0, -1) if fault.path[:n] in names), None)
        if near is not None:
            rest = format_path(fault.path[len(near) :])
            # The message of a missing wording names the language, which is the rest of its path.
            message = f"{rest}: {fault.message}" if rest and "missing in" not in fault.message else fault.message
            placed[names[near]] = (*placed.get(names[near], ()), message)
    return placed


def follow_languages(old: Mapping[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return the new definition; its own questionnaires get its languages, if they had those of the old one."""
    before, after = old.get("languages"), new.get("languages")
    if before == after:
        return new
    result = {key: _follow(value, before, after) for key, value in new.items()}
    care = result.get("care")
    if isinstance(care, Mapping):
        result["care"] = {key: _follow(value, before, after) for key, value in care.items()}
    return result


def _follow(value: Any, before: Any, after: Any) -> Any:
    follows = isinstance(value, Mapping) and "questions" in value and value.get("languages") == before and after
    return {**value, "languages": after} if follows else value
