"""Steps of the builder: every key has a field, and forms give back what they show."""

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick
from tests.support.builder_forms import fill_form
from tests.support.campaign_definitions import REST, pilot

from dissensus.campaign.builder.check import check_definition, place_faults, shorten_definition, write_definition
from dissensus.campaign.builder.field import (
    Field,
    FieldContext,
    FormNode,
    LabelsField,
    NumberField,
    TomlField,
    read_value,
)
from dissensus.campaign.builder.preview import make_preview
from dissensus.campaign.builder.question import LISTS, read_question, show_question
from dissensus.campaign.builder.step import STEPS, find_step
from dissensus.campaign.builder.table import NamesField, QuestionnaireField, RowsField, TableField, move_row
from dissensus.campaign.builder.template import TEMPLATES, load_template
from dissensus.errors import InvalidInput
from dissensus.schema.campaign import parser as campaign_parser
from dissensus.schema.campaign.chatbot import KINDS
from dissensus.schema.campaign.completion_codes import OUTCOMES, PANEL_OUTCOMES
from dissensus.schema.campaign.parser import KEYS, parse_campaign
from dissensus.schema.campaign.shipped import campaigns, load_campaign, load_campaign_toml
from dissensus.schema.definition_errors import DefinitionErrors, Path
from dissensus.schema.definition_table import make_table, read_toml
from dissensus.schema.questionnaire import parser as questionnaire_parser
from dissensus.schema.questionnaire.shipped import load_questionnaire

FIELDS = {key: field for step in STEPS for key, field in step.fields.items()}
CHATBOTS: Path = ("chat", "chatbots", 0)


def test_each_key_of_a_campaign_has_a_field_in_one_step() -> None:
    keys = [key for step in STEPS for key in step.fields]
    assert sorted(keys) == sorted(KEYS)


def parts_of(field: Field) -> Iterator[tuple[str | int, Field]]:
    """The parts of a field, each with its key in an example of a definition."""
    match field:
        case TableField():
            yield from field.fields.items()
        case QuestionnaireField():
            yield from field.own.fields.items()
        case RowsField():
            yield 0, field.row
        case NamesField():
            yield "example", field.row


def tables_of(field: Field, path: Path) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """The keys of each table below a field, by its path."""
    keys = tuple(str(key) for key, _ in parts_of(field)) if isinstance(field, TableField | QuestionnaireField) else ()
    if keys:
        yield path, keys
    for key, part in parts_of(field):
        yield from tables_of(part, (*path, key))


def example_of(field: Field) -> Any:
    """A value with all tables below a field."""
    match field:
        case TableField() | QuestionnaireField() | NamesField():
            return {str(key): example_of(part) for key, part in parts_of(field)}
        case RowsField():
            return [example_of(field.row)]
    return None


def without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: without_none(part) for key, part in value.items() if part is not None}
    return [without_none(part) for part in value] if isinstance(value, list) else value


def parsed_keys(definition: Mapping[str, Any]) -> dict[Path, set[str]]:
    """The keys that the parsers allow in each table of a definition."""
    notes = DefinitionErrors()
    campaign_parser._parse_table(make_table(definition, notes))
    keys_by_path = {path: set(keys) for path, keys in notes.keys.items()}
    for path in (("questionnaire",), ("demographics",), ("care", "survey")):
        value: Any = definition
        for key in path:
            value = value[key]
        notes = DefinitionErrors()
        questionnaire_parser._parse_table(make_table(value, notes))
        keys_by_path |= {(*path, *inner): set(keys) for inner, keys in notes.keys.items()}
    return keys_by_path


def test_each_key_that_a_parser_allows_has_a_field() -> None:
    shown = {path: set(keys) for key, field in FIELDS.items() for path, keys in tables_of(field, (key,))}
    parsed: dict[Path, set[str]] = {}
    for kind in KINDS:
        definition = without_none(example_of(TableField(label="", fields=FIELDS)))
        chatbot = definition["chat"]["chatbots"][0]
        chatbot["kind"], chatbot["best_of_n"]["chatbot"]["kind"] = kind, kind if kind != "best_of_n" else "local"
        for path, keys in parsed_keys(definition).items():
            parsed[path] = parsed.get(path, set()) | keys
    parsed["recruit", "codes"] = set(PANEL_OUTCOMES)
    # The inner chatbot is parsed as one of each kind only where the outer one asks for the best of several responses.
    inner = (*CHATBOTS, "best_of_n", "chatbot")
    parsed[inner] = parsed[CHATBOTS] - {"best_of_n"}
    parsed |= {
        (*inner, *path[3:]): keys
        for path, keys in parsed.items()
        if path[:3] == CHATBOTS and len(path) == 4 and path[3] in inner_tables()
    }
    assert parsed.pop(()) == set(KEYS)
    assert shown == parsed
    assert len(shown) > 25


def inner_tables() -> set[str]:
    return {"openai_compatible", "scripted", "local", "request_policy"}


def nodes_below(nodes: Iterable[FormNode]) -> Iterator[FormNode]:
    for node in nodes:
        yield node
        yield from nodes_below(node.children)


def assert_same(definition: dict[str, Any]) -> None:
    """Each step and each question, sent as it is shown, leaves the campaign as it is."""
    campaign = parse_campaign(definition)
    for step in STEPS:
        again = step.read(fill_form(step.show(definition)), definition)
        assert parse_campaign(again) == campaign, step.name
        assert parse_campaign(read_toml(write_definition(again), "It", 10**7)) == campaign
    for name in LISTS:
        value: Any = definition
        for key in name.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        for number in range(len(value or ())):
            at = f"{name}.{number}"
            again = read_question(fill_form(show_question(definition, at)), definition, at)
            assert parse_campaign(again) == campaign, at


@pytest.mark.parametrize("name", campaigns())
def test_shipped_definitions_are_the_same_after_all_forms(name: str) -> None:
    assert_same(read_toml(load_campaign_toml(name), "It", 10**7))
    full = load_campaign(name).as_mapping()
    assert_same(full)
    short = shorten_definition(full)
    assert parse_campaign(short) == load_campaign(name)
    assert len(write_definition(short)) < 14_000


WORDS = st.text("abcäß'\"\\#=.[]{}- ", min_size=1, max_size=8).map(str.strip).filter(bool)
COUNTS = st.integers(1, 50)


def wordings(languages: list[str]) -> st.SearchStrategy[Any]:
    texts = st.fixed_dictionaries(dict.fromkeys(languages, st.tuples(WORDS, WORDS).map("\n".join)))
    return texts | WORDS if len(languages) == 1 else texts


@pytest.mark.parametrize("name", campaigns())
def test_fields_show_shipped_definitions_without_toml(name: str) -> None:
    definition = read_toml(load_campaign_toml(name), name, 10**7)
    shown = [node for step in STEPS for node in nodes_below(step.show(definition))]
    assert [node.name for node in shown if node.kind == "toml"] == []


@st.composite
def definitions(draw: st.DrawFn) -> dict[str, Any]:
    """Valid campaigns with any of the optional tables."""
    languages = draw(st.sampled_from([["en"], ["en", "de"], ["de"]]))
    texts = wordings(languages)
    answers = draw(st.lists(WORDS, min_size=2, max_size=4, unique=True))
    labels = {answer: dict.fromkeys(languages, f"{number}") for number, answer in enumerate(answers)}
    question = {"name": "Q_1", "text": draw(texts), "scale": answers, "labels": labels, "examples": [draw(texts)]}
    text = {"name": "Q_2", "kind": "text", "text": draw(texts), "when": {"question": "Q_1", "is": answers[:1]}}
    own = {
        "name": "own",
        "languages": languages,
        "title": draw(texts),
        "headings": {"h": {"text": draw(texts)}},
        "questions": [{**question, "heading": "h", "in_overall": draw(st.booleans())}, text],
    }
    ages = load_questionnaire("demographics-dices").as_mapping()
    groups = ["young", *["old"] * 2]
    age = next(row for row in ages["questions"] if row["name"] == "rater_age")["scale"]
    axes = {"rater_age": {group: [age[i] for i in range(3) if groups[i] == group] for group in set(groups)}}
    code = draw(st.integers(10**6, 10**7))
    optional: dict[str, Any] = {
        "help": draw(texts),
        "thanks": draw(texts),
        "care": {
            "contact": draw(texts),
            "topics": {name: draw(texts) for name in draw(st.sets(WORDS.filter(lambda x: "," not in x)))},
        },
        "quota": {
            "axes": axes,
            "rest": draw(COUNTS),
            "seats": draw(COUNTS),
            "cells": [{"groups": {"rater_age": "old"}, "seats": draw(COUNTS)}],
        },
        "pay": {"currency": "GBP", "hourly_rate": draw(COUNTS)},
        "gold": draw(
            st.sampled_from(
                [
                    {},
                    {
                        "topics": draw(
                            st.lists(WORDS, min_size=2, unique=True).map(
                                lambda names: [n.replace(",", "") for n in names]
                            )
                        )
                    },
                ]
            )
        ),
        "recruit": {"kind": "prolific", "codes": {outcome: f"CODE{code + i}" for i, outcome in enumerate(OUTCOMES)}},
        "max_items": draw(COUNTS),
        "break_every": draw(st.integers(0, 3)),
        "click_to_reveal": draw(st.booleans()),
        "seed": draw(COUNTS),
    }
    names = draw(st.sets(st.sampled_from(sorted(optional))))
    purposes = [{"name": f"p{i}", "text": draw(texts), "required": i == 0} for i in range(draw(st.integers(1, 3)))]
    return {
        "name": "drawn",
        "languages": languages,
        "title": draw(texts),
        "warning": draw(texts),
        "consent": {"text": draw(texts), "purposes": purposes},
        "questionnaire": draw(st.sampled_from([own, "dices-350"])),
        "demographics": "demographics-dices",
        **{key: optional[key] for key in names},
    }


@pytest.mark.slow
@quick
@given(definitions())
def test_generated_definitions_are_the_same_after_all_forms(definition: dict[str, Any]) -> None:
    assert check_definition(write_definition(definition)).faults == ()
    assert_same(definition)


CHAT = {
    "modes": [{"name": "m", "title": "M", "criterion": "more helpful", "allow_edits": True, "continue_with": "other"}],
    "chatbots": [
        {
            "name": "a",
            "kind": "openai_compatible",
            "model_type": "rlhf",
            "version": "1",
            "num_params": "7B",
            "parameters": {"temperature": 0.7, "stop": ["x"]},
            "request_policy": {"total_s": 2.5, "max_attempts": 1},
            "openai_compatible": {"url": "https://example.com/v1", "model": "m", "key_variable": "KEY"},
        },
        {
            "name": "b",
            "kind": "scripted",
            "model_type": "s",
            "version": "1",
            "scripted": {"responses": ["One\nline", "Two"], "pause_s": 0.5},
        },
        {
            "name": "c",
            "kind": "best_of_n",
            "model_type": "s",
            "version": "1",
            "best_of_n": {
                "n": 3,
                "scorer": "registry:x",
                "chatbot": {"name": "d", "kind": "local", "model_type": "s", "version": "1", "local": {"threads": 2}},
            },
        },
    ],
    "turns": 3,
}
CHECK = {
    "name": "c",
    "kind": "instruction",
    "text": "Please choose B.",
    "scale": ["A", "B"],
    "correct_answers": ["B"],
    "after": 2,
}


QUESTIONS = {row["name"]: row for row in load_questionnaire("demographics-dices").as_mapping()["questions"]}
AGES = QUESTIONS["rater_age"]["scale"]
QUOTA: dict[str, Any] = {
    "axes": {"rater_age": {"young": AGES[:1], "old": AGES[1:]}},
    "rest": 1,
    "seats": 5,
    "cells": [{"groups": {"rater_age": "young"}, "seats": 2}, {"groups": {"rater_age": "old"}, "seats": 3}],
}


@pytest.mark.parametrize(
    "changes",
    [
        {"chat": CHAT},
        {"questionnaire": "dices-350", "demographics": "demographics-dices", "quota": QUOTA},
        {"questionnaire": "dices-350", "checks": [CHECK], "estimated_minutes": 4},
        {"pair": {"criterion": "less harmful", "allow_ties": True}, "registered_models": ["one"]},
    ],
)
def test_other_kinds_are_the_same_after_all_forms(changes: dict[str, Any]) -> None:
    assert_same({**deepcopy(REST), **deepcopy(changes)})


@quick
@given(
    st.dictionaries(
        st.sampled_from(KEYS),
        st.recursive(
            st.booleans() | st.integers(-5, 5) | st.text("a\n#", max_size=3) | st.dates(),
            lambda part: (
                st.lists(part, max_size=3)
                | st.dictionaries(
                    st.sampled_from(
                        [
                            "en",
                            "name",
                            "questions",
                            "purposes",
                            "axes",
                            "cells",
                            "modes",
                            "scale",
                            "labels",
                            "text",
                            "x y",
                        ]
                    ),
                    part,
                    max_size=3,
                )
            ),
            max_leaves=8,
        ),
    )
)
def test_damaged_definitions_lose_nothing_and_have_a_preview(drawn: dict[str, Any]) -> None:
    definition = without_none({**pilot(), **drawn})
    check = check_definition(write_definition(definition))
    assert check.table is not None
    for step in STEPS:
        nodes = step.show(check.table)
        again = check_definition(write_definition(step.read(fill_form(nodes), check.table)))
        if check.campaign is not None:
            assert again.campaign == check.campaign
        else:
            place_faults(nodes, check.faults)
    make_preview(check.table, "en")


def test_what_is_typed_wrong_stays_with_its_fault_at_its_field() -> None:
    step = find_step("people")
    nodes = step.show(pilot())
    typed = step.read({**fill_form(nodes), "max_items": "many"}, pilot())
    check = check_definition(write_definition(typed))
    shown = step.show(check.table or {})
    assert next(node.value for node in shown if node.name == "max_items") == "many"
    assert place_faults(shown, check.faults).keys() == {"max_items"}
    assert check.n_faults == {"people": 1}
    assert check.faults[0].line == write_definition(typed).split("\n").index('max_items = "many"') + 1


@pytest.mark.parametrize(
    "damaged",
    [
        {"groups": {"rater_age": "ancient"}, "seats": 3},
        {"groups": {"rater_age": "old"}},
        {"groups": {"rater_age": "old"}, "seats": 3, "colour": "red"},
        "old",
    ],
    ids=["an unknown group", "no seats", "another key", "no table"],
)
def test_cells_that_the_field_would_lose_are_shown_as_toml(damaged: object) -> None:
    def kinds(cells: list[object]) -> set[str]:
        definition = pilot(demographics="demographics-dices", quota={**QUOTA, "cells": cells})
        nodes = nodes_below(find_step("people").show(definition))
        return {node.kind for node in nodes if node.name.startswith("quota.cells")}

    assert "toml" not in kinds(QUOTA["cells"])
    assert kinds([*QUOTA["cells"], damaged]) == {"toml"}


def test_seats_of_cells_are_read_from_their_fields_and_kept_without_them() -> None:
    step, definition = find_step("people"), pilot(demographics="demographics-dices", quota=QUOTA)
    form = fill_form(step.show(definition))
    typed = step.read({**form, "quota.cells.0": "7", "quota.cells.1": ""}, definition)
    assert typed["quota"]["cells"] == [{"groups": {"rater_age": "young"}, "seats": 7}]
    without = {name: text for name, text in form.items() if not name.startswith("quota.cells")}
    assert step.read(without, definition)["quota"]["cells"] == QUOTA["cells"]


@pytest.mark.parametrize(("label", "kind"), [("Yes, it is", "labels"), ("Yes,\nit is", "toml"), (5, "toml")])
def test_labels_that_are_not_one_line_are_edited_as_toml(label: object, kind: str) -> None:
    field, labels = LabelsField(label="Labels"), {"Yes": label, "No": "No, it is not"}
    context = FieldContext(name="labels", path=("labels",), languages=("en",), table={"scale": ["Yes", "No"]})
    node = field.show(labels, context)
    assert node.kind == kind
    assert field.read(fill_form([node]), "labels", None, context.table) in (
        labels,
        {answer: {"en": text} for answer, text in labels.items()},
    )


def test_the_declining_answer_has_a_label_too() -> None:
    table = {"scale": ["Yes", "No"], "decline": "Rather not"}
    node = LabelsField(label="Labels").show(None, FieldContext(name="labels", path=(), languages=("en",), table=table))
    assert node.value.split("\n") == ["Yes", "No", "Rather not"]


@pytest.mark.parametrize(("text", "row"), [("", {}), ('value = {name = "release"}', {"name": "release"})])
def test_rows_are_edited_as_toml_and_a_blank_one_stays(text: str, row: dict[str, str]) -> None:
    field = RowsField(label="Purposes", noun="purpose", row=TableField(label="", fields={}))
    assert field.read({"rows.n": "1", "rows.0.toml": text}, "rows", [], {}) == [row]


def test_a_choice_shows_its_options_and_a_word_that_is_none_of_them() -> None:
    def options(kind: str) -> dict[str, str]:
        nodes = nodes_below(find_step("people").show(pilot(recruit={"kind": kind})))
        return dict(next(node.options for node in nodes if node.name == "recruit.kind"))

    assert set(options("prolific")) == {"", "prolific", "link"}
    assert options("elsewhere") == {**options("prolific"), "elsewhere": "elsewhere"}


def test_a_missing_translation_is_a_fault_of_its_wording() -> None:
    definition = pilot(title={"en": "Safe?"})
    check = check_definition(write_definition(definition))
    nodes = find_step("texts").show(definition)
    assert place_faults(nodes, check.faults) == {"title": ("It is missing in de.",)}


def test_rows_are_added_moved_and_removed() -> None:
    step, definition = find_step("consent"), pilot()
    form = fill_form(step.show(definition))

    def names(action: str) -> list[str | None]:
        again = step.read({**form, "action": action}, definition)
        return [row.get("name") for row in again["consent"]["purposes"]]

    assert names("up consent.purposes.1") == ["release", "rating"]
    assert names("down consent.purposes.1") == ["rating", "release"]
    assert names("remove consent.purposes.0") == ["release"]
    assert names("add consent.purposes") == ["rating", "release", None]


@pytest.mark.parametrize("languages", [["en", "de"], ["en"]])
def test_a_shipped_question_is_copied_in_the_languages_of_the_campaign(languages: list[str]) -> None:
    step, texts = find_step("questions"), dict.fromkeys(languages, "T")
    definition = {
        **pilot(languages=languages, title=texts, warning=texts),
        "consent": {"text": texts, "purposes": [{"name": "p", "text": texts, "required": True}]},
        "questionnaire": {"name": "own", "languages": languages, "title": texts, "questions": []},
    }
    form = fill_form(step.show(definition))
    source = "dices-350/Q2_harmful_content_insensitive"
    form |= {"action": "add questionnaire.questions", "questionnaire.questions.source": source}
    (question,) = step.read(form, definition)["questionnaire"]["questions"]
    assert question["scale"] == ["No", "Unsure", "Yes"]
    assert parse_campaign(step.read(form, definition)).questionnaire.questions[0].name == source.partition("/")[2]


def test_questions_of_ones_own_begin_as_a_copy() -> None:
    step, definition = find_step("questions"), pilot()
    form = {**fill_form(step.show(definition)), "questionnaire.choice": "own"}
    copy = step.read(form, definition)
    assert len(copy["questionnaire"]["questions"]) == 20
    assert "flagged_raters" not in copy["questionnaire"]
    assert parse_campaign(copy).questionnaire.questions == load_questionnaire("dices-350").questions


@pytest.mark.parametrize("template", [template.name for template in TEMPLATES])
def test_templates_have_previews(template: str) -> None:
    check = check_definition(load_template(template, "pilot"))
    assert check.table is not None
    campaign = make_preview(check.table, "en")
    assert (campaign.chat is not None, campaign.pair is not None) == ("chat" in check.table, "pair" in check.table)
    assert check.campaign is not None or "blank" in template
    assert not {fault.path for fault in check.faults} & {("name",), ("languages",)}


def test_a_preview_drops_invalid_rows_and_leaves_their_neighbours_alone() -> None:
    def preview(row: dict[str, Any]) -> list[tuple[str, str]]:
        questions = [{"name": f"Q_{n}", "text": f"Question {n}?", "scale": ["No", "Yes"]} for n in (1, 3, 4)]
        questionnaire = {
            "name": "q",
            "title": "T",
            "languages": ["en"],
            "questions": [questions[0], row, *questions[1:]],
        }
        campaign = make_preview({**pilot(), "questionnaire": questionnaire}, "en")
        return [(question.name, question.text["en"]) for question in campaign.questionnaire.questions]

    whole = [(f"Q_{n}", f"Question {n}?") for n in (1, 3, 4)]
    assert preview({"name": "", "text": "", "scale": []}) == whole
    assert preview({"name": "Q_2"}) == whole
    assert preview({"name": "Q_2", "scale": ["No", "Yes"]}) == [whole[0], ("Q_2", "…"), *whole[1:]]


def test_a_preview_shows_texts_that_are_in_other_languages_alone() -> None:
    question = {"name": "Q_1", "text": {"de": "Sicher?", "fr": "Sûr ?"}, "scale": ["No", "Yes"]}
    title = {"de": "Sicherheit", "fr": "Sûreté"}
    questionnaire = {"name": "q", "title": title, "languages": ["de", "fr"], "questions": [question]}
    shown = make_preview({**pilot(), "languages": ["en"], "questionnaire": questionnaire}, "en").questionnaire
    assert (shown.title, shown.questions[0].text) == ({"en": "Sicherheit"}, {"en": "Sicher?"})


@pytest.mark.parametrize("number", ["0000009", "9" * 5_000])
def test_buttons_of_rows_that_do_not_exist_change_nothing(number: str) -> None:
    assert move_row("abc", f"remove checks.{number}", "checks") == ["a", "b", "c"]


def test_a_survey_of_ones_own_has_the_languages_of_the_campaign() -> None:
    form = {"care.on": "1", "care.survey.choice": "own"}
    definition = find_step("care").read(form, {**pilot(), "languages": ["en", "de"]})
    assert definition["care"]["survey"]["languages"] == ["en", "de"]


@pytest.mark.parametrize(("value", "kind"), [(0.25, "number"), (2, "number"), (1e-07, "toml"), (10**20, "toml")])
def test_numbers_that_a_field_cannot_give_back_are_edited_as_toml(value: float, kind: str) -> None:
    field = NumberField(label="Share", decimal=True)
    node = field.show(value, FieldContext(name="share", path=("share",)))
    assert node.kind == kind
    assert field.read({node.name: node.value}, "share", None, {}) == value


@pytest.mark.parametrize("text", ["value = " + "1" * 5_000, "a." * 50_000 + "b = 1", "value = " + "[" * 5_000])
def test_values_that_toml_cannot_bound_stay_text(text: str) -> None:
    assert read_value(text) == text
    assert TomlField(label="Parameters").read({"parameters": text}, "parameters", None, {}) == text


def test_a_form_without_a_table_of_toml_keeps_it() -> None:
    field, old = TomlField(label="Parameters"), {"temperature": 0.7}
    assert field.read({}, "parameters", old, {}) == old
    assert field.read({"parameters": ""}, "parameters", old, {}) is None


@pytest.mark.parametrize("name", ["dices-350", "from-elsewhere"])
def test_the_questionnaire_of_a_definition_can_be_chosen(name: str) -> None:
    node = FIELDS["questionnaire"].show(name, FieldContext(name="questionnaire", path=("questionnaire",)))
    assert node.value == name
    assert [value for value, _ in node.options].count(name) == 1


def test_a_definition_that_nests_too_deep_is_refused() -> None:
    table: dict[str, Any] = {}
    for _ in range(100_000):
        table = {"a": table}
    with pytest.raises(InvalidInput, match="The definition nests too deep"):
        write_definition(table)
