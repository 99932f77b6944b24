"""Validation of answers: applicable questions, canonical values, and problems."""

from collections.abc import Mapping, Sequence

from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.questionnaire.faults import (
    MAX_LISTED,
    AnswerCheck,
    AnswerProblem,
    describe_type,
    find_unstorable_character,
)
from dissensus.schema.questionnaire.question import Answer, Question, When


def applicable_questions(questions: Sequence[Question], answers: Mapping[str, object]) -> tuple[Question, ...]:
    """Return the questions that apply, in order; an answer to one that does not apply opens nothing."""
    applying: list[Question] = []
    given: dict[str, object] = {}
    for question in questions:
        if _applies(question.when, given):
            applying.append(question)
            given[question.name] = answers.get(question.name)
    return tuple(applying)


def check_answers(
    questions: Sequence[Question], answers: Mapping[str, object], *, complete: bool
) -> tuple[dict[str, Answer], tuple[AnswerProblem, ...]]:
    """Return the canonical answers of the questions that apply, and all that is wrong."""
    faults = _find_unknown_names(questions, answers)
    kept: dict[str, Answer] = {}
    for question in questions:
        if not _applies(question.when, kept):
            continue
        answer = _check_answer(question, answers.get(question.name))
        if isinstance(answer, AnswerProblem):
            faults.append(answer)
        elif answer is not None:
            kept[question.name] = answer
            _add_own_words(question, answers, kept, faults)
        elif complete and question.required:
            faults.append(_problem(question.name, "missing", f"There is no answer. {_allowed(question)}"))
    return kept, tuple(faults)


def _applies(when: When | None, given: Mapping[str, object]) -> bool:
    if when is None:
        return True
    answer = given.get(when.question)
    chosen = answer if isinstance(answer, (list, tuple)) else (answer,)
    return any(one in when.answers for one in chosen)


def _problem(name: str, check: AnswerCheck, what: str) -> AnswerProblem:
    return AnswerProblem(question=name, check=check, what=what)


def _find_unknown_names(questions: Sequence[Question], answers: Mapping[str, object]) -> list[AnswerProblem]:
    names = [name for question in questions for name in (question.name, question.own_words) if name]
    known = set(names)
    unknown = [name for name in answers if name not in known]
    return [_unknown_name(name, names, search=place < MAX_LISTED) for place, name in enumerate(unknown)]


def _unknown_name(name: object, names: Sequence[str], *, search: bool) -> AnswerProblem:
    """Refuse a name; a near miss takes time to find, so that no more are looked for than are shown."""
    if not isinstance(name, str):
        return _problem(describe_type(name), "unknown", "There is no such question. Names are text.")
    hint = suggest(name, names) if search else ""
    return _problem(format_value(name), "unknown", f"There is no such question.{hint} There are {format_list(names)}.")


def _allowed(question: Question) -> str:
    if question.kind == "text":
        return f"Write up to {question.longest:,} characters."
    some = "some" if question.most is None else f"up to {question.most}"
    return f"Choose {some if question.kind == 'multiple' else 'one'} of {format_list(question.answers)}."


def _check_answer(question: Question, value: object) -> Answer | AnswerProblem | None:
    """Return the canonical answer, None where nothing was answered, or what is wrong."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    match question.kind:
        case "multiple":
            return _check_choices(question, value)
        case "text":
            return _check_text(question.name, value, question.longest)
    return _check_choice(question, value)


def _check_choice(question: Question, value: object) -> str | AnswerProblem:
    if not isinstance(value, str):
        return _problem(question.name, "form", f"The answer is {describe_type(value)}, not text. {_allowed(question)}")
    if value not in question.answers:
        hint = suggest(value, question.answers)
        return _problem(
            question.name, "scale", f"{format_value(value)} is not among its answers.{hint} {_allowed(question)}"
        )
    return value


def _check_choices(question: Question, value: object) -> tuple[str, ...] | AnswerProblem | None:
    if not isinstance(value, (list, tuple)):
        return _problem(
            question.name, "form", f"The answer is {describe_type(value)}, not a list. {_allowed(question)}"
        )
    for one in value:
        answer = _check_choice(question, one)
        if isinstance(answer, AnswerProblem):
            return answer
    chosen = tuple(answer for answer in question.answers if answer in value)
    alone = next((one for one in chosen if one in (*question.exclusive, question.decline)), None)
    if alone is not None and len(chosen) > 1:
        others = format_list([one for one in chosen if one != alone])
        what = f"{format_value(alone)} goes with no other answer, and {others} is chosen too. Choose one or the other."
        return _problem(question.name, "exclusive", what)
    if question.most is not None and len(chosen) > question.most:
        what = (
            f"{format_list(chosen)} are {len(chosen)} answers, and at most {question.most} may be chosen. Leave some "
            "out."
        )
        return _problem(question.name, "many", what)
    return chosen or None


def _check_text(name: str, value: object, longest: int) -> str | AnswerProblem | None:
    """Return a text without blanks around it and with one way to end a line; every other mark stays as it is."""
    if not isinstance(value, str):
        return _problem(
            name, "form", f"The answer is {describe_type(value)}, not text. Write up to {longest:,} characters."
        )
    text = value.replace("\r\n", "\n").strip()
    bad = find_unstorable_character(text)
    if bad is not None:
        return _problem(name, "characters", f"The text holds {bad}, which cannot be stored. Remove it.")
    if len(text) > longest:
        what = f"The text has {len(text):,} characters, and {longest:,} are allowed. Shorten it."
        return _problem(name, "length", what)
    return text or None


def _add_own_words(
    question: Question, answers: Mapping[str, object], kept: dict[str, Answer], faults: list[AnswerProblem]
) -> None:
    """Keep what a rater wrote beside the answer that opens a text; without that answer it is left out."""
    name, answer = question.own_words, kept[question.name]
    if name is None or question.self_describe not in ((answer,) if isinstance(answer, str) else answer):
        return
    given = answers.get(name)
    text = None if given is None else _check_text(name, given, question.longest)
    if isinstance(text, AnswerProblem):
        faults.append(text)
    elif text is not None:
        kept[name] = text
