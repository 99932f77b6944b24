"""Parser of campaigns in TOML; one error lists everything that is wrong."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from dissensus.errors import DissensusError, InvalidInput
from dissensus.schema.campaign.attention_check import AttentionCheck
from dissensus.schema.campaign.attention_check_parser import parse_checks
from dissensus.schema.campaign.care import MAX_TOPICS, CareSettings
from dissensus.schema.campaign.chat import ChatSettings
from dissensus.schema.campaign.chat_parser import parse_chat
from dissensus.schema.campaign.completion_codes import ProlificSettings, parse_completion_codes
from dissensus.schema.campaign.definition import (
    CURRENCY,
    DEMOGRAPHICS_POSITIONS,
    NO_QUESTIONS,
    Campaign,
    Consent,
    ConsentPurpose,
    Pay,
)
from dissensus.schema.campaign.gold import Gold, parse_gold
from dissensus.schema.campaign.quota import DEFAULT_HOLD
from dissensus.schema.campaign.quota_parser import parse_quota
from dissensus.schema.definition_table import (
    SLUG,
    DefinitionErrors,
    DefinitionTable,
    find_text_error,
    make_table,
    read_toml,
)
from dissensus.schema.hints import format_value
from dissensus.schema.questionnaire.checks import NAME, check_languages
from dissensus.schema.questionnaire.definition import Questionnaire, Subject
from dissensus.schema.questionnaire.faults import combine_problems, describe_type
from dissensus.schema.questionnaire.parser import MAX_LANGUAGES, parse_questionnaire
from dissensus.schema.questionnaire.question import Wording
from dissensus.schema.questionnaire.shipped import load_questionnaire
from dissensus.schema.records.pair import PREFERENCE, PairSettings
from dissensus.schema.records.preference import CRITERIA
from dissensus.schema.registered_model import check_registered_model_name

MAX_FILE_LENGTH: Final = 3_000_000
"""Characters of a TOML text, both questionnaires among them."""
MAX_PURPOSES: Final = 20
MAX_REGISTERED_MODELS: Final = 10
MAX_COUNT: Final = 1_000_000
"""Of items, raters or hours: no campaign needs more."""
MIN_HOLD: Final = 2 * 24 * 60
RESERVED_SLUGS: Final = frozenset({"new"})
"""Names that addresses of the site have."""

KEYS: Final = (
    *("name", "languages", "title", "warning", "consent", "questionnaire", "chat", "pair", "registered_models"),
    *("demographics", "demographics_placed", "quota", "checks", "minutes", "prolific", "pay", "gold", "care"),
    *("help", "thanks"),
    *("replication", "most_items", "most_a_day", "break_every", "preview", "reclaim_after_h", "seed"),
)

ITEM_KEYS: Final = (
    *("questionnaire", "pair", "checks", "gold"),
    *("replication", "most_items", "preview", "reclaim_after_h"),
)
"""What means something where items are rated alone."""


def parse_campaign(data: Mapping[str, object] | str) -> Campaign:
    """Return the campaign that a TOML text, or the mapping read from it, describes.

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
        raise InvalidInput(f"A campaign is a table, and this is {describe_type(data)}. docs/campaigns.md shows one.")
    notes = DefinitionErrors()
    found = _campaign(make_table(data, notes))
    faults = notes.list_messages()
    if faults or found is None:
        raise combine_problems("The campaign", faults)
    return found


def _campaign(table: DefinitionTable) -> Campaign | None:
    table.check_keys(KEYS)
    table.notes.languages = table.get_texts("languages", MAX_LANGUAGES, needed=True)
    check_languages(table)
    if not table.notes.languages and "languages" not in table.invalid_keys:
        table.add_error("languages", 'They are missing. Name those of all texts: languages = ["en"].')
    name = table.get_text("name") or ""
    if name in RESERVED_SLUGS:
        table.add_error("name", f"{name} is an address of the site itself. Choose another one.")
    if "name" not in table.invalid_keys and not SLUG.fullmatch(name):
        table.add_error("name", "Write up to 60 of a to z, 0 to 9 and -, such as pilot-2; it stands in the address.")
    chat, pair = _chat(table), _pair(table)
    questionnaire = NO_QUESTIONS if chat is not None else _item_questionnaire(table, pair)
    demographics = _questionnaire(table, "demographics", "rater") if "demographics" in table.data else None
    consent, replication = _consent(table), _optional_number(table, "replication")
    quota, most_a_day = table.get_table("quota"), _optional_number(table, "most_a_day")
    if quota is not None and most_a_day is not None:
        _check_hold(quota)
    checks = _checks(table)
    if questionnaire is None or consent is None:
        return None
    return Campaign(
        name=name,
        languages=table.notes.languages,
        title=_required_wording(table, "title"),
        warning=_required_wording(table, "warning"),
        consent=consent,
        questionnaire=questionnaire,
        chat=chat,
        pair=pair,
        registered_models=_registered_models(table, compares=chat is not None or pair is not None),
        demographics=demographics,
        demographics_placed=table.get_choice("demographics_placed", DEMOGRAPHICS_POSITIONS, "after"),
        quota=None if quota is None else parse_quota(quota, demographics, replication),
        checks=checks,
        minutes=_optional_number(table, "minutes"),
        prolific=_prolific(table),
        pay=_pay(table),
        gold=_gold(table, questionnaire),
        care=_care(table),
        help=table.get_wording("help"),
        thanks=table.get_wording("thanks"),
        replication=replication,
        most_items=_optional_number(table, "most_items"),
        most_a_day=most_a_day,
        break_every=table.get_number("break_every", 20, MAX_COUNT, least=0),
        preview=table.get_flag("preview", default=False),
        reclaim_after_h=table.get_number("reclaim_after_h", 48, MAX_COUNT),
        seed=table.get_number("seed", 0, 2**32 - 1, least=0),
    )


def _required_wording(table: DefinitionTable, key: str) -> Wording:
    """Return a wording that raters cannot do without."""
    if key not in table.data:
        table.add_error(key, "It is missing. Write what raters read.")
    return table.get_wording(key)


def _optional_number(table: DefinitionTable, key: str) -> int | None:
    return table.get_number(key, 1, MAX_COUNT) if key in table.data else None


def _consent(table: DefinitionTable) -> Consent | None:
    every = table.get_table("consent")
    if every is None:
        if "consent" not in table.invalid_keys:
            table.add_error(
                "consent", "It is missing. Write [consent] with a text and at least one [[consent.purposes]]."
            )
        return None
    every.check_keys(("text", "purposes"))
    purposes = tuple(map(_purpose, every.get_tables("purposes", MAX_PURPOSES)))
    if not any(purpose.required for purpose in purposes) and not every.invalid_keys:
        every.add_error("purposes", "None is required. Name at least one without which nobody can take part.")
    if len({purpose.name for purpose in purposes}) < len(purposes):
        every.add_error("purposes", "Two have one name. Give each its own.")
    return Consent(text=_required_wording(every, "text"), purposes=purposes)


def _check_hold(quota: DefinitionTable) -> None:
    """Refuse seats that are given away from who was sent home for the day."""
    if quota.get_number("hold_minutes", DEFAULT_HOLD, MAX_COUNT) < MIN_HOLD:
        quota.add_error(
            "hold_minutes",
            "With most_a_day raters are told to come back tomorrow, and their seats would be gone. Write "
            f"{MIN_HOLD:,} or more, which is two days.",
        )


def _chat(table: DefinitionTable) -> ChatSettings | None:
    """Return how people talk with chatbots, where they do and rate nothing."""
    found = table.get_table("chat")
    for key in ITEM_KEYS if found is not None else ():
        if key in table.data:
            table.add_error(key, "It is about items, and with [chat] there are none. Take it out.")
    return None if found is None else parse_chat(found)


def _pair(table: DefinitionTable) -> PairSettings | None:
    """Return how raters compare two responses, where they do."""
    found = table.get_table("pair")
    if found is None:
        return None
    found.check_keys(("compared", "equal"))
    if "compared" not in found.data:
        found.add_error("compared", 'It is missing. Write which response raters pick: compared = "more helpful".')
    if "gold" in table.data:
        table.add_error("gold", "Experts label one response, and with [pair] an item has two. Take it out.")
    return PairSettings(
        compared=found.get_choice("compared", CRITERIA, "more helpful"), equal=found.get_flag("equal", default=False)
    )


def _registered_models(table: DefinitionTable, *, compares: bool) -> tuple[str, ...]:
    """Return the names of the registered models that learn from what raters prefer."""
    found = table.get_texts("registered_models", MAX_REGISTERED_MODELS)
    if found and not compares:
        table.add_error(
            "registered_models", "Models learn from what raters prefer, which takes [chat] or [pair]. Take it out."
        )
    for name in found:
        try:
            check_registered_model_name(name)
        except InvalidInput as error:
            table.add_error("registered_models", str(error))
    return found


def _item_questionnaire(table: DefinitionTable, pair: PairSettings | None) -> Questionnaire | None:
    """Return all that is asked about an item; of pairs that may be the preference alone."""
    if pair is None:
        return _questionnaire(table, "questionnaire", "item")
    further: Questionnaire | None = Questionnaire(
        name="preference", questions=(), overalls={}, languages=table.notes.languages
    )
    if "questionnaire" in table.data:
        further = _questionnaire(table, "questionnaire", "item")
    if further is None:
        return None
    if PREFERENCE in further.columns:
        table.add_error("questionnaire", f"With [pair] {PREFERENCE} is asked already. Give your question another name.")
    return pair.asked(further)


def _checks(table: DefinitionTable) -> tuple[AttentionCheck, ...]:
    checks = parse_checks(table, _optional_number(table, "most_items"))
    if any(check.of_attention for check in checks) and "minutes" not in table.data:
        table.add_error(
            "minutes",
            "It is missing. Write how long the work takes: how many checks of attention somebody may fail depends on "
            "that.",
        )
    return checks


def _prolific(table: DefinitionTable) -> ProlificSettings | None:
    found = table.get_table("prolific")
    if found is None:
        return None
    found.check_keys(("codes",))
    codes = found.get_table("codes")
    try:
        return ProlificSettings(codes=MappingProxyType(parse_completion_codes({} if codes is None else codes.data)))
    except InvalidInput as error:
        found.add_error("codes", str(error))
        return None


def _pay(table: DefinitionTable) -> Pay | None:
    found = table.get_table("pay")
    if found is None:
        return None
    found.check_keys(("currency", "hour", "finished", "screened_out"))
    currency = found.get_text("currency", "") or ""
    if "currency" not in found.invalid_keys and not CURRENCY.fullmatch(currency):
        found.add_error(
            "currency", f'It is {format_value(currency)}. Write its code of three letters: currency = "GBP".'
        )
    amounts = {name: found.get_number(name, 0, MAX_COUNT, least=0) for name in ("hour", "finished", "screened_out")}
    if "hour" not in found.data:
        found.add_error("hour", "It is missing. Write what an hour of work is paid, in minor units such as cents.")
    return None if found.invalid_keys else Pay(currency=currency, **amounts)


def _gold(table: DefinitionTable, questionnaire: Questionnaire) -> Gold | None:
    found = table.get_table("gold")
    return None if found is None else parse_gold(found, questionnaire)


def _care(table: DefinitionTable) -> CareSettings | None:
    found = table.get_table("care")
    if found is None:
        return None
    found.check_keys(("survey", "every", "contact", "topics"))
    survey = _questionnaire(replace(found, data={"survey": "feelings", **found.data}), "survey", "rater")
    every, contact = found.get_number("every", 10, MAX_COUNT), found.get_wording("contact")
    if survey is None:
        return None
    survey = replace(survey, questions=tuple(replace(question, required=False) for question in survey.questions))
    return CareSettings(survey=survey, every=every, contact=contact, topics=MappingProxyType(_topics(table, found)))


def _topics(table: DefinitionTable, care: DefinitionTable) -> dict[str, Wording]:
    found = care.get_table("topics", MAX_TOPICS)
    if found is None:
        return {}
    if "chat" in table.data:
        care.add_error("topics", "They are topics of items, and with [chat] there are none. Take them out.")
    for name in found.data:
        if find_text_error(name) is not None or "," in name or name != name.strip():
            found.add_error(name, "Name a topic as items do, without a comma, which stands between topics.")
    return {name: found.get_wording(name) for name in found.data}


def _purpose(table: DefinitionTable) -> ConsentPurpose:
    table.check_keys(("name", "text", "required"))
    name = table.get_text("name") or ""
    if "name" not in table.invalid_keys and not NAME.fullmatch(name):
        table.add_error("name", "Name a purpose by a letter, then letters, digits and _ (a to z alone).")
    return ConsentPurpose(
        name=name, text=_required_wording(table, "text"), required=table.get_flag("required", default=False)
    )


def _questionnaire(table: DefinitionTable, key: str, about: Subject) -> Questionnaire | None:
    """Return a questionnaire given whole, or by the name of one that ships with the package."""
    value = table.data.get(key)
    read: Callable[[], Questionnaire]
    match value:
        case str():
            read = lambda: load_questionnaire(value)  # noqa: E731
        case Mapping():
            read = lambda: parse_questionnaire(value)  # noqa: E731
        case _:
            table.add_error(
                key, f"It is {describe_type(value)}. Name one that ships, such as dices-350, or write it as a table."
            )
            return None
    try:
        found = read()
    except DissensusError as error:
        table.add_error(key, str(error))
        return None
    if found.about != about:
        table.add_error(key, f"{found.name} asks about the {found.about}. Give one about the {about}.")
    lacking = [language for language in table.notes.languages if language not in found.languages]
    if lacking:
        table.add_error(
            key, f"{found.name} has no wordings in {', '.join(lacking)}. Add them, or take the language out."
        )
    return found
