"""Parser of campaigns in TOML; one error lists everything that is wrong."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from dissensus.errors import DissensusError, InvalidInput
from dissensus.schema.campaign.attention_check import AttentionCheck
from dissensus.schema.campaign.attention_check_parser import parse_checks
from dissensus.schema.campaign.care import MAX_TOPICS, CareSettings
from dissensus.schema.campaign.chat import ChatSettings
from dissensus.schema.campaign.chat_parser import parse_chat
from dissensus.schema.campaign.definition import (
    DEMOGRAPHICS_POSITIONS,
    NO_QUESTIONS,
    RESPONSE_FORMATS,
    Campaign,
    Consent,
    ConsentPurpose,
    Pay,
)
from dissensus.schema.campaign.gold import Gold, parse_gold
from dissensus.schema.campaign.quota import DEFAULT_HOLD, Quota
from dissensus.schema.campaign.quota_parser import parse_quota
from dissensus.schema.campaign.recruit import RecruitSettings, parse_recruit
from dissensus.schema.campaign.repeat import RepeatSettings, parse_repeat
from dissensus.schema.definition_errors import DefinitionErrors, InvalidDefinition
from dissensus.schema.definition_table import (
    SLUG,
    DefinitionTable,
    check_distinct_names,
    find_text_error,
    make_table,
    read_toml,
)
from dissensus.schema.hints import format_value
from dissensus.schema.money import CURRENCY
from dissensus.schema.questionnaire.checks import NAME, check_languages
from dissensus.schema.questionnaire.definition import Questionnaire, Subject
from dissensus.schema.questionnaire.faults import describe_type
from dissensus.schema.questionnaire.parser import MAX_LANGUAGES, parse_questionnaire
from dissensus.schema.questionnaire.question import Wording
from dissensus.schema.questionnaire.shipped import load_questionnaire
from dissensus.schema.records.pair import PREFERENCE, PairSettings
from dissensus.schema.records.preference import CRITERIA
from dissensus.schema.registered_model import check_registered_model_name

MAX_FILE_LENGTH: Final = 3_000_000
"""Characters of a TOML text, including its questionnaires."""
MAX_PURPOSES: Final = 20
MAX_REGISTERED_MODELS: Final = 10
MAX_COUNT: Final = 1_000_000
"""Upper limit of items, raters, minutes, hours and amounts of pay."""
MAX_SIGNERS: Final = 10
MIN_HOLD: Final = 2 * 24 * 60
"""Fewest minutes for which a seat is held if raters have a limit per day: two days."""
RESERVED_SLUGS: Final = frozenset({"new"})
"""Names that are paths of the site."""

KEYS: Final = (
    *("name", "languages", "title", "warning", "consent", "questionnaire", "chat", "pair", "registered_models"),
    *(
        "demographics",
        "demographics_position",
        "quota",
        "checks",
        "estimated_minutes",
        "recruit",
        "pay",
        "gold",
        "care",
    ),
    *("guidelines", "help", "thanks", "replication", "max_items", "repeat", "max_per_day", "break_every"),
    *("phase", "response_format", "bulk_answers", "click_to_reveal", "show_topic"),
    *("reclaim_after_h", "reports_to_withhold", "release_signers", "seed"),
)

ITEM_KEYS: Final = (
    *("questionnaire", "pair", "checks", "gold"),
    *(
        "phase",
        "replication",
        "max_items",
        "repeat",
        "bulk_answers",
        "click_to_reveal",
        "show_topic",
        "reclaim_after_h",
        "reports_to_withhold",
    ),
)
"""Keys that apply only to campaigns with items."""


def parse_campaign(data: Mapping[str, object] | str) -> Campaign:
    """Parse a campaign from TOML, or from the mapping read from it.

    Examples
    --------
    >>> pilot = parse_campaign('''
    ... name = "pilot"
    ... languages = ["en"]
    ... title = "Is it safe?"
    ... warning = "Some of these conversations are cruel."
    ... questionnaire = "dices-350"
    ... [consent]
    ... text = "We keep your answers for five years."
    ... [[consent.purposes]]
    ... name = "research"
    ... text = "My answers may be used for research."
    ... required = true
    ... ''')
    >>> pilot.questionnaire.name, pilot.replication, [purpose.name for purpose in pilot.consent.purposes]
    ('dices-350', None, ['research'])
    """
    data = read_toml(data, "The campaign", MAX_FILE_LENGTH) if isinstance(data, str) else data
    if not isinstance(data, Mapping):
        raise InvalidInput(
            f"A campaign is a table, and this is {describe_type(data)}. Give its keys, such as name and title."
        )
    notes = DefinitionErrors()
    campaign = _parse_table(make_table(data, notes))
    faults = notes.list_faults()
    if faults or campaign is None:
        raise InvalidDefinition("The campaign", faults)
    return campaign


def _parse_table(table: DefinitionTable) -> Campaign | None:
    table.check_keys(KEYS)
    table.notes.languages = table.get_texts("languages", MAX_LANGUAGES, needed=True)
    check_languages(table)
    if not table.notes.languages and "languages" not in table.invalid_keys:
        table.add_error("languages", 'They are missing. Name those of all texts: languages = ["en"].')
    name = table.get_text("name") or ""
    if name in RESERVED_SLUGS:
        table.add_error("name", f"{name} is an address of the site itself. Choose another one.")
    if "name" not in table.invalid_keys and not SLUG.fullmatch(name):
        table.add_error("name", "Write up to 60 of a to z, 0 to 9 and -, such as pilot-2; it is part of the address.")
    chat, pair = _chat(table), _pair(table)
    questionnaire = NO_QUESTIONS if chat is not None else _item_questionnaire(table, pair)
    demographics = _questionnaire(table, "demographics", "rater") if "demographics" in table.data else None
    consent, replication = _consent(table), _optional_number(table, "replication")
    quota, max_per_day = table.get_table("quota"), _optional_number(table, "max_per_day")
    max_items = _optional_number(table, "max_items")
    # Everything is read before the first return, so that all errors are listed.
    values: dict[str, Any] = {
        "name": name,
        "languages": table.notes.languages,
        "title": _required_wording(table, "title"),
        "warning": _required_wording(table, "warning"),
        "chat": chat,
        "pair": pair,
        "registered_models": _registered_models(table, compares=chat is not None or pair is not None),
        "demographics": demographics,
        "demographics_position": table.get_choice("demographics_position", DEMOGRAPHICS_POSITIONS, "after"),
        "quota": None if quota is None else _quota(quota, demographics, replication, max_per_day),
        "checks": _checks(table, max_items),
        "estimated_minutes": _optional_number(table, "estimated_minutes"),
        "recruit": _recruit(table),
        "pay": _pay(table),
        "gold": _gold(table, questionnaire or NO_QUESTIONS),
        "care": _care(table),
        "guidelines": table.get_wording("guidelines"),
        "help": table.get_wording("help"),
        "thanks": table.get_wording("thanks"),
        "phase": table.get_text("phase"),
        "replication": replication,
        "max_items": max_items,
        "repeat": _repeat(table),
        "max_per_day": max_per_day,
        "break_every": table.get_number("break_every", 20, MAX_COUNT, least=0),
        "response_format": table.get_choice("response_format", RESPONSE_FORMATS, "plain"),
        "bulk_answers": table.get_flag("bulk_answers", default=False),
        "click_to_reveal": table.get_flag("click_to_reveal", default=False),
        "show_topic": _show_topic(table),
        "reclaim_after_h": table.get_number("reclaim_after_h", 48, MAX_COUNT),
        "reports_to_withhold": table.get_number("reports_to_withhold", 2, MAX_COUNT),
        "release_signers": _optional_number(table, "release_signers", MAX_SIGNERS),
        "seed": table.get_number("seed", 0, 2**32 - 1, least=0),
    }
    if questionnaire is None or consent is None:
        return None
    return Campaign(questionnaire=questionnaire, consent=consent, **values)


def _repeat(table: DefinitionTable) -> RepeatSettings | None:
    repeat = table.get_table("repeat")
    return None if repeat is None else parse_repeat(repeat)


def _show_topic(table: DefinitionTable) -> bool:
    """Return whether covers show the topic; record an error if conversations are not covered."""
    shown = table.get_flag("show_topic", default=False)
    if shown and table.data.get("click_to_reveal", False) is False:
        table.add_error("show_topic", "It is about covered conversations. Write click_to_reveal = true, or remove it.")
    return shown


def _required_wording(table: DefinitionTable, key: str) -> Wording:
    """Return a wording; record an error if it is missing."""
    if key not in table.data:
        table.add_error(key, "It is missing. Write what raters read.")
    return table.get_wording(key)


def _optional_number(table: DefinitionTable, key: str, most: int = MAX_COUNT) -> int | None:
    return table.get_number(key, 1, most) if key in table.data else None


def _consent(table: DefinitionTable) -> Consent | None:
    consent = table.get_table("consent")
    if consent is None:
        if "consent" not in table.invalid_keys:
            table.add_error(
                "consent", "It is missing. Write [consent] with a text and at least one [[consent.purposes]]."
            )
        return None
    consent.check_keys(("text", "purposes"))
    purposes = tuple(map(_purpose, consent.get_tables("purposes", MAX_PURPOSES)))
    if not consent.data.get("purposes"):
        consent.add_error("purposes", "They are missing. Write at least one [[consent.purposes]].")
    elif not any(purpose.required for purpose in purposes) and not consent.invalid_keys:
        consent.add_error("purposes", "None is required. Mark at least one as required to take part.")
    check_distinct_names(consent, "purposes", [purpose.name for purpose in purposes])
    return Consent(text=_required_wording(consent, "text"), purposes=purposes)


def _quota(
    table: DefinitionTable, demographics: Questionnaire | None, replication: int | None, max_per_day: int | None
) -> Quota | None:
    """Return the quota; record a hold that ends before raters return after the limit of a day."""
    quota = parse_quota(table, demographics, replication)
    hold = table.data.get("hold_minutes", DEFAULT_HOLD)
    if max_per_day is not None and type(hold) is int and 0 < hold < MIN_HOLD:
        table.add_error(
            "hold_minutes",
            "With max_per_day raters are told to come back tomorrow, and their seats would be gone. Write "
            f"{MIN_HOLD:,} or more, which is two days.",
        )
    return quota


def _chat(table: DefinitionTable) -> ChatSettings | None:
    chat = table.get_table("chat")
    for key in ITEM_KEYS if chat is not None else ():
        if key in table.data:
            table.add_error(key, "It is about items, and with [chat] there are none. Remove it.")
    return None if chat is None else parse_chat(chat)


def _pair(table: DefinitionTable) -> PairSettings | None:
    pair = table.get_table("pair")
    if pair is None:
        return None
    pair.check_keys(("criterion", "allow_ties"))
    if "criterion" not in pair.data:
        pair.add_error("criterion", 'It is missing. Write which response raters pick: criterion = "more helpful".')
    if "gold" in table.data:
        table.add_error("gold", "Experts label one response, and with [pair] an item has two. Remove it.")
    return PairSettings(
        criterion=pair.get_choice("criterion", CRITERIA, "more helpful"),
        allow_ties=pair.get_flag("allow_ties", default=False),
    )


def _registered_models(table: DefinitionTable, *, compares: bool) -> tuple[str, ...]:
    """Return the names of the registered models that learn from the preferences of raters."""
    names = table.get_texts("registered_models", MAX_REGISTERED_MODELS)
    if names and not compares:
        table.add_error(
            "registered_models", "Models learn from preferences, which require [chat] or [pair]. Remove it."
        )
    for name in names:
        try:
            check_registered_model_name(name)
        except InvalidInput as error:
            table.add_error("registered_models", str(error))
    return names


def _item_questionnaire(table: DefinitionTable, pair: PairSettings | None) -> Questionnaire | None:
    """Return all questions about an item; for pairs the preference comes first, and may be the only one."""
    if pair is None:
        return _questionnaire(table, "questionnaire", "item")
    questionnaire: Questionnaire | None = Questionnaire(
        name="preference", questions=(), overalls={}, languages=table.notes.languages
    )
    if "questionnaire" in table.data:
        questionnaire = _questionnaire(table, "questionnaire", "item")
    if questionnaire is None:
        return None
    if PREFERENCE in questionnaire.columns:
        table.add_error("questionnaire", f"With [pair] {PREFERENCE} is asked already. Give your question another name.")
    return pair.add_preference(questionnaire)


def _checks(table: DefinitionTable, max_items: int | None) -> tuple[AttentionCheck, ...]:
    checks = parse_checks(table, max_items)
    if any(check.is_attention_check for check in checks) and "estimated_minutes" not in table.data:
        table.add_error(
            "estimated_minutes",
            "It is missing. Write how long the work takes: it determines how many attention checks a rater may fail.",
        )
    return checks


def _recruit(table: DefinitionTable) -> RecruitSettings | None:
    recruit = table.get_table("recruit")
    return None if recruit is None else parse_recruit(recruit)


def _pay(table: DefinitionTable) -> Pay | None:
    pay = table.get_table("pay")
    if pay is None:
        return None
    pay.check_keys(("currency", "hourly_rate", "finished", "screened_out"))
    currency = pay.get_text("currency") or ""
    if "currency" not in pay.invalid_keys and not CURRENCY.fullmatch(currency):
        value = format_value(currency) if currency else "missing"
        pay.add_error("currency", f'It is {value}. Write its code of three letters: currency = "GBP".')
    amounts = {
        name: pay.get_number(name, 0, MAX_COUNT, least=0) for name in ("hourly_rate", "finished", "screened_out")
    }
    if "hourly_rate" not in pay.data:
        pay.add_error("hourly_rate", "It is missing. Write what an hour of work is paid, in minor units such as cents.")
    return None if pay.invalid_keys else Pay(currency=currency, **amounts)


def _gold(table: DefinitionTable, questionnaire: Questionnaire) -> Gold | None:
    gold = table.get_table("gold")
    return None if gold is None else parse_gold(gold, questionnaire)


def _care(table: DefinitionTable) -> CareSettings | None:
    care = table.get_table("care")
    if care is None:
        return None
    care.check_keys(("survey", "survey_every", "contact", "topics"))
    survey = _questionnaire(replace(care, data={"survey": "care-survey", **care.data}), "survey", "rater")
    survey_every, contact = care.get_number("survey_every", 10, MAX_COUNT), care.get_wording("contact")
    if survey is None:
        return None
    survey = replace(survey, questions=tuple(replace(question, required=False) for question in survey.questions))
    return CareSettings(
        survey=survey, survey_every=survey_every, contact=contact, topics=MappingProxyType(_topics(table, care))
    )


def _topics(table: DefinitionTable, care: DefinitionTable) -> dict[str, Wording]:
    topics = care.get_table("topics", MAX_TOPICS)
    if topics is None:
        return {}
    if "chat" in table.data:
        care.add_error("topics", "They are topics of items, and with [chat] there are none. Remove them.")
    for name in topics.data:
        if find_text_error(name) is not None or "," in name or len(name.splitlines()) != 1:
            topics.add_error(name, "Name a topic as items do, on one line, without a comma, which separates topics.")
    return {name: topics.get_wording(name) for name in topics.data}


def _purpose(table: DefinitionTable) -> ConsentPurpose:
    table.check_keys(("name", "text", "required"))
    name = table.get_text("name") or ""
    if "name" not in table.invalid_keys and not NAME.fullmatch(name):
        table.add_error("name", "Name a purpose by a letter, then letters, digits and _ (a to z alone).")
    return ConsentPurpose(
        name=name, text=_required_wording(table, "text"), required=table.get_flag("required", default=False)
    )


def _questionnaire(table: DefinitionTable, key: str, about: Subject) -> Questionnaire | None:
    """Return a questionnaire that is written as a table, or named if it ships with the package."""
    value = table.data.get(key)
    if not isinstance(value, (str, Mapping)):
        description = "missing" if value is None else describe_type(value)
        table.add_error(key, f"It is {description}. Name one that ships, such as dices-350, or write it as a table.")
        return None
    try:
        questionnaire = load_questionnaire(value) if isinstance(value, str) else parse_questionnaire(value)
    except DissensusError as error:
        table.add_error(key, str(error), error)
        return None
    name, languages = questionnaire.name, questionnaire.languages
    if questionnaire.about != about:
        table.add_error(key, f"{name} asks about the {questionnaire.about}. Give one about the {about}.")
    missing = [language for language in table.notes.languages if language not in languages]
    if missing:
        table.add_error(key, f"{name} has no wordings in {', '.join(missing)}. Add them, or take the language out.")
    return questionnaire
