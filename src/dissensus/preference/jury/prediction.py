"""Predicted answers of groups to texts, and the verdicts of a jury."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from dissensus.preference.jury.composition import Jury
from dissensus.preference.jury.model import JuryModel, batches
from dissensus.preference.jury.texts import RatedText, check_texts
from dissensus.schema.tabular_result import TabularResult
from dissensus.stats.jury.verdict import Verdicts, decide_verdicts
from dissensus.stats.result import check_confidence

N_DRAWS: Final = 500
"""Posterior draws of each prediction."""
ALL, JURY = "all", "jury"
ABSTAINS: Final = "too few words of the response are known from training"

_CELLS = 2_000_000
"""Limit on items × draws × crossed groups of a batch, which bounds its memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedOpinion:
    """Predicted opinion of a group about an item, or the verdict of a jury; without a score if the model abstains."""

    item_id: str
    model: str  # A group, such as ``rater_gender=Woman``; ``all`` raters; or ``jury``
    score: float | None  # Share of the group that calls the item unsafe; probability that a jury does
    ci_low: float | None  # Of the share; None for juries
    ci_high: float | None
    shares: tuple[float, ...] | None  # Share of each answer; None for juries
    overruled: float | None  # Probability that the majority of the group differs from the jury; None without a jury
    differ: float | None  # Probability that two juries differ; None for groups
    reason: str | None  # Reason of a missing score
    in_training: bool = False  # True if the model was trained on the item


@dataclass(frozen=True, slots=True, kw_only=True)
class JuryPredictions(TabularResult):
    """Predicted opinions of groups about items, and verdicts of a jury."""

    rows: tuple[PredictedOpinion, ...]
    answers: tuple[str, ...]
    jury: str | None  # Description of the jury
    at_least: float
    confidence: float
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        rows = [self._values(row) | {"shares": self._shares(row)} for row in self.rows]
        settings = {name: getattr(self, name) for name in ("jury", "at_least", "confidence", "seed")}
        return {"schema_version": 1, **settings, "rows": rows}

    def to_polars(self) -> pl.DataFrame:
        """Return a row for each item and group; ``item_id``, ``model`` and ``score`` are what a scorecard reads."""
        rows = [
            self._values(row) | {f"share_{name}": value for name, value in (self._shares(row) or {}).items()}
            for row in self.rows
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def _values(self, row: PredictedOpinion) -> dict[str, Any]:
        return {name: getattr(row, name) for name in row.__dataclass_fields__ if name != "shares"}

    def _shares(self, row: PredictedOpinion) -> dict[str, float] | None:
        return None if row.shares is None else dict(zip(self.answers, row.shares, strict=True))


def predict_opinions(
    model: JuryModel,
    item_ids: Sequence[str],
    texts: Sequence[RatedText],
    *,
    jury: Jury | None = None,
    at_least: float = 0.5,
    confidence: float = 0.95,
    seed: int = 0,
) -> JuryPredictions:
    """Predict the opinion of all raters and of each group about each item, and the verdicts of a jury.

    Shares are posterior means; intervals are quantiles of `N_DRAWS` posterior draws.

    Parameters
    ----------
    model
        Jury model.
    item_ids, texts
        Ids and texts of the items.
    jury
        Jury whose verdicts are predicted; by default none.
    at_least
        Least share of unsafe votes at which the verdict of the jury is unsafe.
    confidence
        Confidence level of the intervals.
    seed
        Seed of the draws.

    Returns
    -------
    JuryPredictions

    Raises
    ------
    InvalidInput
        A text is empty, or an option is out of range.
    """
    check_confidence(confidence)
    check_texts([text.response for text in texts], item_ids)
    names = (None, *model.group_names)
    cells = model.cells if jury is None else jury.cells
    width = max(len(cells), 0 if jury is None else len(jury.seats) + 1)
    size = max(1, _CELLS // (N_DRAWS * width))
    rows = [
        row
        for part in batches(len(texts), size)
        for row in _predict_batch(model, item_ids[part], texts[part], names, jury, at_least, confidence, seed)
    ]
    return JuryPredictions(
        rows=tuple(rows),
        answers=model.answers,
        jury=None if jury is None else jury.name,
        at_least=at_least,
        confidence=confidence,
        seed=seed,
    )


def _predict_batch(
    model: JuryModel,
    item_ids: Sequence[str],
    texts: Sequence[RatedText],
    names: Sequence[str | None],
    jury: Jury | None,
    at_least: float,
    confidence: float,
    seed: int,
) -> Iterator[PredictedOpinion]:
    """Yield the rows of a batch of items."""
    cells = model.cells if jury is None else jury.cells
    weights = np.zeros((len(names), len(cells)))
    weights[:, : len(model.cells)] = [model.people(name).weights for name in names]
    locations = model.model.locate(model.features.project(texts))
    draws = locations.draw(cells, N_DRAWS, np.random.default_rng(seed))[..., model.is_unsafe].sum(axis=-1)
    groups = draws @ weights.T
    shares = np.einsum("imk,gm->igk", locations.distributions(cells), weights)
    tail = (1 - confidence) / 2
    low, high = np.quantile(groups, [tail, 1 - tail], axis=0)
    verdicts = None if jury is None else decide_verdicts(draws @ jury.seats.T, groups, at_least=at_least)
    abstains, trained = model.abstains(texts).tolist(), model.was_trained_on(texts).tolist()
    for i, item_id in enumerate(item_ids):
        if abstains[i]:
            models = [name or ALL for name in names] + ([] if jury is None else [JURY])
            yield from (_build_abstention(item_id, name, in_training=trained[i]) for name in models)
            continue
        for g, name in enumerate(names):
            yield PredictedOpinion(
                item_id=item_id,
                model=name or ALL,
                score=float(shares[i, g, model.is_unsafe].sum()),
                ci_low=float(low[i, g]),
                ci_high=float(high[i, g]),
                shares=tuple(shares[i, g].tolist()),
                overruled=None if verdicts is None else float(verdicts.overruled[i, g]),
                differ=None,
                reason=None,
                in_training=trained[i],
            )
        if verdicts is not None:
            yield _build_verdict(item_id, verdicts, i, in_training=trained[i])


def _build_verdict(item_id: str, verdicts: Verdicts, i: int, *, in_training: bool) -> PredictedOpinion:
    return PredictedOpinion(
        item_id=item_id,
        model=JURY,
        score=float(np.clip(verdicts.unsafe[i], 0, 1)),
        ci_low=None,
        ci_high=None,
        shares=None,
        overruled=None,
        differ=float(verdicts.differ[i]),
        reason=None,
        in_training=in_training,
    )


def _build_abstention(item_id: str, model: str, *, in_training: bool) -> PredictedOpinion:
    unknown = dict.fromkeys(("score", "ci_low", "ci_high", "shares", "overruled", "differ"))
    return PredictedOpinion(item_id=item_id, model=model, reason=ABSTAINS, in_training=in_training, **unknown)
