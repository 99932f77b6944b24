"""Formulas of multilevel models: grammar, order of terms, and refusals that show the position."""

import pytest

from dissensus.errors import InvalidInput
from dissensus.schema.formula import Formula, GroupTerm, parse_formula


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("Q~race+gender", "Q ~ race + gender"),
        ("Q ~ race*gender + age", "Q ~ race + gender + age + race:gender"),
        ("Q ~ race * (gender + age)", "Q ~ race + gender + age + race:gender + race:age"),
        ("Q ~ a*b*c", "Q ~ a + b + c + a:b + a:c + b:c + a:b:c"),
        ("Q ~ (a + b):c", "Q ~ a:c + b:c"),
        ("Q ~ a + b + b:a + a + a:a", "Q ~ a + b + b:a"),
        ("Q ~ 1 + (1|rater_id)+ (1 | item_id) + (1|rater_id)", "Q ~ (1 | rater_id) + (1 | item_id)"),
        ("Q ~ 1", "Q ~ 1"),
        ("Q ~ (x | g)", "Q ~ (x | g)"),
        ("Q ~ (1 + x | g)", "Q ~ (x | g)"),
        ("Q ~ (1 | g) + (0 + x*z | g)", "Q ~ (1 | g) + (0 + x + z + x:z | g)"),
        ("Q ~ (1 | race : item_id)", "Q ~ (1 | race:item_id)"),
        ("`How bad?` ~ `age group` * größe + (1 | `person #`)",
         "`How bad?` ~ `age group` + größe + `age group`:größe + (1 | `person #`)"),
        (" Q\n~\ta \n+ b ", "Q ~ a + b"),
    ],
)  # fmt: skip
def test_a_formula_has_one_canonical_form(text: str, canonical: str) -> None:
    formula = parse_formula(text)
    assert str(formula) == canonical
    assert parse_formula(canonical) == formula


def test_terms_and_random_effects_are_tuples_of_columns() -> None:
    formula = parse_formula("Q ~ race:gender + gender + (harm | rater_id) + (0 + race | item_id)")
    assert formula == Formula(
        "Q",
        (("gender",), ("race", "gender")),
        (GroupTerm((("harm",),), True, ("rater_id",)), GroupTerm((("race",),), False, ("item_id",))),
    )
    assert formula.columns == ("gender", "race", "harm", "rater_id", "item_id")


@pytest.mark.parametrize(
    ("text", "position", "fault"),
    [
        ("", 0, "its end where the column of the answers is expected"),
        ("Q", 1, "its end where ~ is expected"),
        ("Q ~", 3, "its end where a term is expected"),
        ("~ a", 0, "'~' where the column of the answers is expected"),
        ("Q ~ a b", 6, "'b' after the last term"),
        ("Q ~ a + + b", 8, "'+' where a term is expected"),
        ("Q ~ a - b", 6, "'-' after the last term"),
        ("Q ~ log(a)", 7, "'(' after the last term"),
        ("Q ~ 2 * a", 4, "'2' where a term is expected"),
        ("Q ~ 0 + a", 4, "'0' among fixed effects"),
        ("Q ~ (0 + a) * b", 5, "'0' among fixed effects"),
        ("Q ~ a:1", 4, "'a' beside an intercept"),
        ("Q ~ (1 | g", 10, "its end where ) is expected"),
        ("Q ~ (1 | g / h)", 11, "'/' where ) is expected"),
        ("Q ~ (1 | 1)", 9, "'1' where a column is expected"),
        ("Q ~ (x || g)", 7, "'||' for uncorrelated effects"),
        ("Q ~ (0 | g)", 4, "'(' of a random effect of nothing"),
        ("Q ~ (1 | g) + (x | g)", 14, "'(' of a second effect of the intercept by g"),
        ("Q ~ (x | g) + (0 + x | g)", 14, "'(' of a second effect of x by g"),
        ("Q ~ a * (1 | g)", 6, "'*' beside a random effect"),
        ("Q ~ ((1 | g) | h)", 4, "'(' around another random effect"),
        ("Q ~ a + Q", 0, "'Q' both as response and as effect"),
        ("Q ~ `a", 4, "'`' where a term is expected"),
        ("Q ~ " + "(" * 25, 24, "'(' as bracket number 21 within another"),
        ("Q ~ a `+` b", 6, "'+' after the last term"),
        ("Q `~` a", 2, "'~' where ~ is expected"),
        ("Q ~ (1 `|` g)", 7, "'|' where ) is expected"),
        ("Q ~ a*b*c*d*e*f*g*h*i*j", 19, "'*' and more than 500 terms with it"),
    ],
)
def test_faults_are_shown_where_they_are(text: str, position: int, fault: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        parse_formula(text)
    first, shown, caret, allowed = str(raised.value).split("\n")
    assert first == f"The formula has {fault}:"
    assert shown == f"  {text}"
    assert caret == f"{' ' * (position + 2)}^"
    assert allowed.endswith(".")
