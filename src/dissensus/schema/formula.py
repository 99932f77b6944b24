"""Formulas of multilevel models: `Q_overall ~ rater_race * rater_gender + (1 | rater_id) + (1 | item_id)`."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Final, NoReturn, TypeAlias

from dissensus.errors import InvalidInput

Term: TypeAlias = tuple[str, ...]
"""Names of the columns that a term crosses: one for a main effect, several for an interaction."""

CROSSED: Final = ":"
END: Final = ""
MAX_DEPTH: Final = 20
"""Brackets within one another."""
MAX_TERMS: Final = 500
"""Terms of a product."""
EXAMPLE: Final = "Q_overall ~ rater_race * rater_gender + (1 | rater_id) + (1 | item_id)"
_TOKEN: Final = re.compile(r"`(?P<quoted>[^`]*)`|(?P<name>[^\W\d][\w.]*)|\d[\w.]*|\|\||\S")
_PLAIN: Final = re.compile(r"[^\W\d][\w.]*")


@dataclass(frozen=True, slots=True)
class GroupTerm:
    """Effects that vary by group: `(terms | group)`, with a random intercept unless `0 +` leaves it out."""

    terms: tuple[Term, ...]
    intercept: bool
    group: Term

    def __str__(self) -> str:
        parts = [*([] if self.intercept and self.terms else ["1" if self.intercept else "0"]), *map(_join, self.terms)]
        return f"({' + '.join(parts)} | {_join(self.group)})"


@dataclass(frozen=True, slots=True)
class Formula:
    """A parsed formula: response, fixed effects in R's order of terms, random effects in order of appearance."""

    response: str
    terms: tuple[Term, ...]
    random: tuple[GroupTerm, ...]

    def __str__(self) -> str:
        return f"{_quote(self.response)} ~ {' + '.join([*map(_join, self.terms), *map(str, self.random)]) or '1'}"

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns besides the response, in order of appearance, without repetition."""
        random = (term for part in self.random for term in (*part.terms, part.group))
        return tuple(dict.fromkeys(name for term in (*self.terms, *random) for name in term))


def parse_formula(text: str) -> Formula:
    """Parse a formula.

    Terms are joined by `+`; `a:b` is an interaction, `a*b` is `a + b + a:b`, and brackets group terms, as in
    `a * (b + c)`. `(1 | g)` is a random intercept, `(x | g)` adds random slopes, `(0 + x | g)` has slopes alone, and a
    group may be crossed: `(1 | a:b)`. Names with other characters than letters, digits, `_` and `.` stand in
    backquotes. Repeated terms count once; main effects precede interactions, as in R.

    Examples
    --------
    >>> formula = parse_formula("Q ~ race*(gender + age) + (1|rater) + (0 + race | item)")
    >>> formula.terms
    (('race',), ('gender',), ('age',), ('race', 'gender'), ('race', 'age'))
    >>> formula.random[1]
    GroupTerm(terms=(('race',),), intercept=False, group=('item',))
    >>> print(formula)
    Q ~ race + gender + age + race:gender + race:age + (1 | rater) + (0 + race | item)
    >>> parse_formula("Q ~ race + + age")
    Traceback (most recent call last):
    dissensus.errors.InvalidInput: The formula has '+' where a term is expected:
      Q ~ race + + age
                 ^
    Write a column, such as rater_race, or a random effect, such as (1 | rater_id).
    """
    return _Parser(text).parse()


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    start: int
    is_name: bool = False


@dataclass(frozen=True, slots=True)
class _Sum:
    """Terms of a sum, and its `0` or `1`, None if it has neither."""

    terms: tuple[Term, ...] = ()
    random: tuple[GroupTerm, ...] = ()
    intercept: _Token | None = None


class _Parser:
    """Recursive descent: sum, product, interaction, factor."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(self._split())
        self.position = 0
        self.depth = 0
        self.names: set[str] = set()
        self.random: dict[tuple[Term, Term], GroupTerm] = {}

    def parse(self) -> Formula:
        start = self.next
        response = self._name("the column of the answers is expected", f"Write it like {EXAMPLE}.")
        if not self._is_next("~"):
            self._fail("where ~ is expected", f"Write it like {EXAMPLE}.")
        self._advance()
        right = self._sum()
        self._require_intercept(right)
        if not self._is_next(END):
            self._fail("after the last term", "Join terms by +, * or :.")
        if response in self.names:
            self._fail("both as response and as effect", "Leave one of them out.", start)
        return Formula(response, _order(right.terms), tuple(dict.fromkeys(right.random)))

    def _sum(self) -> _Sum:
        parts = [self._product()]
        while self._is_next("+"):
            self._advance()
            parts.append(self._product())
        intercepts = [part.intercept for part in parts if part.intercept is not None]
        return _Sum(
            tuple(term for part in parts for term in part.terms),
            tuple(random for part in parts for random in part.random),
            min(intercepts, key=lambda token: token.text, default=None),
        )

    def _product(self) -> _Sum:
        start = self.next
        total = self._interaction()
        while self._is_next("*"):
            sign = self._advance()
            right = self._interaction()
            self._require_fixed(total, right, sign, start)
            total = self._limit(_Sum((*total.terms, *right.terms, *_cross(total.terms, right.terms))), sign)
        return total

    def _interaction(self) -> _Sum:
        start = self.next
        total = self._factor()
        while self._is_next(CROSSED):
            sign = self._advance()
            right = self._factor()
            self._require_fixed(total, right, sign, start)
            total = self._limit(_Sum(_cross(total.terms, right.terms)), sign)
        return total

    def _factor(self) -> _Sum:
        token = self.next
        if token.is_name:
            return _Sum((self._column(),))
        if token.text in ("0", "1"):
            return _Sum(intercept=self._advance())
        if token.text != "(":
            self._fail(
                "where a term is expected",
                "Write a column, such as rater_race, or a random effect, such as (1 | rater_id).",
            )
        return self._bracket()

    def _bracket(self) -> _Sum:
        opening = self._advance()
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self._fail(f"as bracket number {self.depth} within another", f"At most {MAX_DEPTH} are read.", opening)
        inner = self._sum()
        if self._is_next("|"):
            inner = _Sum(random=(self._random(inner, opening),))
        elif self._is_next("||"):
            self._fail("for uncorrelated effects", "Write two terms: (1 | group) + (0 + column | group).")
        else:
            self._require_intercept(inner)
        if not self._is_next(")"):
            self._fail("where ) is expected", "Close the bracket; join terms by +, * or :.")
        self._advance()
        self.depth -= 1
        return inner

    def _random(self, effects: _Sum, opening: _Token) -> GroupTerm:
        self._advance()
        if effects.random:
            self._fail("around another random effect", "Write them as two terms, joined by +.", opening)
        group = self._group()
        intercept = effects.intercept is None or effects.intercept.text == "1"
        if not intercept and not effects.terms:
            self._fail("of a random effect of nothing", "Name a column: (0 + column | group); or (1 | group).", opening)
        random = GroupTerm(_order(effects.terms), intercept, group)
        for term in (*([()] if intercept else []), *random.terms):
            if self.random.setdefault((group, term), random) != random:
                name = _join(term) or "the intercept"
                hint = "" if term else " For slopes alone: (0 + column | group)."
                self._fail(f"of a second effect of {name} by {_join(group)}", f"Name each effect once.{hint}", opening)
        return random

    def _group(self) -> Term:
        names = self._column()
        while self._is_next(CROSSED):
            self._advance()
            names += self._column()
        return tuple(dict.fromkeys(names))

    def _column(self) -> Term:
        name = self._name("a column is expected", "Write its name, in `backquotes` if it has spaces or other signs.")
        self.names.add(name)
        return (name,)

    def _name(self, expected: str, allowed: str) -> str:
        if not self.next.is_name:
            self._fail(f"where {expected}", allowed)
        return self._advance().text

    def _require_intercept(self, fixed: _Sum) -> None:
        if fixed.intercept is not None and fixed.intercept.text == "0":
            self._fail("among fixed effects", "Leave it out: thresholds stand for the intercept.", fixed.intercept)

    def _limit(self, total: _Sum, sign: _Token) -> _Sum:
        if len(total.terms) > MAX_TERMS:
            self._fail(f"and more than {MAX_TERMS} terms with it", "Cross fewer columns.", sign)
        return total

    def _require_fixed(self, left: _Sum, right: _Sum, sign: _Token, start: _Token) -> None:
        if left.random or right.random:
            self._fail("beside a random effect", "Join random effects by +.", sign)
        if not left.terms or not right.terms:
            self._fail("beside an intercept", "Cross columns alone, such as rater_race:rater_gender.", start)

    @property
    def next(self) -> _Token:
        """The token to be read."""
        return self.tokens[self.position]

    def _is_next(self, sign: str) -> bool:
        """Return whether the next token is a sign, not a name in backquotes that is written like one."""
        return not self.next.is_name and self.next.text == sign

    def _advance(self) -> _Token:
        token = self.next
        self.position += 1
        return token

    def _split(self) -> Iterator[_Token]:
        for match in _TOKEN.finditer(self.text):
            if match["quoted"]:
                yield _Token(match["quoted"], match.start(), is_name=True)
            elif match["name"]:
                yield _Token(match["name"], match.start(), is_name=True)
            else:
                yield _Token(match[0], match.start())
        yield _Token(END, len(self.text))

    def _fail(self, fault: str, allowed: str, token: _Token | None = None) -> NoReturn:
        token = token or self.next
        shown = self.text.replace("\n", " ").replace("\t", " ")
        subject = repr(token.text) if token.text != END else "its end"
        raise InvalidInput(f"The formula has {subject} {fault}:\n  {shown}\n  {' ' * token.start}^\n{allowed}")


def _order(terms: Iterable[Term]) -> tuple[Term, ...]:
    """Return terms without repetition, main effects first, else in order of appearance."""
    unique: dict[frozenset[str], Term] = {}
    for term in terms:
        unique.setdefault(frozenset(term), term)
    return tuple(sorted(unique.values(), key=len))


def _cross(left: Iterable[Term], right: Iterable[Term]) -> tuple[Term, ...]:
    return tuple((*a, *(name for name in b if name not in a)) for a, b in product(left, right))


def _quote(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else f"`{name}`"


def _join(term: Term) -> str:
    return CROSSED.join(map(_quote, term))
