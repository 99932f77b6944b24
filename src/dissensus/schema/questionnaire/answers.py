"""Validation of answers: applicable questions, canonical values, and problems."""

from collections.abc import Mapping, Sequence

from dissensus.schema.characters import find_unstorable_character, normalise_line_ends
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.questionnaire.faults import MAX_LISTED, AnswerProblem, describe_type
from dissensus.schema.questionnaire.question import Answer, Question, When


def applicable_questions(questions: Sequence[Question], answers: Mapping[str, object]) -> tuple[Question, ...]:
    """Return the questions that apply, in order; answers to questions that do not apply are ignored."""
    applicable: list[Question] = []
    applicable_answers: dict[str, object] = {}
    for question in questions:
        if _applies(question.when, applicable_answers):
            applicable.append(question)
            applicable_answers[question.name] = answers.get(question.name)
    return tuple(applicable)


def check_answers(
    questions: Sequence[Question], answers: Mapping[str, object], *, complete: bool
) -> tuple[dict[str, Answer], tuple[AnswerProblem, ...]]:
    """Return the canonical answers to the questions that apply, and all problems."""
    faults = _find_unknown_names(questions, answers)
    canonical: dict[str, Answer] = {}
    for question in questions:
        if not _applies(question.when, canonical):
            continue
        answer = _check_answer(question, answers.get(question.name))
        if isinstance(answer, AnswerProblem):
            faults.append(answer)
        elif answer is not None:
            canonical[question.name] = answer
            _add_own_words(question, answers, canonical, faults)
        elif complete and question.required:
            faults.append(AnswerProblem(question.name, "missing", f"There is no answer. {_describe_allowed(question)}"))
    return canonical, tuple(faults)


def _applies(when: When | None, answers: Mapping[str, object]) -> bool:
    if when is None:
        return True
    answer = answers.get(when.question)
    choices = answer if isinstance(answer, (list, tuple)) else (answer,)
    return any(choice in when.answers for choice in choices)


def _find_unknown_names(questions: Sequence[Question], answers: Mapping[str, object]) -> list[AnswerProblem]:
    names = [name for question in questions for name in (question.name, question.own_words) if name]
    name_set = set(names)
    unknown = [name for name in answers if name not in name_set]
    return [_unknown_name(name, names, search=index < MAX_LISTED) for index, name in enumerate(unknown)]


def _unknown_name(name: object, names: Sequence[str], *, search: bool) -> AnswerProblem:
    """Return the problem of an unknown name; the slow search for a similar name is optional."""
    if not isinstance(name, str):
        return AnswerProblem(describe_type(name), "unknown", "There is no such question. Names are text.")
    hint = suggest(name, names) if search else ""
    return AnswerProblem(
        format_value(name), "unknown", f"There is no such question.{hint} There are {format_list(names)}."
    )


def _describe_allowed(question: Question) -> str:
    if question.kind == "text":
        return f"Write up to {question.max_length:,} characters."
    some = "some" if question.max_answers is None else f"up to {question.max_answers}"
    return f"Choose {some if question.kind == 'multiple' else 'one'} of {format_list(question.answers)}."


def _check_answer(question: Question, value: object) -> Answer | AnswerProblem | None:
    """Return the canonical answer, None without an answer, or the problem."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    match question.kind:
        case "multiple":
            return _check_choices(question, value)
        case "text":
            return _check_text(question.name, value, question.max_length)
    return _check_choice(question, value)


def _check_choice(question: Question, value: object) -> str | AnswerProblem:
    if not isinstance(value, str):
        return AnswerProblem(
            question.name, "form", f"The answer is {describe_type(value)}, not text. {_describe_allowed(question)}"
        )
    if value not in question.answers:
        hint = suggest(value, question.answers)
        return AnswerProblem(
            question.name,
            "scale",
            f"{format_value(value)} is not among its answers.{hint} {_describe_allowed(question)}",
        )
    return value


def _check_choices(question: Question, value: object) -> tuple[str, ...] | AnswerProblem | None:
    if not isinstance(value, (list, tuple)):
        return AnswerProblem(
            question.name, "form", f"The answer is {describe_type(value)}, not a list. {_describe_allowed(question)}"
        )
    for choice in value:
        answer = _check_choice(question, choice)
        if isinstance(answer, AnswerProblem):
            return answer
    choices = tuple(answer for answer in question.answers if answer in value)
    exclusive = next((answer for answer in choices if answer in (*question.exclusive, question.decline)), None)
    if exclusive is not None and len(choices) > 1:
        rest = format_list([answer for answer in choices if answer != exclusive])
        return AnswerProblem(
            question.name,
            "exclusive",
            f"{format_value(exclusive)} excludes other answers, and {rest} is chosen too. Choose one or the other.",
        )
    if question.max_answers is not None and len(choices) > question.max_answers:
        return AnswerProblem(
            question.name,
            "many",
            f"{format_list(choices)} are {len(choices)} answers, and at most {question.max_answers} may be chosen. "
            "Leave some out.",
        )
    return choices or None


def _check_text(name: str, value: object, max_length: int) -> str | AnswerProblem | None:
    """Return a text without surrounding blanks and with LF line ends, otherwise unchanged."""
    if not isinstance(value, str):
        return AnswerProblem(
            name, "form", f"The answer is {describe_type(value)}, not text. Write up to {max_length:,} characters."
        )
    text = normalise_line_ends(value).strip()
    bad = find_unstorable_character(text)
    if bad is not None:
        return AnswerProblem(name, "characters", f"The text holds {bad}, which cannot be stored. Remove it.")
    if len(text) > max_length:
        return AnswerProblem(
            name, "length", f"The text has {len(text):,} characters, and {max_length:,} are allowed. Shorten it."
        )
    return text or None


def _add_own_words(
    question: Question, answers: Mapping[str, object], canonical: dict[str, Answer], faults: list[AnswerProblem]
) -> None:
    """Add the text in which raters describe themselves; without the answer that opens its field it is dropped."""
    name, answer = question.own_words, canonical[question.name]
    if name is None or question.self_describe not in ((answer,) if isinstance(answer, str) else answer):
        return
    value = answers.get(name)
    text = None if value is None else _check_text(name, value, question.max_length)
    if isinstance(text, AnswerProblem):
        faults.append(text)
    elif text is not None:
        canonical[name] = text
