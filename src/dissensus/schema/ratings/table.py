"""The checked ratings table that analyses take."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Literal, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.errors import InvalidInput, NotFound
from dissensus.schema import axes
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.column_choice import choose_columns
from dissensus.schema.ratings.encoding import encode_ratings
from dissensus.schema.ratings.findings import raise_failed_check
from dissensus.schema.ratings.joins import join_items, join_raters


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ratings:
    """A checked, encoded and ordered table of ratings.

    Make one with `Ratings.from_frame`, or with `dissensus.files.raw.table_reader.read_ratings`.

    Parameters
    ----------
    answers
        One row per rating, in the order of items, then raters: ``item`` and ``rater`` (UInt32, rows of the
        tables below), ``answer_time_ms`` (Float64, null where unknown) if the table has times, and one Enum column per
        question, whose categories are the scale.
    raters
        One row per rater, in the order of ``rater_id``: its attributes as text, null where unknown, and
        where it is known whether raters were flagged, Boolean ``rater_flagged``. Empty where it is not known who
        answered; ``rater`` is null then.
    items
        One row per item, in the order of ``item_id``: its attributes as text, null where unknown.
    notes
        What the reader should know about how the table was read.

    Examples
    --------
    >>> import polars as pl
    >>> ratings = Ratings.from_frame(pl.DataFrame({
    ...     "item_id": ["1", "1", "2", "2"],
    ...     "rater_id": ["ann", "bob", "ann", "bob"],
    ...     "rater_gender": ["Woman", "Man", "Woman", "Man"],
    ...     "Q_overall": ["Yes", "No", "Unsure", "No"],
    ... }))
    >>> ratings
    Ratings(4 ratings of 2 items by 2 raters; questions: Q_overall; axes: rater_gender)
    >>> ratings.scale("Q_overall")
    ('No', 'Unsure', 'Yes')
    >>> item, rater, answer = ratings.coded("Q_overall")
    >>> answer
    array([2, 0, 1, 0], dtype=int16)
    >>> ratings.group_codes("gender")
    (array([1, 0], dtype=int32), ('Man', 'Woman'))
    """

    answers: pl.DataFrame
    raters: pl.DataFrame
    items: pl.DataFrame
    notes: tuple[str, ...] = ()

    @classmethod
    def from_frame(
        cls,
        frame: pl.DataFrame,
        *,
        item: str = names.ITEM_ID,
        rater: str | None = names.RATER_ID,
        questions: Sequence[str] | Literal["all"] | None = None,
        answer: str | None = None,
        rater_attributes: Sequence[str] = (),
        categories: Sequence[str] | None = None,
    ) -> Self:
        """Check a long table, one row per rating, and encode it.

        Parameters
        ----------
        frame
            The table. Only the columns of the data contract and those named here are read.
        item, rater
            Columns with the ids. Without raters (None) the answers are counts: agreement of the whole pool and labels
            of items work, and whatever needs to know who answered is refused.
        questions
            Columns with the answers, or "all" for every ``Q*`` column whose scale is known. By default
            ``Q_overall``, else the only ``Q*`` column.
        answer
            A single column with the answers, under any name.
        rater_attributes
            Columns that describe raters besides those named ``rater_*``.
        categories
            The answers in order, where neither the name of the question nor the answers tell it.

        Raises
        ------
        NotFound
            A column is not there.
        InvalidInput
            The table cannot be used; the message names the row, the value, what is allowed and the remedy.

        Notes
        -----
        An empty answer is a question not answered: a row without any is left out, and `notes` count it.
        Everything else is checked: ids are there, a rater rates an item once, raters and items have one
        value of each attribute, and answers are on their scale.
        """
        choice = choose_columns(
            frame.columns,
            item=item,
            rater=rater,
            answer=answer,
            questions=questions,
            rater_attributes=rater_attributes,
        )
        read = encode_ratings(frame, choice, categories, raise_failed_check)
        return cls(read.sorted_answers(), read.raters, read.items, read.notes)._answered()

    @property
    def n_items(self) -> int:
        """Number of rated items."""
        return self.items.height

    @property
    def n_raters(self) -> int:
        """Number of raters who rated; 0 where it is not known who did."""
        return self.raters.height

    @property
    def has_raters(self) -> bool:
        """True where it is known who gave which answer."""
        return self.raters.height > 0

    @property
    def n_ratings(self) -> int:
        """Number of ratings: pairs of rater and item with at least one answer."""
        return self.answers.height

    @property
    def questions(self) -> tuple[str, ...]:
        """Names of the questions that were read."""
        return tuple(name for name in self.answers.columns[2:] if name != names.ANSWER_TIME)

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the attributes of raters."""
        return tuple(name for name in self.raters.columns[1:] if name != names.FLAG)

    def asked(self, question: str | None = None) -> str:
        """Return the question that is meant: the one named, the only one, or ``Q_overall``.

        Raises
        ------
        InvalidInput
            Several questions were read and none of them is meant by default.
        """
        if question is not None:
            return question
        if len(self.questions) == 1:
            return self.questions[0]
        if names.OVERALL in self.questions:
            return names.OVERALL
        raise InvalidInput(
            f"Several questions were read: {', '.join(self.questions)}. Name the one that is meant with --question "
            "(in Python: question=...)."
        )

    def scale(self, question: str) -> tuple[str, ...]:
        """Return the answers that a question may have, in order."""
        dtype = self._question(question).dtype
        assert isinstance(dtype, pl.Enum)  # noqa: S101 - what the class promises
        return tuple(dtype.categories)

    def coded(self, question: str) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int16]]:
        """Return the item, the rater and the answer of each rating that answers the question.

        Items and raters are rows of `items` and `raters`, answers are positions on the scale. Where it is not known who
        answered, every rating has a rater code of its own, which nobody rated an item twice with.
        """
        answered = self.answers.filter(self._question(question).is_not_null())
        rater = answered["rater"] if self.has_raters else pl.int_range(answered.height, eager=True)
        return (
            answered["item"].to_numpy().astype(np.int32),
            rater.to_numpy().astype(np.int32),
            answered[question].to_physical().to_numpy().astype(np.int16),
        )

    def require_raters(self, what: str) -> None:
        """Refuse `what` where it is not known who gave which answer.

        Raises
        ------
        InvalidInput
            The ratings were read without raters.
        """
        if not self.has_raters:
            raise InvalidInput(
                f"{what} needs to know who gave which answer, and these ratings were read as counts (--no-raters; in "
                "Python: rater=None). Agreement of the whole pool and labels of items are what counts can tell."
            )

    def axis_name(self, text: str) -> str:
        """Return the full name of an axis, or of crossed axes: "race*gender" is "rater_race*rater_gender"."""
        if not isinstance(text, str):
            raise InvalidInput(f"Name one axis as text, such as 'race' or 'race*gender', not {format_value(text)}.")
        self.require_raters(f"Axis {text!r}")
        return axes.resolve_axis(text, self.axes)

    def group_codes(self, axis: str) -> tuple[NDArray[np.int32], tuple[str, ...]]:
        """Return the group of each rater on an axis, -1 where it is unknown, and the names of the groups."""
        return axes.group_codes(self.raters, self.axis_name(axis))

    def exclude_flagged(self) -> Self:
        """Return the ratings of the raters who are not flagged.

        Raises
        ------
        InvalidInput
            It is not known who is flagged, or everyone is.
        """
        self.require_raters("Leaving out flagged raters")
        if names.FLAG not in self.raters.columns:
            raise InvalidInput(
                f"It is not known which raters are flagged. A column {names.FLAG} (or {names.REMOVED}) "
                "with true or false for each rater would tell."
            )
        kept = ~self.raters[names.FLAG]
        if not kept.any():
            raise InvalidInput(f"Every rater is flagged ({names.FLAG}), so no ratings are left.")
        n = int((~kept).sum())
        left = f"{n} flagged {'rater is' if n == 1 else 'raters are'} left out."
        return replace(self._kept(kept.gather(self.answers["rater"])), notes=(*self.notes, left))

    def where(self, column: str, value: str) -> Self:
        """Return the ratings of the items, or of the raters, that have a value of an attribute.

        Raises
        ------
        NotFound
            No attribute has that name.
        InvalidInput
            No item or rater has that value; the message lists those there are.
        """
        name = column if column in self.items.columns else self._attribute(column)
        of_items = name in self.items.columns
        values = (self.items if of_items else self.raters)[name].cast(pl.String)
        kept = values.eq(str(value)).fill_null(value=False)
        if not kept.any():
            allowed = values.unique().drop_nulls().sort().to_list()
            hint = suggest(str(value), allowed[:1000])
            raise InvalidInput(f"No {name} is {format_value(value)}. Its values are {format_list(allowed, 30)}.{hint}")
        rows = kept.gather(self.answers["item" if of_items else "rater"])
        return replace(self._kept(rows), notes=(*self.notes, f"Only ratings whose {name} is {value}."))

    def of_items(self, kept: pl.Series) -> Self:
        """Return the ratings of some items, told by one Boolean for each row of `items`."""
        return self if kept.all() else self._kept(kept.gather(self.answers["item"]))

    def answering(self, question: str) -> Self:
        """Return the ratings that answer a question, with that question alone."""
        answered = self._question(question).is_not_null()
        others = [name for name in self.questions if name != question]
        alone = replace(self, answers=self.answers.drop(others))
        return alone if answered.all() else alone._kept(answered)

    def with_items(self, frame: pl.DataFrame, *, item: str = names.ITEM_ID) -> Self:
        """Return the same ratings with more attributes of their items.

        Parameters
        ----------
        frame
            One row per item; every column besides the ids is an attribute.
        item
            Column with the ids.

        Raises
        ------
        InvalidInput
            A rated item is not in the table, an item is in it twice, or it contradicts what is known already.
        """
        items, notes = join_items(self.items, frame, item)
        return replace(self, items=items, notes=self.notes + notes)

    def with_raters(self, frame: pl.DataFrame, *, rater: str = names.RATER_ID) -> Self:
        """Return the same ratings with more attributes of their raters.

        Parameters
        ----------
        frame
            One row per rater. Its ``rater_*`` columns are attributes, and ``rater_flagged`` tells who is flagged, in
            place of what was known.
        rater
            Column with the ids.

        Raises
        ------
        InvalidInput
            A rater is not in the table, is in it twice, or it contradicts what is known already.
        """
        self.require_raters("A table of raters")
        raters, notes = join_raters(self.raters, frame, rater)
        return replace(self, raters=raters, notes=self.notes + notes)

    def _attribute(self, column: str) -> str:
        """Return the column of `raters` that is meant, by its full or its short name."""
        options = [*self.items.columns, *self.raters.columns]
        for name in (column, names.RATER_PREFIX + column):
            if name in self.raters.columns:
                return name
        raise NotFound(f"There is no attribute {column!r}.{suggest(column, options)} There are {format_list(options)}.")

    def _question(self, question: str) -> pl.Series:
        if question not in self.questions:
            raise NotFound(
                f"Question {question!r} was not read.{suggest(question, self.questions)} Read were "
                f"{format_list(self.questions)}; name others with --question (in Python: questions=[...])."
            )
        return self.answers[question]

    def _answered(self) -> Self:
        """Leave out the rows that answer nothing, with a note."""
        blank = self.answers.select(pl.all_horizontal(pl.col(self.questions).is_null())).to_series()
        if not blank.any():
            return self
        what = "row has" if blank.sum() == 1 else "rows have"
        counted = "counts" if blank.sum() == 1 else "count"
        asked = self.questions[0] if len(self.questions) == 1 else "any question"
        note = f"{blank.sum():,} {what} no answer to {asked} and {counted} as not rated."
        return replace(self._kept(~blank), notes=(*self.notes, note))

    def _kept(self, rows: pl.Series) -> Self:
        """Return some of the ratings, with the raters and items that they are of."""
        if not rows.any():
            raise InvalidInput("No ratings are left.")
        answers = self.answers.filter(rows)
        items, item = _drop_unused_rows(self.items, answers["item"])
        kept = replace(self, answers=answers.with_columns(item), items=items)
        if not self.has_raters:
            return kept
        raters, rater = _drop_unused_rows(self.raters, answers["rater"])
        return replace(kept, answers=kept.answers.with_columns(rater), raters=raters)

    def __repr__(self) -> str:
        return (
            f"Ratings({self.n_ratings:,} ratings of {self.n_items:,} items by {self._who()}; "
            f"questions: {', '.join(self.questions)}; axes: {', '.join(self.axes) or 'none'})"
        )

    def _who(self) -> str:
        return f"{self.n_raters:,} raters" if self.has_raters else "unknown raters"

    def _repr_html_(self) -> str:
        rows = {
            "ratings": f"{self.n_ratings:,}",
            "items": f"{self.n_items:,}",
            "raters": f"{self.n_raters:,}" if self.has_raters else "not known",
            "questions": ", ".join(self.questions),
            "axes": ", ".join(self.axes) or "none",
            "notes": " ".join(self.notes) or "none",
        }
        cells = (f"<tr><th>{name}</th><td>{escape(value)}</td></tr>" for name, value in rows.items())
        return f"<table>{''.join(cells)}</table>"


def _drop_unused_rows(table: pl.DataFrame, codes: pl.Series) -> tuple[pl.DataFrame, pl.Series]:
    """Return the rows of a table that codes point to, and the codes among these."""
    used = codes.unique().sort()
    place = np.zeros(table.height, dtype=np.uint32)
    place[used.to_numpy()] = np.arange(len(used))
    return table[used], pl.Series(codes.name, place[codes.to_numpy()])
