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
"""Upper limit of places, minutes and minor units."""
CODE_TYPES: Final[Mapping[Outcome, str]] = {
    "completed": "COMPLETED",
    "screened_out": "OTHER",
    "quota_full": "OTHER",
    "no_consent": "NO_CONSENT",
    "failed_attention": "FAILED_ATTENTION_CHECK",
}
NO_CONSENT_REASON: Final = "Did not agree to take part; nothing was stored."


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyFilter:
    """Filter of the participants of a study: selected values, or a range."""

    name: str  # Id of the filter
    values: tuple[str, ...] = ()  # Ids of the accepted choices
    least: int | None = None  # Bounds of a range, inclusive; None for no bound
    most: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenOut:
    """Fixed payment for screened-out participants. Prolific allows one such code per study."""

    reward: int  # Minor units of the currency, less than the reward of the study
    places: int  # Number of such payments before Prolific pauses the study
    # The outcome that is paid; submissions with the other one are reviewed by hand.
    outcome: Literal["quota_full", "screened_out"] = "quota_full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """Definition of a study on Prolific."""

    name: str  # Title on Prolific
    description: str
    address: str  # Entry URL of the campaign, without ids
    places: int  # Number of participants; it can be raised later, but not lowered
    minutes: int  # Expected duration
    reward: int  # Pay in minor units of the currency of the account
    codes: CompletionCodes  # Completion code of each outcome
    screen_out: ScreenOut | None = None  # Screen-out payment; None to review all such submissions by hand
    filters: tuple[StudyFilter, ...] = ()  # All must hold
    devices: tuple[Device, ...] = ()  # Empty for all devices
    warning: str | None = None  # Content warning, shown before people take part
    project: str | None = None  # Id of a project; None for the default one


def study_body(study: Study) -> dict[str, Any]:
    """Return the request body that creates a study, or raise `InvalidInput` with all faults.

    Examples
    --------
    >>> codes = {name: f"CODE0{index}" for index, name in enumerate(CODE_TYPES)}
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
        "filters": [_filter_body(study_filter) for study_filter in study.filters],
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


def _filter_body(study_filter: StudyFilter) -> dict[str, Any]:
    if study_filter.values:
        return {"filter_id": study_filter.name, "selected_values": list(study_filter.values)}
    return {"filter_id": study_filter.name, "selected_range": {"lower": study_filter.least, "upper": study_filter.most}}


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
    for study_filter in study.filters:
        has_range = study_filter.least is not None or study_filter.most is not None
        if not study_filter.name or bool(study_filter.values) == has_range:
            yield f"filters: {format_value(study_filter.name)} needs values or a range, and not both."
    wrong = [device for device in study.devices if device not in DEVICES]
    if wrong or len(set(study.devices)) < len(study.devices):
        devices, allowed = format_list(study.devices), format_list(DEVICES)
        yield f"devices: They are {devices}. Name each once of {allowed}, or none for all."
    if study.project is not None and not PROLIFIC_ID.fullmatch(study.project):
        yield f"project: {format_value(study.project)} is not an id of Prolific. It has 24 hexadecimal digits."


def _screen_out_faults(screen_out: ScreenOut, reward: int) -> Iterator[str]:
    yield from _check_faults(check_whole, "screen_out.places", screen_out.places, 1, MAX_NUMBER)
    faults = tuple(_check_faults(check_whole, "screen_out.reward", screen_out.reward, 1, MAX_NUMBER))
    yield from faults
    if not faults and type(reward) is int and screen_out.reward >= reward:
        yield f"screen_out.reward: It is {screen_out.reward:,}. Give less than the reward of the study, {reward:,}."
    if screen_out.outcome not in ("quota_full", "screened_out"):
        outcome = format_value(screen_out.outcome)
        yield f"screen_out.outcome: It is {outcome}. Allowed are 'quota_full' and 'screened_out'."


def _check_faults(check: Any, *values: object) -> Iterator[str]:
    """Yield the message of a failed check."""
    try:
        check(*values)
    except InvalidInput as error:
        yield str(error)
