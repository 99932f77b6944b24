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
from dissensus.schema.advice import Advice
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.item_sets import TOPICS, describe_set, list_members
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.bins import bin_attribute
from dissensus.schema.ratings.cleaning import Duplicates, check_rules
from dissensus.schema.ratings.column_choice import choose_columns
from dissensus.schema.ratings.encoding import encode_ratings
from dissensus.schema.ratings.findings import raise_failed_check
from dissensus.schema.ratings.headers import strip_headers
from dissensus.schema.ratings.joins import join_items, join_raters
from dissensus.schema.ratings.multiple_labels import select_label
from dissensus.schema.ratings.repeats import FIRST, SECOND, describe_second_showings


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ratings:
    """A checked, encoded and ordered table of ratings.

    Made by `Ratings.from_frame` or `dissensus.read_ratings`.

    Parameters
    ----------
    answers
        One row per rating, in the order of items, then raters: ``item`` and ``rater`` (UInt32, rows of the
        tables below), ``answer_time_ms`` and ``bulk_share`` (Float64, null where unknown) if the table has them, and
        one Enum column per question, whose categories are the scale.
    raters
        One row per rater, in the order of ``rater_id``: attributes as text, null where unknown, and Boolean
        ``rater_flagged`` if flags are known. Empty for anonymous counts, whose ``rater`` is null.
    items
        One row per item, in the order of ``item_id``: attributes as text, null where unknown.
    repeats
        Second ratings of items by raters whose first ones are in `answers`, with the same columns.
    notes
        Remarks on how the table was read.
    sets
        Attributes of items whose cells hold several values; see `with_sets`.

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
    >>> item, rater, answer = ratings.codes("Q_overall")
    >>> answer
    array([2, 0, 1, 0], dtype=int16)
    >>> ratings.group_codes("gender")
    (array([1, 0], dtype=int32), ('Man', 'Woman'))
    """

    answers: pl.DataFrame
    raters: pl.DataFrame
    items: pl.DataFrame
    repeats: pl.DataFrame
    notes: tuple[str, ...] = ()
    sets: tuple[str, ...] = TOPICS

    @classmethod
    def from_frame(  # noqa: PLR0913 - options are keyword-only
        cls,
        frame: pl.DataFrame,
        *,
        item: str = names.ITEM_ID,
        rater: str | None = names.RATER_ID,
        questions: Sequence[str] | Literal["all"] | None = None,
        answer: str | None = None,
        rater_attributes: Sequence[str] | Literal["auto"] = (),
        categories: Sequence[str] | None = None,
        text: str | None = None,
        has_label: str | None = None,
        missing: Sequence[str] = (),
        normalise: bool = False,
        duplicates: Duplicates = "refuse",
    ) -> Self:
        """Check a long table, one row per rating, and encode it.

        Parameters
        ----------
        frame
            The table. Only columns of the data contract and those named here are read.
        item, rater
            Columns with the ids. Without raters (None) the answers are anonymous counts: agreement of the whole pool
            and labels of items work, and analyses that need raters raise an error.
        questions
            Columns with the answers, or "all" for every ``Q*`` column whose scale is known. By default
            ``Q_overall``, else the only ``Q*`` column.
        answer
            A single column with the answers, under any name.
        rater_attributes
            Columns that describe raters besides those named ``rater_*``; "auto" for all that have one value for each
            rater, but not for each item.
        categories
            The answers in order, if neither the name of the question nor the answers determine it.
        text
            Column with the texts of items, read as ``item_text``. By default ``text``, if it has one text for each
            item and there is neither ``context``, ``response`` nor ``item_text``.
        has_label
            A label, where raters gave several to an item, in rows or in a cell separated by | or ;: the answer is Yes
            or No, whether it is among them.
        missing
            Words for a missing answer or attribute, besides empty cells and the usual ones: NaN, NA, N/A, null, <NA>,
            and None among answers. Usual words are answers if `categories` names them.
        normalise
            True to read values that differ only in case or Unicode normal form as one.
        duplicates
            Rating to keep where a rater rated an item more than once: "first" or "last", "drop" for none of them,
            or "refuse".

        Raises
        ------
        NotFound
            A column does not exist.
        InvalidInput
            The table cannot be used; the message names the row, the value, what is allowed and the remedy.

        Notes
        -----
        An empty answer is an unanswered question; rows without any answer are left out, and `notes` count them.
        Ids must be present, a rater rates an item once, raters and items have one value of each attribute, and
        answers are on their scale. Spaces around ids, answers, attributes of raters and names of columns are left out,
        and whole numbers are read without decimals: 1.0 is 1. `notes` say what was changed, and name values that
        usually mean a missing one.
        """
        rules = check_rules(missing, normalise, duplicates)
        frame, header_notes = strip_headers(frame)
        choice = choose_columns(
            frame.columns,
            item=item,
            rater=rater,
            answer=answer,
            questions=questions,
            rater_attributes=rater_attributes,
            text=text,
            frame=frame,
        )
        repeated = None
        if has_label is not None:
            question = choice.require_question("has_label")
            frame, repeated = select_label(frame, choice.item, choice.rater, question, has_label)
        encoded = encode_ratings(frame, choice, categories, raise_failed_check, rules, repeated=repeated)
        remarks = (remark.note for remark in encoded.remarks)
        notes = (*header_notes, *describe_second_showings(int(encoded.second.sum())), *remarks, *encoded.notes)
        answers, repeats = encoded.sorted_answers(), encoded.sorted_answers(second=True)
        ratings = cls(answers, encoded.raters, encoded.items, repeats, notes)._drop_blank_rows()
        is_complete = answers.height == frame.height
        return ratings if is_complete else ratings._filter(pl.repeat(value=True, n=ratings.n_ratings, eager=True))

    @property
    def n_items(self) -> int:
        """Number of rated items."""
        return self.items.height

    @property
    def n_raters(self) -> int:
        """Number of raters with ratings; 0 for anonymous counts."""
        return self.raters.height

    @property
    def has_raters(self) -> bool:
        """True unless the ratings are anonymous counts."""
        return self.raters.height > 0

    @property
    def n_ratings(self) -> int:
        """Number of ratings: pairs of rater and item with at least one answer."""
        return self.answers.height

    @property
    def questions(self) -> tuple[str, ...]:
        """Names of the questions that were read."""
        return tuple(name for name in self.answers.columns[2:] if name not in names.MEASURES)

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the attributes of raters."""
        return tuple(name for name in self.raters.columns[1:] if name != names.FLAG)

    def resolve_question(self, question: str | None = None) -> str:
        """Return a named question, or the default: the only one, or ``Q_overall``.

        Raises
        ------
        InvalidInput
            Several questions were read, and there is no default.
        """
        if question is not None:
            return question
        if len(self.questions) == 1:
            return self.questions[0]
        if names.OVERALL in self.questions:
            return names.OVERALL
        reason = f"Several questions were read: {', '.join(self.questions)}."
        raise InvalidInput(
            Advice(
                f"{reason} Name one with --question (in Python: question=...).",
                site=f'{reason} Choose one under "Question" in the form of a new report.',
            )
        )

    def scale(self, question: str) -> tuple[str, ...]:
        """Return the answers that a question may have, in order."""
        dtype = self._question(question).dtype
        assert isinstance(dtype, pl.Enum)  # noqa: S101 - contract of the class
        return tuple(dtype.categories)

    def codes(self, question: str) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int16]]:
        """Return the item, the rater and the answer of each rating that answers the question, as codes.

        Items and raters are rows of `items` and `raters`, answers are indices on the scale. Anonymous ratings have a
        distinct rater code each.
        """
        answered = self.answers.filter(self._question(question).is_not_null())
        rater = answered["rater"] if self.has_raters else pl.int_range(answered.height, eager=True)
        return (
            answered["item"].to_numpy().astype(np.int32),
            rater.to_numpy().astype(np.int32),
            answered[question].to_physical().to_numpy().astype(np.int16),
        )

    def showing_codes(self, question: str) -> tuple[NDArray[np.int64], ...]:
        """Return the item, the rater, the answer and the showing (1 or 2) of ratings of repeated items, as codes."""
        self._question(question)
        first = self.answers.join(self.repeats, on=["item", "rater"], how="semi")
        both = pl.concat(
            part.select("item", "rater", pl.col(question).to_physical(), showing=pl.lit(showing))
            for part, showing in ((first, FIRST), (self.repeats, SECOND))
        )
        return tuple(column.to_numpy().astype(np.int64) for column in both.drop_nulls())

    def require_raters(self, operation: str) -> None:
        """Raise if the ratings are anonymous counts; the message begins with the operation.

        Raises
        ------
        InvalidInput
            The ratings were read without raters.
        """
        if not self.has_raters:
            reason = f"{operation} needs to know who gave which answer, and these ratings were read as counts"
            rest = "Agreement of the whole pool and labels of items are what counts can tell."
            raise InvalidInput(
                Advice(f"{reason} (--no-raters; in Python: rater=None). {rest}", site=f"{reason}. {rest}")
            )

    def axis_name(self, text: str) -> str:
        """Return the full name of an axis, or of crossed axes: "race*gender" is "rater_race*rater_gender"."""
        if not isinstance(text, str):
            raise InvalidInput(f"Name one axis as text, such as 'race' or 'race*gender', not {format_value(text)}.")
        self.require_raters(f"Axis {text!r}")
        return axes.resolve_axis(text, self.axes)

    def group_codes(self, axis: str) -> tuple[NDArray[np.int32], tuple[str, ...]]:
        """Return the group of each rater on an axis, -1 if unknown, and the names of the groups."""
        return axes.group_codes(self.raters, self.axis_name(axis))

    def exclude_flagged(self) -> Self:
        """Return the ratings of raters who are not flagged.

        Raises
        ------
        InvalidInput
            There are no flags, or all raters are flagged.
        """
        self.require_raters("Leaving out flagged raters")
        if names.FLAG not in self.raters.columns:
            raise InvalidInput(
                f"It is unknown which raters are flagged. Add a column {names.FLAG} (or {names.REMOVED}) "
                "with true or false for each rater."
            )
        mask = ~self.raters[names.FLAG]
        if not mask.any():
            raise InvalidInput(f"Every rater is flagged ({names.FLAG}), so no ratings are left.")
        n = int((~mask).sum())
        note = f"{n:,} flagged {'rater is' if n == 1 else 'raters are'} left out."
        return replace(self._filter(mask.gather(self.answers["rater"])), notes=(*self.notes, note))

    def where(self, column: str, value: str) -> Self:
        """Return the ratings of items, or of raters, with a value of an attribute.

        Of a set, such as the topics in ``harm_type``, the value is one of several; a whole cell is accepted as well.

        Raises
        ------
        NotFound
            No attribute has that name.
        InvalidInput
            No item or rater has that value; the message lists the values.
        """
        name = column if column in self.items.columns else self._attribute(column)
        of_items = name in self.items.columns
        table = self.items if of_items else self.raters
        members = list_members(table[name], is_set=of_items and name in self.sets)
        mask = table[name].cast(pl.String).eq(str(value)).fill_null(value=False)
        mask |= pl.int_range(table.height, eager=True).is_in(members.filter(value=str(value))["row"].implode())
        if not mask.any():
            allowed = members["value"].unique().sort().to_list()
            hint = suggest(str(value), allowed[:1000])
            raise InvalidInput(f"No {name} is {format_value(value)}. Its values are {format_list(allowed, 30)}.{hint}")
        rows = mask.gather(self.answers["item" if of_items else "rater"])
        notes = (*self.notes, f"Only ratings whose {name} is {value}.", *self.describe_sets([name]))
        return replace(self._filter(rows), notes=tuple(dict.fromkeys(notes)))

    def with_sets(self, columns: Sequence[str]) -> Self:
        """Return the same ratings with attributes of items read as sets: each cell holds several values.

        ``harm_type`` and ``topic`` are sets by definition, with values separated by commas. Cells of others are JSON
        lists, or their values are separated by the first of | ; , that occurs in the attribute.

        Raises
        ------
        NotFound
            No attribute of items has that name.
        """
        columns = tuple(self.item_attribute(column) for column in columns)
        return replace(self, sets=tuple(dict.fromkeys((*self.sets, *columns))))

    def item_attribute(self, column: str) -> str:
        """Return the name of an attribute of items.

        Raises
        ------
        NotFound
            No attribute of items has that name.
        """
        attributes = self.items.columns[1:]
        if column in attributes:
            return column
        listed = f"Attributes of items are {format_list(attributes)}." if attributes else "Items have no attributes."
        reason = f"Items have no attribute {format_value(column)}.{suggest(column, attributes)} {listed}"
        join = "A table with one row per item can be joined: --items FILE (in Python: items=...)."
        raise NotFound(Advice(f"{reason} {join}", site=reason))

    def item_members(self, column: str) -> pl.DataFrame:
        """Return one row for each item and value of an attribute: the `row` of the item in `items`, and the `value`.

        An item has several rows where the attribute is a set, and none where its value is unknown.
        """
        name = self.item_attribute(column)
        return list_members(self.items[name], is_set=name in self.sets)

    def describe_sets(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Return a note on each named attribute in which an item has several values."""
        sets = [name for name in columns if name in self.sets and name in self.items.columns]
        return tuple(note for name in sets if (note := describe_set(self.items[name])))

    def select_items(self, mask: pl.Series) -> Self:
        """Return the ratings of some items, by a Boolean mask of the rows of `items`."""
        return self if mask.all() else self._filter(mask.gather(self.answers["item"]))

    def select_ratings(self, mask: pl.Series) -> Self:
        """Return some of the ratings, by a Boolean mask of the rows of `answers`."""
        return self if mask.all() else self._filter(mask)

    def drop_idle_raters(self) -> Self:
        """Return the same ratings without raters and items that have none."""
        return self._filter(pl.repeat(True, self.n_ratings, eager=True))

    def select_question(self, question: str) -> Self:
        """Return the ratings that answer a question, without other questions."""
        mask = self._question(question).is_not_null()
        dropped = [name for name in self.questions if name != question]
        ratings = replace(self, answers=self.answers.drop(dropped), repeats=self.repeats.drop(dropped))
        return ratings if mask.all() else ratings._filter(mask)

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
            A rated item is missing in the table, occurs twice, or contradicts existing attributes.
        """
        items, notes = join_items(self.items, frame, item)
        return replace(self, items=items, notes=self.notes + notes)

    def with_raters(
        self, frame: pl.DataFrame, *, rater: str = names.RATER_ID, missing: Sequence[str] = (), normalise: bool = False
    ) -> Self:
        """Return the same ratings with more attributes of their raters.

        Parameters
        ----------
        frame
            One row per rater. Its ``rater_*`` columns are attributes, and ``rater_flagged`` replaces existing flags.
        rater
            Column with the ids.
        missing, normalise
            As for `from_frame`.

        Raises
        ------
        InvalidInput
            A rater is missing in the table, occurs twice, or contradicts existing attributes.
        """
        self.require_raters("A table of raters")
        frame, header_notes = strip_headers(frame)
        rules = check_rules(missing, normalise, "refuse")
        raters, notes = join_raters(self.raters, frame, rater, rules)
        return replace(self, raters=raters, notes=self.notes + header_notes + notes)

    def with_bins(self, axis: str, edges: Sequence[float]) -> Self:
        """Return the same ratings with a numeric attribute of raters, or of items, in intervals.

        Parameters
        ----------
        axis
            The attribute, such as "age" or "rater_age", or an attribute of items, such as "item_words".
        edges
            The lowest value of each interval but the first, in order: 18, 30, 45 gives under 18, 18–29, 30–44, 45+.

        Raises
        ------
        NotFound
            No attribute has that name.
        InvalidInput
            The edges do not increase, or no value is a number.

        Notes
        -----
        Values that are not numbers, such as "Prefer not to say", stay groups of their own, after the intervals.
        """
        if axis in self.items.columns[1:]:
            binned, notes = bin_attribute(self.items[axis], edges)
            return replace(self, items=self.items.with_columns(binned), notes=self.notes + notes)
        name = self.axis_name(axis)
        binned, notes = bin_attribute(self._single_axis(name), edges)
        return replace(self, raters=self.raters.with_columns(binned), notes=self.notes + notes)

    def _single_axis(self, name: str) -> pl.Series:
        if name not in self.raters.columns:
            raise InvalidInput(f"{name!r} is a crossed axis. Name one attribute of raters.")
        return self.raters[name]

    def _attribute(self, column: str) -> str:
        """Return a column of `raters` by its full or short name."""
        options = [*self.items.columns, *self.raters.columns]
        for name in (column, names.RATER_PREFIX + column):
            if name in self.raters.columns:
                return name
        raise NotFound(f"There is no attribute {column!r}.{suggest(column, options)} There are {format_list(options)}.")

    def _question(self, question: str) -> pl.Series:
        if question not in self.questions:
            read = (
                f"Question {question!r} was not read.{suggest(question, self.questions)} Read were "
                f"{format_list(self.questions)}"
            )
            raise NotFound(
                Advice(f"{read}; name others with --question (in Python: questions=[...]).", site=f"{read}.")
            )
        return self.answers[question]

    def _drop_blank_rows(self) -> Self:
        """Drop rows without any answer, with a note."""
        blank = self.answers.select(pl.all_horizontal(pl.col(self.questions).is_null())).to_series()
        if not blank.any():
            return self
        n = int(blank.sum())
        question = self.questions[0] if len(self.questions) == 1 else "any question"
        rows, verb = ("row has", "counts") if n == 1 else ("rows have", "count")
        note = f"{n:,} {rows} no answer to {question} and {verb} as not rated."
        return replace(self._filter(~blank), notes=(*self.notes, note))

    def _filter(self, rows: pl.Series) -> Self:
        """Return some of the ratings, with their raters and items."""
        if not rows.any():
            raise InvalidInput("No ratings are left.")
        answers, repeats = self.answers.filter(rows), self.repeats
        if repeats.height:
            repeats = repeats.join(answers, on=["item", "rater"], how="semi", maintain_order="left")
        items, answers, repeats = _drop_unused_rows(self.items, "item", answers, repeats)
        raters = self.raters
        if self.has_raters:
            raters, answers, repeats = _drop_unused_rows(raters, "rater", answers, repeats)
        return replace(self, answers=answers, repeats=repeats, items=items, raters=raters)

    def __repr__(self) -> str:
        return (
            f"Ratings({self.n_ratings:,} ratings of {self.n_items:,} items by {self._count_raters()}; "
            f"questions: {', '.join(self.questions)}; axes: {', '.join(self.axes) or 'none'})"
        )

    def _count_raters(self) -> str:
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


def _drop_unused_rows(
    table: pl.DataFrame, column: str, answers: pl.DataFrame, repeats: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return the rows of a table that occur in a column of the answers, and answers and repeats with their codes."""
    used = answers[column].unique().sort()
    new_code = np.zeros(table.height, dtype=np.uint32)
    new_code[used.to_numpy()] = np.arange(len(used))
    answers, repeats = (
        part.with_columns(pl.Series(column, new_code[part[column].to_numpy()])) if part.height else part
        for part in (answers, repeats)
    )
    return table[used], answers, repeats
