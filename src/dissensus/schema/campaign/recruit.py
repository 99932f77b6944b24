"""Recruitment of raters through Prolific, or through the links of any panel: settings and their parser."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, get_args
from urllib.parse import urlsplit

from dissensus.errors import InvalidInput
from dissensus.schema.campaign.completion_codes import (
    OUTCOMES,
    PANEL_OUTCOMES,
    CompletionCodes,
    Outcome,
    parse_completion_codes,
)
from dissensus.schema.definition_table import DefinitionTable
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.urls import check_secure_url

RecruiterKind: TypeAlias = Literal["prolific", "link"]
RECRUITER_KINDS: Final[tuple[RecruiterKind, ...]] = get_args(RecruiterKind)

PROLIFIC: Final = "Prolific"
ID_PLACEHOLDER: Final = "{id}"
"""Placeholder in a return address for the panel's id of the person."""
PARAMETER: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
RESERVED_PARAMETERS: Final = ("key", "lang", "language", "form_token")
"""Parameters of the site itself."""
MAX_NAME_LENGTH: Final = 60
MAX_ADDRESS_LENGTH: Final = 1_000


def _empty() -> Mapping[Outcome, str]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class RecruitSettings:
    """Recruitment of raters through Prolific, or through the links of any panel."""

    kind: RecruiterKind
    name: str = PROLIFIC  # of the recruiter, as raters read it
    parameter: str = ""  # of a link, with the panel's id of the person
    addresses: Mapping[Outcome, str] = field(default_factory=_empty)  # to which raters of a panel return
    codes: CompletionCodes = field(default_factory=_empty)

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Outcomes with a way back: an address, a code, or both."""
        return tuple(name for name in PANEL_OUTCOMES if name in self.addresses or name in self.codes)

    @property
    def is_upwork(self) -> bool:
        """True if raters come from Upwork, which files of red-team attempts tell."""
        return self.name.casefold() == "upwork"


def parse_recruit(table: DefinitionTable) -> RecruitSettings | None:
    """Parse the recruitment of a campaign; None if something is wrong."""
    table.check_keys(("kind", "name", "parameter", "addresses", "codes"))
    kind = table.get_choice("kind", RECRUITER_KINDS, "prolific")
    if "kind" not in table.data:
        table.add_error("kind", 'It is missing. Write kind = "prolific", or kind = "link" for any other panel.')
    addresses, codes = _parse_addresses(table), _parse_codes(table, kind)
    if kind == "prolific":
        for key in ("name", "parameter", "addresses"):
            if key in table.data:
                table.add_error(key, 'It is about links of other panels. Remove it, or write kind = "link".')
        return None if table.invalid_keys else RecruitSettings(kind=kind, codes=codes)
    name, parameter = _parse_name(table), _parse_parameter(table)
    if table.invalid_keys:
        return None
    return RecruitSettings(kind=kind, name=name, parameter=parameter, addresses=addresses, codes=codes)


def _parse_name(table: DefinitionTable) -> str:
    name = table.get_text("name") or ""
    if "name" not in table.invalid_keys and not 0 < len(name) <= MAX_NAME_LENGTH:
        problem = "" if name else "It is missing. "
        table.add_error(
            "name",
            f'{problem}Write the name of the panel as raters know it, in up to {MAX_NAME_LENGTH} characters: "Upwork".',
        )
    return name


def _parse_parameter(table: DefinitionTable) -> str:
    parameter = table.get_text("parameter") or ""
    if "parameter" in table.invalid_keys:
        return ""
    if not PARAMETER.fullmatch(parameter):
        value = format_value(parameter) if parameter else "missing"
        table.add_error(
            "parameter",
            f"It is {value}. Name the parameter of the address in which the panel sends its id of "
            'the person, a letter and then letters, digits, _ and -: parameter = "pid".',
        )
    elif parameter.lower() in RESERVED_PARAMETERS:
        table.add_error(
            "parameter", f"The site itself uses {format_list(RESERVED_PARAMETERS)} in addresses. Choose another name."
        )
    return parameter


def _parse_addresses(table: DefinitionTable) -> Mapping[Outcome, str]:
    section = table.get_table("addresses")
    if section is None:
        return _empty()
    section.check_keys(PANEL_OUTCOMES)
    addresses: dict[Outcome, str] = {}
    for outcome in PANEL_OUTCOMES:
        address = section.get_text(outcome)
        if address is not None:
            addresses[outcome] = address
            _check_address(section, outcome, address)
    table.invalid_keys.update({"addresses"} if section.invalid_keys else ())
    return MappingProxyType(addresses)


def _check_address(table: DefinitionTable, outcome: Outcome, address: str) -> None:
    plain = address.replace(ID_PLACEHOLDER, "id")
    if len(address) > MAX_ADDRESS_LENGTH:
        table.add_error(
            outcome, f"It has {len(address):,} characters, and {MAX_ADDRESS_LENGTH:,} are allowed. Shorten it."
        )
        return
    try:
        check_secure_url(plain, "https://panel.example/return?pid={id}")
    except InvalidInput as error:
        table.add_error(outcome, str(error))
        return
    if "{" in plain or "}" in plain or ID_PLACEHOLDER in urlsplit(address).netloc:
        table.add_error(outcome, f"Only {ID_PLACEHOLDER} is filled in, in the path or the query. Remove other braces.")


def _parse_codes(table: DefinitionTable, kind: RecruiterKind) -> CompletionCodes:
    section, prolific = table.get_table("codes"), kind == "prolific"
    if section is None and not prolific:
        return _empty()
    data = {} if section is None else section.data
    try:
        return MappingProxyType(
            parse_completion_codes(data, OUTCOMES if prolific else PANEL_OUTCOMES, required=prolific)
        )
    except InvalidInput as error:
        table.add_error("codes", str(error))
        return _empty()
