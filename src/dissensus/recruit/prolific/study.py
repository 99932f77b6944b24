"""Definition of a Prolific study, and its request body."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

from dissensus.errors import InvalidInput
from dissensus.recruit.prolific.entry import PROLIFIC_ID, entry_url
from dissensus.schema.campaign.completion_codes import CompletionCodes, Outcome, parse_completion_codes
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.numbers import check_whole
from dissensus.schema.questionnaire.faults import combine_problems

Device: TypeAlias = Literal["desktop", "tablet", "mobile"]
DEVICES: Final[tuple[Device, ...]] = get_args(Device)

MAX_NAME_LENGTH: Final = 255
MAX_NUMBER: Final = 1_000_000
"""Places, minutes or minor units: no study needs more."""
CODE_TYPES: Final[Mapping[Outcome, str]] = {
    "completed": "COMPLETED",
    "screened_out": "OTHER",
    "quota_full": "OTHER",
    "no_consent": "NO_CONSENT",
    "failed_attention": "FAILED_ATTENTION_CHECK",
}
NO_CONSENT_REASON: Final = "Did not agree to take part; nothing was kept."


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyFilter:
    """Filter of a Prolific study: selected values, or a range."""

    name: str  # Id of the filter
    values: tuple[str, ...] = ()  # Ids of its choices, any of which will do
    least: int | None = None  # Ends of a range, both included; None for no end
    most: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenOut:
    """A fixed payment for who is sent away. Prolific has one such code a study."""

    reward: int  # Minor units of the currency, less than the reward of the study
    places: int  # Number of are paid so before Prolific pauses the study
    # Who: those whose cell is full, or those who are screened out. The others are reviewed by hand.
    outcome: Literal["quota_full", "screened_out"] = "quota_full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """All that Prolific is told about a campaign."""

    name: str  # What people read on Prolific
    description: str
    address: str  # Where the campaign is entered, without ids
    places: int  # Number of people. They can be made more later, and never fewer.
    minutes: int  # How long it takes
    reward: int  # For all of it, in minor units of the currency of the account
    codes: CompletionCodes  # The code of each outcome
    screen_out: ScreenOut | None = None  # Payment of who is sent away; None where all of them are reviewed by hand
    filters: tuple[StudyFilter, ...] = ()  # All must hold; none for everybody
    devices: tuple[Device, ...] = ()
    warning: str | None = None  # What the conversations may hold, shown before people decide; None for no warning
    project: str | None = None  # Id of the project that it belongs to; None for the default one


def study_body(study: Study) -> dict[str, Any]:
    """Return what is sent to make a study.

    Examples
    --------
    >>> codes = {name: f"CODE0{place}" for place, name in enumerate(CODE_TYPES)}
    >>> pilot = Study(name="Pilot", description="Rate answers.", address="https://rate.example/c/pilot", places=5,
    ...               minutes=30, reward=600, codes=codes)
    >>> study_body(pilot)["completion_codes"][0]["actions"]
    [{'action': 'AUTOMATICALLY_APPROVE'}]
    """
    faults = list(_faults(study))
    if faults:
        raise combine_problems("The study", faults)
    body = {
        "name": study.name,
        "description": study.description,
        "external_study_url": entry_url(study.address),
        "prolific_id_option": "url_parameters",
        "completion_codes": [_completion_code(study, outcome) for outcome in CODE_TYPES],
        "total_available_places": study.places,
        "estimated_completion_time": study.minutes,
        "reward": study.reward,
        "device_compatibility": list(study.devices or DEVICES),
        "filters": [_filter_body(one) for one in study.filters],
    }
    if study.warning is not None:
        body |= {"content_warnings": ["sensitive"], "content_warning_details": study.warning}
    return body if study.project is None else {**body, "project": study.project}


def _completion_code(study: Study, outcome: Outcome) -> dict[str, Any]:
    paid, code_type = study.screen_out, CODE_TYPES[outcome]
    action: dict[str, Any] = {"action": "MANUALLY_REVIEW"}
    if paid is not None and outcome == paid.outcome:
        code_type = "FIXED_SCREENOUT"
        payment = {"fixed_screen_out_reward": paid.reward, "slots": paid.places}
        action = {"action": "FIXED_SCREEN_OUT_PAYMENT", **payment}
    elif outcome == "completed":
        action = {"action": "AUTOMATICALLY_APPROVE"}
    elif outcome == "no_consent":
        action = {"action": "REQUEST_RETURN", "return_reason": NO_CONSENT_REASON}
    return {"code": study.codes[outcome], "code_type": code_type, "actor": "participant", "actions": [action]}


def _filter_body(one: StudyFilter) -> dict[str, Any]:
    if one.values:
        return {"filter_id": one.name, "selected_values": list(one.values)}
    return {"filter_id": one.name, "selected_range": {"lower": one.least, "upper": one.most}}


def _faults(study: Study) -> Iterator[str]:
    for name in ("name", "description", "warning"):
        text = getattr(study, name)
        if text is not None and not text.strip():
            yield f"{name}: It is blank. Write what people read."
    if len(study.name) > MAX_NAME_LENGTH:
        yield f"name: It has {len(study.name):,} characters, and {MAX_NAME_LENGTH} are allowed. Shorten it."
    for name in ("places", "minutes", "reward"):
        yield from _check_faults(check_whole, name, getattr(study, name), 1, MAX_NUMBER)
    yield from _check_faults(entry_url, study.address)
    yield from _check_faults(parse_completion_codes, study.codes)
    if study.screen_out is not None:
        yield from _screen_out_faults(study.screen_out, study.reward)
    for one in study.filters:
        if not one.name or bool(one.values) == (one.least is not None or one.most is not None):
            yield f"filters: {format_value(one.name)} needs values or a range, and not both."
    wrong = [one for one in study.devices if one not in DEVICES]
    if wrong or len(set(study.devices)) < len(study.devices):
        devices, allowed = format_list(study.devices), format_list(DEVICES)
        yield f"devices: They are {devices}. Name each once of {allowed}, or none for all."
    if study.project is not None and not PROLIFIC_ID.fullmatch(study.project):
        yield f"project: {format_value(study.project)} is no id of Prolific. It has 24 hexadecimal digits."


def _screen_out_faults(screen_out: ScreenOut, reward: int) -> Iterator[str]:
    yield from _check_faults(check_whole, "screen_out.places", screen_out.places, 1, MAX_NUMBER)
    yield from _check_faults(
        check_whole, "screen_out.reward, less than that of the study,", screen_out.reward, 1, reward - 1
    )
    if screen_out.outcome not in ("quota_full", "screened_out"):
        outcome = format_value(screen_out.outcome)
        yield f"screen_out.outcome: It is {outcome}. Allowed are 'quota_full' and 'screened_out'."


def _check_faults(check: Any, *given: object) -> Iterator[str]:
    """Yield what a check refuses."""
    try:
        check(*given)
    except InvalidInput as error:
        yield str(error)
