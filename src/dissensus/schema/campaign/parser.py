"""From TOML to a campaign: every key is read, everything that is wrong is told at once."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from dissensus.errors import DissensusError, InvalidInput
from dissensus.schema.campaign.attention_check import Check
from dissensus.schema.campaign.attention_check_parser import checks_from
from dissensus.schema.campaign.care import MOST_TOPICS, Care
from dissensus.schema.campaign.chat import Chat
from dissensus.schema.campaign.chat_parser import chat_from
from dissensus.schema.campaign.completion_codes import Prolific, codes_from
from dissensus.schema.campaign.definition import NO_QUESTIONS, PLACES, Campaign, Consent, Purpose
from dissensus.schema.campaign.gold import Gold, gold_from
from dissensus.schema.campaign.pay import CURRENCY, Pay
from dissensus.schema.campaign.quota import HOLD
from dissensus.schema.campaign.quota_parser import quota_from
from dissensus.schema.definition_table import SLUG, DefinitionErrors, DefinitionTable, find_text_error, read_toml, make_table
from dissensus.schema.hints import format_value
from dissensus.schema.questionnaire.checks import NAME, check_languages
from dissensus.schema.questionnaire.definition import Subject, Questionnaire
from dissensus.schema.questionnaire.faults import describe_type, combine_problems
from dissensus.schema.questionnaire.parser import MAX_LANGUAGES, parse_questionnaire
from dissensus.schema.questionnaire.question import Wording
from dissensus.schema.questionnaire.shipped import load_questionnaire
from dissensus.schema.records.pair import PREFERENCE, Pair
from dissensus.schema.records.preference import ASKED
from dissensus.schema.registered_model import check_registered_model_name

LARGEST_FILE: Final = 3_000_000
"""Characters of a TOML text, both questionnaires among them."""
MOST_PURPOSES: Final = 20
MOST_LINES: Final = 10
MOST: Final = 1_000_000
"""Of items, raters or hours: no campaign needs more."""
SHORTEST_HOLD: Final = 2 * 24 * 60
TAKEN: Final = frozenset({"new"})
"""Names that addresses of the site have."""

KEYS: Final = (
    *("name", "languages", "title", "warning", "consent", "questionnaire", "chat", "pair", "lines"),
    *("demographics", "demographics_placed", "quota", "checks", "minutes", "prolific", "pay", "gold", "care"),
    *("help", "thanks"),
    *("replication", "most_items", "most_a_day", "break_every", "preview", "reclaim_after_h", "seed"),
)

OF_ITEMS: Final = (
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
    data = read_toml(data, "The campaign", LARGEST_FILE) if isinstance(data, str) else data
    if not isinstance(data, Mapping):
        raise InvalidInput(f"A campaign is a table, and this is {describe_type(data)}. docs/campaigns.md shows one.")
    notes = DefinitionErrors()
    found = _campaign(make_table(data, notes))
    faults = notes.told()
    if faults or found is None:
        raise combine_problems("The campaign", faults)
    return found


def _campaign(table: DefinitionTable) -> Campaign | None:
    table.only(KEYS)
    table.notes.languages = table.texts("languages", MAX_LANGUAGES, needed=True)
    check_languages(table)
    if not table.notes.languages and "languages" not in table.wrong:
        table.note("languages", 'They are missing. Name those of all texts: languages = ["en"].')
    name = table.text("name") or ""
    if name in TAKEN:
        table.note("name", f"{name} is an address of the site itself. Choose another one.")
    if "name" not in table.wrong and not SLUG.fullmatch(name):
        table.note("name", "Write up to 60 of a to z, 0 to 9 and -, such as pilot-2; it stands in the address.")
    chat, pair = _chat(table), _pair(table)
    questionnaire = NO_QUESTIONS if chat is not None else _asked(table, pair)
    demographics = _questionnaire(table, "demographics", "rater") if "demographics" in table.data else None
    consent, replication = _consent(table), _perhaps(table, "replication")
    quota, most_a_day = table.table("quota"), _perhaps(table, "most_a_day")
    if quota is not None and most_a_day is not None:
        _check_hold(quota)
    checks = _checks(table)
    if questionnaire is None or consent is None:
        return None
    return Campaign(
        name=name,
        languages=table.notes.languages,
        title=_needed(table, "title"),
        warning=_needed(table, "warning"),
        consent=consent,
        questionnaire=questionnaire,
        chat=chat,
        pair=pair,
        lines=_lines(table, compares=chat is not None or pair is not None),
        demographics=demographics,
        demographics_placed=table.one_of("demographics_placed", PLACES, "after"),
        quota=None if quota is None else quota_from(quota, demographics, replication),
        checks=checks,
        minutes=_perhaps(table, "minutes"),
        prolific=_prolific(table),
        pay=_pay(table),
        gold=_gold(table, questionnaire),
        care=_care(table),
        help=table.wording("help"),
        thanks=table.wording("thanks"),
        replication=replication,
        most_items=_perhaps(table, "most_items"),
        most_a_day=most_a_day,
        break_every=table.number("break_every", 20, MOST, least=0),
        preview=table.flag("preview", default=False),
        reclaim_after_h=table.number("reclaim_after_h", 48, MOST),
        seed=table.number("seed", 0, 2**32 - 1, least=0),
    )


def _needed(table: DefinitionTable, key: str) -> Wording:
    """Return a wording that raters cannot do without."""
    if key not in table.data:
        table.note(key, "It is missing. Write what raters read.")
    return table.wording(key)


def _perhaps(table: DefinitionTable, key: str) -> int | None:
    return table.number(key, 1, MOST) if key in table.data else None


def _consent(table: DefinitionTable) -> Consent | None:
    every = table.table("consent")
    if every is None:
        if "consent" not in table.wrong:
            table.note("consent", "It is missing. Write [consent] with a text and at least one [[consent.purposes]].")
        return None
    every.only(("text", "purposes"))
    purposes = tuple(map(_purpose, every.tables("purposes", MOST_PURPOSES)))
    if not any(purpose.required for purpose in purposes) and not every.wrong:
        every.note("purposes", "None is required. Name at least one without which nobody can take part.")
    if len({purpose.name for purpose in purposes}) < len(purposes):
        every.note("purposes", "Two have one name. Give each its own.")
    return Consent(text=_needed(every, "text"), purposes=purposes)


def _check_hold(quota: DefinitionTable) -> None:
    """Refuse seats that are given away from who was sent home for the day."""
    if quota.number("hold_minutes", HOLD, MOST) < SHORTEST_HOLD:
        quota.note(
            "hold_minutes",
            "With most_a_day raters are told to come back tomorrow, and their seats would be gone. Write "
            f"{SHORTEST_HOLD:,} or more, which is two days.",
        )


def _chat(table: DefinitionTable) -> Chat | None:
    """Return how people talk with chatbots, where they do and rate nothing."""
    found = table.table("chat")
    for key in OF_ITEMS if found is not None else ():
        if key in table.data:
            table.note(key, "It is about items, and with [chat] there are none. Take it out.")
    return None if found is None else chat_from(found)


def _pair(table: DefinitionTable) -> Pair | None:
    """Return how raters compare two responses, where they do."""
    found = table.table("pair")
    if found is None:
        return None
    found.only(("compared", "equal"))
    if "compared" not in found.data:
        found.note("compared", 'It is missing. Write which response raters pick: compared = "more helpful".')
    if "gold" in table.data:
        table.note("gold", "Experts label one response, and with [pair] an item has two. Take it out.")
    return Pair(compared=found.one_of("compared", ASKED, "more helpful"), equal=found.flag("equal", default=False))


def _lines(table: DefinitionTable, *, compares: bool) -> tuple[str, ...]:
    """Return the model lines that learn from what raters prefer."""
    found = table.texts("lines", MOST_LINES)
    if found and not compares:
        table.note("lines", "Lines learn from what raters prefer, which takes [chat] or [pair]. Take it out.")
    for name in found:
        try:
            check_registered_model_name(name)
        except InvalidInput as error:
            table.note("lines", str(error))
    return found


def _asked(table: DefinitionTable, pair: Pair | None) -> Questionnaire | None:
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
        table.note("questionnaire", f"With [pair] {PREFERENCE} is asked already. Give your question another name.")
    return pair.asked(further)


def _checks(table: DefinitionTable) -> tuple[Check, ...]:
    checks = checks_from(table, _perhaps(table, "most_items"))
    if any(check.of_attention for check in checks) and "minutes" not in table.data:
        table.note(
            "minutes",
            "It is missing. Write how long the work takes: how many checks of attention somebody may fail depends on "
            "that.",
        )
    return checks


def _prolific(table: DefinitionTable) -> Prolific | None:
    found = table.table("prolific")
    if found is None:
        return None
    found.only(("codes",))
    codes = found.table("codes")
    try:
        return Prolific(codes=MappingProxyType(codes_from({} if codes is None else codes.data)))
    except InvalidInput as error:
        found.note("codes", str(error))
        return None


def _pay(table: DefinitionTable) -> Pay | None:
    found = table.table("pay")
    if found is None:
        return None
    found.only(("currency", "hour", "finished", "screened_out"))
    currency = found.text("currency", "") or ""
    if "currency" not in found.wrong and not CURRENCY.fullmatch(currency):
        found.note("currency", f'It is {format_value(currency)}. Write its code of three letters: currency = "GBP".')
    amounts = {name: found.number(name, 0, MOST, least=0) for name in ("hour", "finished", "screened_out")}
    if "hour" not in found.data:
        found.note("hour", "It is missing. Write what an hour of work is paid, in minor units such as cents.")
    return None if found.wrong else Pay(currency=currency, **amounts)


def _gold(table: DefinitionTable, questionnaire: Questionnaire) -> Gold | None:
    found = table.table("gold")
    return None if found is None else gold_from(found, questionnaire)


def _care(table: DefinitionTable) -> Care | None:
    found = table.table("care")
    if found is None:
        return None
    found.only(("survey", "every", "contact", "topics"))
    survey = _questionnaire(replace(found, data={"survey": "feelings", **found.data}), "survey", "rater")
    every, contact = found.number("every", 10, MOST), found.wording("contact")
    if survey is None:
        return None
    survey = replace(survey, questions=tuple(replace(question, required=False) for question in survey.questions))
    return Care(survey=survey, every=every, contact=contact, topics=MappingProxyType(_topics(table, found)))


def _topics(table: DefinitionTable, care: DefinitionTable) -> dict[str, Wording]:
    found = care.table("topics", MOST_TOPICS)
    if found is None:
        return {}
    if "chat" in table.data:
        care.note("topics", "They are topics of items, and with [chat] there are none. Take them out.")
    for name in found.data:
        if find_text_error(name) is not None or "," in name or name != name.strip():
            found.note(name, "Name a topic as items do, without a comma, which stands between topics.")
    return {name: found.wording(name) for name in found.data}


def _purpose(table: DefinitionTable) -> Purpose:
    table.only(("name", "text", "required"))
    name = table.text("name") or ""
    if "name" not in table.wrong and not NAME.fullmatch(name):
        table.note("name", "Name a purpose by a letter, then letters, digits and _ (a to z alone).")
    return Purpose(name=name, text=_needed(table, "text"), required=table.flag("required", default=False))


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
            table.note(key, f"It is {describe_type(value)}. Name one that ships, such as dices-350, or write it as a table.")
            return None
    try:
        found = read()
    except DissensusError as error:
        table.note(key, str(error))
        return None
    if found.about != about:
        table.note(key, f"{found.name} asks about the {found.about}. Give one about the {about}.")
    lacking = [language for language in table.notes.languages if language not in found.languages]
    if lacking:
        table.note(key, f"{found.name} has no wordings in {', '.join(lacking)}. Add them, or take the language out.")
    return found
