"""Figures of items: topics and degree of harm."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from dissensus.errors import NotFound
from dissensus.pipeline.tables import escape_unprintable
from dissensus.report.figure import Figure
from dissensus.report.graphics.bars import Bar, draw_plain_bars, find_scale_end
from dissensus.report.graphics.layout import RowLabels, count_legend_columns, stack_over_rows
from dissensus.report.graphics.theme import BLUE, MUTED, PAPER, VERMILION
from dissensus.report.graphics.vega_lite import (
    X2,
    Axis,
    Chart,
    Fill,
    Legend,
    Scale,
    Shape,
    SizeChannel,
    Spec,
    Stroke,
    Text,
    X,
)
from dissensus.report.groups import format_percent, join_with_and
from dissensus.schema.advice import Advice
from dissensus.schema.hints import count_noun, format_list
from dissensus.schema.ratings.columns import DEGREE, DEGREES, ITEM_ID
from dissensus.schema.ratings.table import Ratings

TOPICS = "harm_type"
# Most rows of a figure, and most values in a sentence.
MOST_ROWS, MOST_NAMED = 30, 4
CONVERSATIONS, MENTIONS = "share of conversations", "share of mentions"
# Fill, edge, shape and size; the smaller is drawn over the larger.
LOOKS = {CONVERSATIONS: (BLUE, BLUE, "circle", 40), MENTIONS: (PAPER, VERMILION, "diamond", 80)}


def topics(ratings: Ratings) -> Figure:
    """Draw the topics of the items, as shares of the conversations and of all mentions.

    Figure 3 of Aroyo et al. (2023), whose shares are those of mentions. A conversation has one topic or several, joined
    by commas; repeated ones count once.

    Parameters
    ----------
    ratings
        The ratings, with ``harm_type`` among the attributes of their items.

    Raises
    ------
    NotFound
        No item has a topic.
    """
    table, n_items = _topics(ratings)
    n_mentions = int(table["n_conversations"].sum())
    drawn, first = table.head(MOST_ROWS).to_dicts(), table.row(0, named=True)
    return Figure(
        name="topics",
        title="Topics of the conversations",
        reading=(
            f"{escape_unprintable(first['topic'])} is in {format_percent(first['share_of_conversations'], 1)} of "
            f"{count_noun(n_items, 'conversation')} and is {format_percent(first['share_of_mentions'], 1)} of "
            f"{count_noun(n_mentions, 'mention')}."
        ),
        table=table,
        draw=lambda width: _draw_topics(drawn, width),
        notes=(
            "At the right: conversations with the topic. A conversation may have several topics.",
            *_notes(ratings, TOPICS, n_items, table.height),
        ),
    )


def degree(ratings: Ratings) -> Figure:
    """Draw the degree of harm that experts assigned to the items.

    Figure 3 of Aroyo et al. (2023), at the right.

    Parameters
    ----------
    ratings
        The ratings, with ``degree_of_harm`` among the attributes of their items.

    Raises
    ------
    NotFound
        No item has a degree of harm.
    """
    counts = _known_values(ratings, DEGREE).value_counts().rename({DEGREE: "degree", "count": "n_conversations"})
    by_level = set(counts["degree"]) <= set(DEGREES)
    order = pl.col("degree").cast(pl.Enum(DEGREES)) if by_level else -pl.col("n_conversations").cast(pl.Int64)
    n_items = int(counts["n_conversations"].sum())
    table = counts.sort(order, "degree").with_columns(share=pl.col("n_conversations") / n_items)
    drawn = table.head(MOST_ROWS).rows()
    return Figure(
        name="degree-of-harm",
        title="Degree of harm of the conversations",
        reading=_reading(table, n_items),
        table=table,
        draw=lambda width: _draw_degree(drawn, width),
        notes=_notes(ratings, DEGREE, n_items, table.height),
    )


def _known_values(ratings: Ratings, name: str) -> pl.Series:
    """Return the known values of an attribute of the items."""
    if name not in ratings.items.columns:
        attributes = ratings.items.columns[1:]
        has = f"Their attributes are {format_list(attributes)}" if attributes else "They have no attributes"
        reason = f"Items have no {name}. {has}"
        raise NotFound(Advice(f"{reason}; join a table of items that has it (--items FILE).", site=f"{reason}."))
    values = ratings.items[name].cast(pl.String).drop_nulls()
    if values.is_empty():
        reason = f"No item has a {name}"
        raise NotFound(Advice(f"{reason}; join a table of items that has it (--items FILE).", site=f"{reason}."))
    return values


def _topics(ratings: Ratings) -> tuple[pl.DataFrame, int]:
    """Return a row per topic, the most frequent first, and the number of items with a topic."""
    _known_values(ratings, TOPICS)
    mentions = ratings.item_members(TOPICS).select(pl.col("row").alias(ITEM_ID), topic="value")
    if mentions.is_empty():
        raise NotFound(f"No item has a topic: {TOPICS} holds commas alone. Name topics, joined by commas.")
    n_items, n = mentions[ITEM_ID].n_unique(), pl.col("n_conversations")
    counts = (
        mentions.group_by("topic")
        .agg(n_conversations=pl.len())
        .sort("n_conversations", "topic", descending=[True, False])
    )
    return counts.with_columns(share_of_conversations=n / n_items, share_of_mentions=n / n.sum()), n_items


def _notes(ratings: Ratings, name: str, n_items: int, n_values: int) -> tuple[str, ...]:
    without = ratings.n_items - n_items
    notes = []
    if without:
        has = "has" if without == 1 else "have"
        notes.append(f"{without:,} of {count_noun(ratings.n_items, 'item')} {has} no {name}.")
    if n_values > MOST_ROWS:
        notes.append(f"The figure shows the first {MOST_ROWS} of {n_values:,}; the table has all.")
    return tuple(notes)


def _reading(table: pl.DataFrame, n_items: int) -> str:
    ranked = table.sort("n_conversations", "degree", descending=[True, False]).head(MOST_NAMED)
    shares = [
        f"{format_percent(row['share'], 1)} are {escape_unprintable(row['degree'])}"
        for row in ranked.iter_rows(named=True)
    ]
    return f"Of {count_noun(n_items, 'conversation')}, {join_with_and(shares)}."


def _draw_topics(topics: Sequence[dict[str, Any]], width: int) -> Spec:
    rows = RowLabels([escape_unprintable(topic["topic"]) for topic in topics], width, least=20)
    lines = [
        {"y": y, "of": topic["share_of_conversations"], "among": topic["share_of_mentions"]}
        | {"text": f"{topic['n_conversations']:,}"}
        for topic, y in zip(topics, rows.middles, strict=True)
    ]
    end = find_scale_end(max(line["of"] for line in lines), [line["text"] for line in lines], rows.plot_width)
    axis = Axis(format="~%", tickCount=4)
    x = X("of:Q", scale=Scale(domain=[0, end], nice=False), title=None, axis=axis)
    base = Chart(lines)
    layers = [
        base.mark("rule", color=MUTED).encode(rows.y(), x, X2("among:Q")),
        _marks(lines, rows, x),
        base.mark("text", align="left", baseline="middle", dx=9, color=MUTED).encode(rows.y(), x, Text("text:N")),
        *rows.draw_names(),
    ]
    return stack_over_rows(layers, rows)


def _marks(lines: Sequence[dict[str, Any]], rows: RowLabels, x: X) -> Spec:
    marks = [
        {"y": line["y"], "of": line[field], "what": series}
        for field, series in (("among", MENTIONS), ("of", CONVERSATIONS))
        for line in lines
    ]
    names, legend = list(LOOKS), Legend(columns=count_legend_columns(list(LOOKS), rows.plot_width))
    fill, edge, shape, size = zip(*LOOKS.values(), strict=True)
    mark = Chart(marks).mark("point", strokeWidth=1.5, opacity=1)
    return mark.encode(
        rows.y(),
        x,
        Fill("what:N", scale=Scale(domain=names, range=list(fill)), legend=legend),
        Stroke("what:N", scale=Scale(domain=names, range=list(edge)), legend=legend),
        Shape("what:N", scale=Scale(domain=names, range=list(shape)), legend=legend),
        SizeChannel("what:N", scale=Scale(type="ordinal", domain=names, range=list(size)), legend=legend),
    )


def _draw_degree(values: Sequence[tuple[str, int, float]], width: int) -> Spec:
    rows = RowLabels([escape_unprintable(name) for name, _, _ in values], width)
    texts = [f"{n:,} ({format_percent(share)})" for _, n, share in values]
    end = find_scale_end(max(n for _, n, _ in values), texts, rows.plot_width)
    bars = [Bar(y, n, text) for y, (_, n, _), text in zip(rows.middles, values, texts, strict=True)]
    layers = [*draw_plain_bars(bars, rows, end=end), *rows.draw_names()]
    return stack_over_rows(layers, rows)
