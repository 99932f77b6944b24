"""Scorecard of models that score items, such as guards and classifiers, against each group of raters."""

from collections.abc import Sequence
from importlib.metadata import version

import numpy as np
import numpy.typing as npt
import polars as pl

from dissensus.errors import InvalidInput
from dissensus.pipeline.engine.ratings import PartitionedRatings, select_pool
from dissensus.pipeline.score.block_scores import BlockCounts, align_scores, score_blocks
from dissensus.pipeline.score.estimates import adjust_gaps, build_gaps
from dissensus.pipeline.score.groups import build_group_membership, read_group_ratings
from dissensus.pipeline.score.metrics import COMPARED, RANKED
from dissensus.pipeline.score.model_measures import (
    CEILINGS,
    GroupMeasures,
    ScoreColumns,
    measure_gold,
    measure_group,
    score_group,
)
from dissensus.pipeline.score.model_scorecard import ModelScorecard
from dissensus.pipeline.score.settings import Adjustment, ModelSettings, resolve_settings
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.item_scores import ItemScores, describe_unscored, refuse_unscored
from dissensus.schema.ratings.columns import ITEM_ID
from dissensus.schema.ratings.safety import read_expert_labels
from dissensus.schema.ratings.table import Ratings


def score_models(  # noqa: PLR0913 - options are keyword-only
    ratings: Ratings | PartitionedRatings,
    scores: ItemScores,
    *,
    question: str | None = None,
    unsafe: str | Sequence[str] | None = None,
    by: str | Sequence[str] = (),
    cross: str | Sequence[str] = (),
    gold: str | None = None,
    threshold: float = 0.5,
    rank_by: str = "brier",
    min_raters: int = 8,
    suppress_below: int = 0,
    confidence: float = 0.95,
    adjust: Adjustment = "bh",
) -> ModelScorecard:
    """Score models against each group of raters, beside human ceilings.

    Parameters
    ----------
    ratings
        The ratings, also in blocks of items whose ids can be read, without `gold` and `suppress_below`.
    scores
        Scores of the items by one or more models, from `read_scores`. Models are compared on the rated items that all
        of them scored.
    question
        The question; by default the overall or only one.
    unsafe
        Answers that call an item unsafe; by default the last of the scale.
    by, cross
        Axes and crossed axes of raters.
    gold
        Attribute of items with the label of experts: models against gold, and gold against the groups.
    threshold
        Lowest score that is labelled unsafe.
    rank_by
        Statistic of the leaderboard: brier, squared_distance, auc or error.
    min_raters, suppress_below, confidence, adjust
        As for `score_chatbots`.

    Returns
    -------
    ModelScorecard

    Raises
    ------
    NotFound
        An unknown question, axis or attribute.
    InvalidInput
        No rated item has a score, ratings without raters, or an option that is not allowed.

    Examples
    --------
    >>> frame = pl.DataFrame({
    ...     "item_id": ["1", "1", "2", "2"], "rater_id": ["ann", "bob", "ann", "bob"],
    ...     "Q_overall": ["Yes", "Yes", "No", "Yes"],
    ... })
    >>> scores = ItemScores(pl.DataFrame({"item_id": ["1", "2"], "guard": [1.0, 0.5]}))
    >>> card = score_models(Ratings.from_frame(frame), scores)
    >>> [row.estimate for row in card.rows if row.metric == "brier"]
    [0.125]
    """
    _check_threshold(threshold)
    if rank_by not in RANKED:
        raise InvalidInput(f"rank_by is {rank_by!r}; choose one of {', '.join(RANKED)}.")
    _check_names(scores.models)
    if isinstance(ratings, PartitionedRatings):
        _check_blocks(ratings, gold=gold, suppress_below=suppress_below)
    base = resolve_settings(
        select_pool(ratings),
        questions=None if question is None else [question],
        unsafe=unsafe,
        by=by,
        cross=cross,
        min_raters=min_raters,
        suppress_below=suppress_below,
        confidence=confidence,
        adjust=adjust,
    )
    settings = ModelSettings(
        **{name: getattr(base, name) for name in base.__dataclass_fields__ if name != "questions"},
        questions=base.questions[:1],
        models=scores.models,
        label_models=scores.label_models,
        gold=gold,
        threshold=threshold,
        rank_by=rank_by,
    )
    if isinstance(ratings, PartitionedRatings):
        aligned, warnings = align_scores(ratings, scores)
        scored, counts = score_blocks(ratings, settings, aligned)
        measures = [measure_group(each, settings) for each in scored]
    else:
        table, columns, warnings = _align(ratings.select_question(settings.questions[0]), scores)
        measures = _measure(table, columns, settings)
        counts = BlockCounts(table.n_raters, table.n_items, table.n_ratings)
    compared = [
        (row, values)
        for measure in measures
        for row, values in measure.rows
        if row.metric in COMPARED and row.axis in settings.axes
    ]
    return ModelScorecard(
        rows=tuple(row for measure in measures for row, _ in measure.rows),
        ceilings=tuple(row for measure in measures for row in measure.ceilings),
        gaps=adjust_gaps(list(build_gaps(compared, settings)), settings),
        ranks=tuple(row for measure in measures for row in measure.ranks),
        differences=tuple(row for measure in measures for row in measure.differences),
        thresholds=tuple(row for measure in measures for row in measure.thresholds),
        bins=tuple(row for measure in measures for row in measure.bins),
        settings=settings,
        n_raters=counts.n_raters,
        n_items=counts.n_items,
        n_ratings=counts.n_ratings,
        notes=(*select_pool(ratings).notes, *scores.notes),
        warnings=warnings,
        version=version("dissensus"),
    )


def _check_blocks(ratings: PartitionedRatings, *, gold: str | None, suppress_below: int) -> None:
    """Refuse what blocks of items do not have."""
    if gold is not None:
        ratings.refuse("A comparison with experts (--gold)")
    if suppress_below:
        ratings.refuse("Withholding small groups of a scorecard of models (--suppress-below)")


def _check_names(models: Sequence[str]) -> None:
    """Refuse models with the name of a human ceiling, whose rows theirs would hide."""
    for name in models:
        if name in CEILINGS:
            raise InvalidInput(
                f"A model is named {format_value(name)}, which is the name of a human ceiling, as are "
                f"{format_list(list(CEILINGS))}. Rename the column of its scores."
            )


def _check_threshold(threshold: float) -> None:
    if not 0 < threshold <= 1:
        raise InvalidInput(f"threshold is {threshold!r}; give a score above 0 and up to 1, such as 0.5.")


def _align(ratings: Ratings, scores: ItemScores) -> tuple[Ratings, ScoreColumns, tuple[str, ...]]:
    """Return the ratings of the items that all models scored, the scores of these items, and warnings."""
    rated = ratings.items.select(ITEM_ID).join(scores.table, on=ITEM_ID, how="left", maintain_order="left")
    complete = rated.select(pl.all_horizontal(pl.all().is_not_null())).to_series()
    if not complete.any():
        refuse_unscored(scores, ratings.items[ITEM_ID].to_list())
    warnings = [
        describe_unscored(name, n, ratings.n_items) for name in scores.models if (n := rated[name].null_count())
    ]
    if unrated := scores.describe_unrated(ratings.items[ITEM_ID]):
        warnings.append(unrated)
    scored = rated.filter(complete)
    columns = {name: scored[name].to_numpy().astype(np.float64) for name in scores.models}
    return ratings.select_items(complete), columns, tuple(warnings)


def _measure(ratings: Ratings, columns: ScoreColumns, settings: ModelSettings) -> list[GroupMeasures]:
    """Return the measures against each group, and those against gold."""
    answers = read_group_ratings(ratings, settings.questions[0], settings.unsafe)
    labels = _read_gold(ratings, settings)
    groups = build_group_membership(ratings, settings).split(answers)
    measures = [measure_group(score_group(group, answers, columns, labels, settings), settings) for group in groups]
    if labels is not None:
        measures.append(measure_gold(labels, columns, settings))
    return measures


def _read_gold(ratings: Ratings, settings: ModelSettings) -> npt.NDArray[np.float64] | None:
    """Return 1 for items that experts call unsafe, 0 for safe ones, NaN for others."""
    if settings.gold is None:
        return None
    labels = read_expert_labels(ratings, settings.questions[0], settings.gold, settings.unsafe)
    if labels.null_count() == len(labels):
        raise InvalidInput(f"No item with ratings and scores has {settings.gold}; there is nothing to compare with.")
    return (labels == "unsafe").cast(pl.Float64).fill_null(np.nan).to_numpy()
