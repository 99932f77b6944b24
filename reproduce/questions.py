"""Numbers of questions of DICES: the paper beside the questionnaires."""

from collections.abc import Iterator, Sequence

from reproduce.comparison import Row

from dissensus.schema.questionnaire.shipped import load_questionnaire

# Section 3.4 counts sub-questions without "other", section 4 with it.
GRANULAR = {"Q2": ("8", "9"), "Q3": ("4", "5"), "Q4": ("1", None), "Q5": ("1", None), "Q6": ("2", "3")}


def questions() -> Iterator[Row]:
    """Yield the numbers of questions, by sections 3.3, 3.4 and 4 and by table 1."""
    names = granular("dices-350")
    for start, (without, with_other) in GRANULAR.items():
        own = [name for name in names if name.startswith(start)]
        yield Row(f"{start}, sub-questions without other", without, len(without_other(own)))
        if with_other is not None:
            yield Row(f"{start}, sub-questions with other", with_other, len(own))
    yield Row("Safety categories of DICES-350", "16", len(without_other(names)))
    yield Row("Safety criteria of DICES-990 (3.3)", "24", len(granular("dices-990")))
    every = load_questionnaire("dices-990")
    yield Row(
        "Safety categories of DICES-990 (table 1)",
        "29",
        len(granular("dices-990")),
        f"The text has 24, and so has the file. Q1, these 24 and the {len(every.overalls)} aggregates are "
        f"{len(every.questions) + len(every.overalls)} columns.",
    )


def granular(questionnaire: str) -> tuple[str, ...]:
    """Return the names of the questions that make the overall."""
    return tuple(question.name for question in load_questionnaire(questionnaire).questions if question.in_overall)


def without_other(names: Sequence[str]) -> list[str]:
    """Return the names of questions other than *other*."""
    return [name for name in names if not name.endswith("_other")]
